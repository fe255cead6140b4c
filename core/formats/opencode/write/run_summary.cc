#include "core/formats/opencode/write/run_summary.h"

#include <algorithm>
#include <cmath>

#include "core/json/document.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kFirstLine = "--- Fro Bot Run Summary ---";

double number_at(const json::Value& value, std::string_view key) {
  const json::Value* number = json::member(value, key);
  return number != nullptr && number->IsNumber() ? number->GetDouble() : 0;
}

std::string tokens(double input, double output) {
  return json::number_text(input) + " in / " + json::number_text(output) + " out";
}

void add_line(std::string& text, std::string_view name, const std::string& words) {
  if (!words.empty()) {
    text.append("\n").append(name).append(": ").append(words);
  }
}

}  // namespace

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
