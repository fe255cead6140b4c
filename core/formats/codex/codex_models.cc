#include <string_view>

#include "core/base/result_macros.h"
#include "core/formats/codex/codex_reader.h"
#include "core/json/document.h"
#include "core/log/line_reader.h"

namespace arborfs::codex {
namespace {

constexpr std::string_view kSettings = "turn_context";

/// The model that a line sets; "" if it sets none.
std::string model_in(std::string_view line) {
  json::Document record;
  if (line.find(kSettings) == std::string_view::npos || !json::parse(line, record) ||
      !json::is_string(json::member(record, "type"), kSettings)) {
    return "";
  }
  const json::Value* payload = json::member(record, "payload");
  return payload == nullptr ? "" : std::string(json::string_member(*payload, "model").value_or(""));
}

}  // namespace

Result<std::vector<LogReader::ModelChange>> Reader::model_changes(const LogSource& log,
                                                                  const std::atomic<bool>* cancelled) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  LineReader lines(log, size, cancelled);
  std::vector<ModelChange> changes;
  for (;;) {
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    if (line == nullptr) {
      return changes;
    }
    std::string model = model_in(line->text);
    if (!model.empty() && (changes.empty() || changes.back().model != model)) {
      changes.push_back({line->offset, std::move(model)});
    }
  }
}

}  // namespace arborfs::codex
