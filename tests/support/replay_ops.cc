#include "tests/support/replay_ops.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "core/formats/omp/log/dialect.h"
#include "core/json/base64.h"
#include "tests/support/paths.h"

namespace arborfs::conformance {
namespace {

namespace fs = std::filesystem;

fs::path corpus_folder() {
  return fs::path(arborfs::tests::kTestData) / "corpus";
}

const json::Value* macro(const json::Value& value, std::string_view name) {
  return value.IsObject() && value.MemberCount() == 1 ? json::member(value, name) : nullptr;
}

// PNG's signature, then bytes of a linear congruential generator.
std::string made_bytes(std::size_t count, std::uint32_t x) {
  std::string bytes = "\x89PNG\r\n\x1a\n";
  while (bytes.size() < count) {
    x = x * 1664525U + 1013904223U;
    bytes += static_cast<char>(x >> 24);
  }
  bytes.resize(count);
  return bytes;
}

std::string text_of(const json::Value& value) {
  std::string text;
  if (const json::Value* parts = macro(value, "$cat")) {
    for (const json::Value& part : parts->GetArray()) {
      text += text_of(part);
    }
  } else if (const json::Value* repeated = macro(value, "$rep")) {
    for (auto i = static_cast<int>((*repeated)[1].GetDouble()); i > 0; --i) {
      text += json::as_string((*repeated)[0]);
    }
  } else if (const json::Value* made = macro(value, "$b64")) {
    text = json::encode_base64(made_bytes(static_cast<std::size_t>((*made)[0].GetDouble()),
                                          static_cast<std::uint32_t>((*made)[1].GetDouble())));
  } else {
    text = json::as_string(value);
  }
  return text;
}

double number_of(std::string_view name) {
  if (name == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double infinity = std::numeric_limits<double>::infinity();
  return name == "-0" ? -0.0 : name == "Infinity" ? infinity : -infinity;
}

// Maps an argument of an operation to a key of the entry.
struct Field {
  std::string_view argument;
  std::string_view key;
};
struct OpRow {
  std::string_view op;
  std::string_view type;
  std::vector<Field> fields;
};

const std::vector<OpRow>& op_rows() {
  static const std::vector<OpRow> rows = {
      {"message", "message", {{"message", "message"}}},
      {"messageToBranch", "message", {{"message", "message"}}},
      {"model", "model_change", {{"model", "model"}, {"role", "role"}, {"fallback", "resolvedModelIsFallback"}}},
      {"thinking", "thinking_level_change", {{"level", "thinkingLevel"}, {"configured", "configured"}}},
      {"serviceTier", "service_tier_change", {{"tier", "serviceTier"}}},
      {"mode", "mode_change", {{"mode", "mode"}, {"data", "data"}}},
      {"custom", "custom", {{"customType", "customType"}, {"data", "data"}}},
      {"customMessage",
       "custom_message",
       {{"customType", "customType"},
        {"content", "content"},
        {"display", "display"},
        {"details", "details"},
        {"attribution", "attribution"}}},
      {"label", "label", {{"target", "targetId"}, {"label", "label"}}},
      {"compaction",
       "compaction",
       {{"summary", "summary"},
        {"shortSummary", "shortSummary"},
        {"firstKept", "firstKeptEntryId"},
        {"tokensBefore", "tokensBefore"},
        {"tokensAfter", "tokensAfter"},
        {"method", "method"},
        {"replayThrough", "providerReplayThroughEntryId"},
        {"details", "details"},
        {"fromExtension", "fromExtension"},
        {"preserveData", "preserveData"}}},
      {"branchSummary",
       "branch_summary",
       {{"summary", "summary"}, {"details", "details"}, {"fromExtension", "fromExtension"}}},
      {"ttsr", "ttsr_injection", {{"rules", "injectedRules"}}},
      {"mcpTools", "mcp_tool_selection", {{"names", "selectedToolNames"}}},
      {"credentialPin", "credential_pin", {{"provider", "provider"}, {"hash", "hash"}}},
      {"resetBoundary", "reset_boundary", {}},
  };
  return rows;
}

json::Document new_entry(std::string_view type) {
  json::Document entry(rapidjson::kObjectType);
  json::set(entry, "type", json::make_string(type, entry), entry);
  return entry;
}

json::Document message_entry(const json::Value& message) {
  json::Document entry = new_entry("message");
  json::set(entry, "message", json::copy(message, entry), entry);
  return entry;
}

// session_init and model_usage take their fields as given.
json::Document spread_entry(std::string_view type, const json::Value& fields) {
  json::Document entry = new_entry(type);
  for (const auto& [name, value] : json::members(fields)) {
    json::set(entry, json::as_string(name), json::copy(value, entry), entry);
  }
  return entry;
}

json::Document row_entry(const OpRow& row, const json::Value& line, const IdOfOp& id_of) {
  json::Document entry = new_entry(row.type);
  for (const auto& [argument, key] : row.fields) {
    const json::Value* value = json::member(line, argument);
    if (value == nullptr) {
      continue;
    }
    const json::Value* op = macro(*value, "$ref");
    json::set(entry, key,
              op == nullptr ? json::copy(*value, entry)
                            : json::make_string(id_of(static_cast<std::size_t>(op->GetDouble())), entry),
              entry);
  }
  return entry;
}

}  // namespace

json::Value expand_macros(const json::Value& value, json::Document& owner) {
  if (macro(value, "$rep") != nullptr || macro(value, "$cat") != nullptr || macro(value, "$b64") != nullptr) {
    return json::make_string(text_of(value), owner);
  }
  if (const json::Value* name = macro(value, "$num")) {
    return json::Value(number_of(json::as_string(*name)));
  }
  if (value.IsArray()) {
    json::Value array(rapidjson::kArrayType);
    for (const json::Value& element : value.GetArray()) {
      const bool is_undefined = macro(element, "$undef") != nullptr;
      array.PushBack(is_undefined ? json::Value() : expand_macros(element, owner), owner.GetAllocator());
    }
    return array;
  }
  if (value.IsObject()) {
    json::Value object(rapidjson::kObjectType);
    for (const auto& [name, member] : json::members(value)) {
      if (macro(member, "$undef") == nullptr) {
        json::set(object, json::as_string(name), expand_macros(member, owner), owner);
      }
    }
    return object;
  }
  return json::copy(value, owner);
}

std::vector<ReplayOp> read_ops(const std::string& case_name) {
  std::vector<ReplayOp> ops;
  std::ifstream in(corpus_folder() / case_name / "ops.jsonl", std::ios::binary);
  for (std::string text; std::getline(in, text);) {
    json::Document line;
    if (!json::parse(text, line)) {
      throw std::runtime_error("unreadable operation of " + case_name);
    }
    ReplayOp op;
    static_cast<json::Value&>(op.line) = expand_macros(line, op.line);
    op.name = json::string_member(op.line, "op").value_or("");
    if (const json::Value* result = json::member(static_cast<const json::Value&>(op.line), "result")) {
      op.result_id = json::string_member(*result, "id").value_or("");
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

std::vector<json::Document> appended_entries(const ReplayOp& op, const IdOfOp& id_of) {
  const json::Value& line = op.line;
  std::vector<json::Document> entries;
  if (op.name == "atomicBatch") {
    for (const json::Value& message : json::member(line, "messages")->GetArray()) {
      entries.push_back(message_entry(message));
    }
  } else if (op.name == "sessionInit") {
    entries.push_back(spread_entry("session_init", *json::member(line, "init")));
  } else if (op.name == "modelUsage") {
    entries.push_back(spread_entry("model_usage", *json::member(line, "usage")));
  } else {
    for (const OpRow& row : op_rows()) {
      if (row.op == op.name) {
        entries.push_back(row_entry(row, line, id_of));
      }
    }
  }
  return entries;
}

std::vector<std::string> written_cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(corpus_folder())) {
    if (fs::exists(entry.path() / "ops.jsonl")) {
      names.push_back(entry.path().filename());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

omp::Dialect dialect_of_case(const std::string& case_name) {
  return case_name.starts_with("w18") ? omp::Dialect::omp18 : omp::Dialect::omp13;
}

}  // namespace arborfs::conformance
