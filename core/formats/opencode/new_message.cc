#include "core/formats/opencode/new_message.h"

#include <algorithm>
#include <random>
#include <utility>

#include "core/base/clock.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kSummaryModel = R"({"providerID":"system","modelID":"run-summary"})";

std::string id_of(std::string_view kind, std::uint64_t counted) {
  constexpr int kDigits = 12;
  constexpr int kLetters = 14;
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id = std::string(kind) + "_";
  for (int digit = kDigits - 1; digit >= 0; --digit) {
    id += kHex[counted >> (4U * static_cast<unsigned>(digit)) & 0xFU];
  }
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kAlphabet.size() - 1);
  for (int i = 0; i < kLetters; ++i) {
    id += kAlphabet[letter(random)];
  }
  return id;
}

std::uint64_t counted_at(std::int64_t time_ms, std::uint32_t count) {
  return static_cast<std::uint64_t>(time_ms) * 4096 + count;
}

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

MessageRecords records_of(const NewMessage& wanted, std::int64_t created_ms, std::string_view before) {
  const std::string time = std::to_string(created_ms);
  std::string info = R"("role":"user","time":{"created":)" + time + "},";
  std::string part = R"("type":"text","text":)" + json::stringify_string(wanted.text);
  json::Document last;
  const json::Value* model = json::parse(before, last) ? json::member(last, "model") : nullptr;
  if (wanted.is_summary) {
    info += R"("summary":{"title":"GitHub Action Run Summary","diffs":[]},"agent":"fro-bot","model":)" +
            std::string(kSummaryModel);
    part += R"(,"time":{"start":)" + time + R"(,"end":)" + time + "}";
  } else if (model == nullptr) {
    info += R"("agent":"build")";
  } else {
    info += R"("agent":)" + json::stringify_string(json::string_member(last, "agent").value_or("build")) +
            R"(,"model":)" + json::stringify(*model);
  }
  return {
      {new_id("msg", created_ms, 1), std::move(info)}, created_ms, {{new_id("prt", created_ms, 2), std::move(part)}}};
}

Error messages_undone() {
  return {Errc::invalid_argument,
          "the last messages of the session are undone, and OpenCode would remove them; continue or redo there"};
}

Error session_gone() {
  return {Errc::not_found, "the session no longer exists"};
}

std::string new_id(std::string_view kind, std::int64_t time_ms, std::uint32_t count) {
  return id_of(kind, counted_at(time_ms, count));
}

std::string new_session_id(std::int64_t time_ms) {
  return id_of("ses", ~counted_at(time_ms, 1));
}

}  // namespace arborfs::opencode
