#include "core/formats/opencode/write/new_message.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kSummaryModel = R"({"providerID":"system","modelID":"run-summary"})";

}  // namespace

Result<void> check_follows(const LastMessage& last, const NewMessage& wanted) {
  if (!wanted.at.empty() && wanted.at != last.id) {
    return Error{Errc::stale, "that entry is not the last message, and sessions of OpenCode have no branches"};
  }
  if (last.is_being_written && !wanted.is_forced) {
    return Error{Errc::busy, "OpenCode is answering in this session; wait for the end of the answer"};
  }
  return {};
}

std::int64_t time_behind(const LastMessage& last) {
  return std::max(now_ms(), last.created_ms + 1);
}

bool names_model(std::string_view message) {
  const std::string_view model = skim::member(message, "model");
  return skim::is_string(skim::member(message, "role"), "user") && model.starts_with('{') &&
         !skim::is_string(skim::member(model, "modelID"), "run-summary");
}

std::string message_text(const NewMessage& wanted, std::int64_t created_ms, std::string_view before) {
  const std::string start = R"({"role":"user","time":{"created":)" + std::to_string(created_ms) + "},";
  if (wanted.is_summary) {
    return start + R"("summary":{"title":"GitHub Action Run Summary","diffs":[]},"agent":"fro-bot","model":)" +
           std::string(kSummaryModel) + "}";
  }
  json::Document last;
  const json::Value* model = json::parse(before, last) ? json::member(last, "model") : nullptr;
  const std::string agent(model == nullptr ? "build" : json::string_member(last, "agent").value_or("build"));
  return start + R"("agent":)" + json::stringify_string(agent) +
         (model == nullptr ? "}" : R"(,"model":)" + json::stringify(*model) + "}");
}

std::string part_text(const NewMessage& wanted, std::int64_t created_ms) {
  const std::string time = std::to_string(created_ms);
  return R"({"type":"text","text":)" + json::stringify_string(wanted.text) +
         (wanted.is_summary ? R"(,"time":{"start":)" + time + R"(,"end":)" + time + "}}" : "}");
}

Error messages_undone() {
  return {Errc::invalid_argument,
          "the last messages of the session are undone, and OpenCode would remove them; continue or redo there"};
}

Error session_gone() {
  return {Errc::not_found, "the session no longer exists"};
}

}  // namespace arborfs::opencode
