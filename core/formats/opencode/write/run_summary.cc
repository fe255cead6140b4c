#include "core/formats/opencode/write/run_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/json/document.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kFirstLine = "--- Fro Bot Run Summary ---";

struct Line {
  std::string_view member;
  std::string_view name;
  enum class Kind : std::uint8_t { word, seconds, list, tokens } kind;
};
/// In the order of the text.
constexpr std::array<Line, 10> kLines{{{"eventType", "Event", Line::Kind::word},
                                       {"repo", "Repo", Line::Kind::word},
                                       {"ref", "Ref", Line::Kind::word},
                                       {"runId", "Run ID", Line::Kind::word},
                                       {"cacheStatus", "Cache", Line::Kind::word},
                                       {"duration", "Duration", Line::Kind::seconds},
                                       {"sessionIds", "Sessions used", Line::Kind::list},
                                       {"createdPRs", "PRs created", Line::Kind::list},
                                       {"createdCommits", "Commits", Line::Kind::list},
                                       {"tokenUsage", "Tokens", Line::Kind::tokens}}};

double number_at(const json::Value& value, std::string_view key) {
  const json::Value* number = json::member(value, key);
  return number != nullptr && number->IsNumber() ? number->GetDouble() : 0;
}

std::string tokens(double input, double output) {
  return json::number_text(input) + " in / " + json::number_text(output) + " out";
}

/// nullopt if the value is not of this kind; "" for a line that is left out.
std::optional<std::string> words_of(const json::Value& value, Line::Kind kind) {
  switch (kind) {
    case Line::Kind::word:
    case Line::Kind::seconds:
      if (value.IsNumber()) {
        return json::number_text(value.GetDouble()) + (kind == Line::Kind::seconds ? "s" : "");
      }
      return kind == Line::Kind::word && value.IsString() ? std::optional<std::string>(json::as_string(value))
                                                          : std::nullopt;
    case Line::Kind::list: {
      std::string words;
      for (rapidjson::SizeType i = 0; value.IsArray() && i < value.Size(); ++i) {
        if (!value[i].IsString()) {
          return std::nullopt;
        }
        words += (words.empty() ? "" : ", ") + std::string(json::as_string(value[i]));
      }
      return value.IsArray() ? std::optional(words) : std::nullopt;
    }
    case Line::Kind::tokens:
      return value.IsObject() ? std::optional(tokens(number_at(value, "input"), number_at(value, "output")))
                              : std::nullopt;
  }
  return std::nullopt;
}

void add_line(std::string& text, std::string_view name, const std::string& words) {
  if (!words.empty()) {
    text.append("\n").append(name).append(": ").append(words);
  }
}

}  // namespace

Result<std::string> run_summary_of(std::string_view json) {
  json::Document object;
  if (!json::parse(json, object) || !object.IsObject()) {
    return Error{Errc::invalid_argument, "the summary is not one JSON object"};
  }
  for (const auto& member : json::members(object)) {
    const auto is_it = [&](const Line& line) { return line.member == json::as_string(member.name); };
    if (std::none_of(kLines.begin(), kLines.end(), is_it)) {
      return Error{Errc::invalid_argument, "the summary has an unknown member; read this file for its usage"};
    }
  }
  std::string text(kFirstLine);
  for (const Line& line : kLines) {
    const json::Value* value = json::member(object, line.member);
    const auto words =
        value == nullptr || value->IsNull() ? std::optional<std::string>("") : words_of(*value, line.kind);
    if (!words) {
      return Error{Errc::invalid_argument, "'" + std::string(line.member) + "' of the summary has the wrong kind"};
    }
    add_line(text, line.name, *words);
  }
  return text;
}

void RunFacts::add(const std::string& session, std::string_view message) {
  if (std::find(sessions_.begin(), sessions_.end(), session) == sessions_.end()) {
    sessions_.push_back(session);
  }
  json::Document object;
  if (!json::parse(message, object)) {
    return;
  }
  const json::Value* time = json::member(object, "time");
  const double created = time == nullptr ? 0 : number_at(*time, "created");
  const double ended = time == nullptr ? 0 : std::max(created, number_at(*time, "completed"));
  first_ms_ = first_ms_ == 0 ? created : std::min(first_ms_, created == 0 ? first_ms_ : created);
  last_ms_ = std::max(last_ms_, ended);
  if (const json::Value* used = json::member(object, "tokens")) {
    input_ += number_at(*used, "input");
    output_ += number_at(*used, "output");
  }
}

std::string RunFacts::text() const {
  constexpr double kMsPerSecond = 1000;
  std::string text(kFirstLine);
  add_line(text, "Duration", json::number_text(std::round((last_ms_ - first_ms_) / kMsPerSecond)) + "s");
  std::string sessions;
  for (const std::string& session : sessions_) {
    sessions += (sessions.empty() ? "" : ", ") + session;
  }
  add_line(text, "Sessions used", sessions);
  add_line(text, "Tokens", tokens(input_, output_));
  return text;
}

}  // namespace arborfs::opencode
