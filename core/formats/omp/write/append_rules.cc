#include "core/formats/omp/write/append_rules.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/write/dialect_rules.h"
#include "core/log/log_index.h"

namespace arborfs {
namespace {

// JSON kinds that a member may have, as bits.
enum Kind : unsigned { kString = 1, kNumber = 2, kBool = 4, kArray = 8, kObject = 16, kNull = 32, kStrings = 64 };

struct KindWord {
  Kind kind;
  std::string_view word;
};
constexpr KindWord kKindWords[] = {
    {kString, "a string"},  {kNumber, "a number"}, {kBool, "true or false"},          {kArray, "an array"},
    {kObject, "an object"}, {kNull, "null"},       {kStrings, "an array of strings"},
};

enum class Need : std::uint8_t { required, optional };

struct MemberRule {
  std::string_view key;
  unsigned kinds;
  Need need = Need::required;
};

struct EntryRule {
  EntryType type;
  MemberRule member;
};

constexpr EntryRule kEntryRules[] = {
    {EntryType::message, {"message", kObject}},
    {EntryType::thinking_level_change, {"thinkingLevel", kString | kNull}},
    {EntryType::model_change, {"model", kString}},
    {EntryType::model_change, {"role", kString | kNull, Need::optional}},
    {EntryType::service_tier_change, {"serviceTier", kString | kNull | kObject}},
    {EntryType::mode_change, {"mode", kString}},
    {EntryType::session_init, {"systemPrompt", kString}},
    {EntryType::session_init, {"task", kString, Need::optional}},
    {EntryType::session_init, {"tools", kStrings, Need::optional}},
    {EntryType::compaction, {"summary", kString}},
    {EntryType::compaction, {"firstKeptEntryId", kString}},
    {EntryType::compaction, {"tokensBefore", kNumber}},
    {EntryType::compaction, {"shortSummary", kString, Need::optional}},
    {EntryType::branch_summary, {"summary", kString}},
    {EntryType::branch_summary, {"fromId", kString, Need::optional}},
    {EntryType::custom, {"customType", kString}},
    {EntryType::custom_message, {"customType", kString}},
    {EntryType::custom_message, {"content", kString | kArray}},
    {EntryType::custom_message, {"display", kBool, Need::optional}},
    {EntryType::label, {"targetId", kString}},
    {EntryType::label, {"label", kString | kNull, Need::optional}},
    {EntryType::ttsr_injection, {"injectedRules", kStrings}},
    {EntryType::mcp_tool_selection, {"selectedToolNames", kStrings}},
    {EntryType::title_change, {"title", kString}},
    {EntryType::title_change, {"source", kString, Need::optional}},
    {EntryType::credential_pin, {"provider", kString}},
    {EntryType::credential_pin, {"hash", kString}},
};

// pi's (pi/FORMAT.md C2).
constexpr EntryRule kPiEntryRules[] = {
    {EntryType::message, {"message", kObject}},
    {EntryType::thinking_level_change, {"thinkingLevel", kString}},
    {EntryType::model_change, {"provider", kString}},
    {EntryType::model_change, {"modelId", kString}},
    {EntryType::compaction, {"summary", kString}},
    {EntryType::compaction, {"firstKeptEntryId", kString}},
    {EntryType::compaction, {"tokensBefore", kNumber}},
    {EntryType::compaction, {"fromHook", kBool, Need::optional}},
    {EntryType::compaction, {"usage", kObject, Need::optional}},
    {EntryType::compaction, {"systemMessage", kObject, Need::optional}},
    {EntryType::branch_summary, {"summary", kString}},
    {EntryType::branch_summary, {"fromId", kString, Need::optional}},
    {EntryType::branch_summary, {"fromHook", kBool, Need::optional}},
    {EntryType::branch_summary, {"usage", kObject, Need::optional}},
    {EntryType::custom, {"customType", kString}},
    {EntryType::custom_message, {"customType", kString}},
    {EntryType::custom_message, {"content", kString | kArray}},
    {EntryType::custom_message, {"display", kBool}},
    {EntryType::label, {"targetId", kString}},
    {EntryType::label, {"label", kString, Need::optional}},
    {EntryType::session_info, {"name", kString}},
    {EntryType::usage, {"kind", kString}},
    {EntryType::usage, {"provider", kString}},
    {EntryType::usage, {"model", kString}},
    {EntryType::context_edit, {"targetId", kString}},
    {EntryType::context_edit, {"replacement", kNull | kObject}},
};

struct RoleRule {
  std::string_view role;
  MemberRule member;
};

constexpr RoleRule kRoleRules[] = {
    {"user", {"content", kString | kArray}},        {"assistant", {"content", kString | kArray}},
    {"toolResult", {"content", kString | kArray}},  {"toolResult", {"toolCallId", kString}},
    {"developer", {"content", kString | kArray}},   {"custom", {"content", kString | kArray}},
    {"hookMessage", {"content", kString | kArray}}, {"bashExecution", {"command", kString}},
    {"pythonExecution", {"code", kString}},         {"fileMention", {"files", kArray}},
};

// pi's (pi/FORMAT.md C3).
constexpr RoleRule kPiRoleRules[] = {
    {"user", {"content", kString | kArray}},
    {"assistant", {"content", kArray}},
    {"toolResult", {"content", kArray}},
    {"toolResult", {"toolCallId", kString}},
    {"toolResult", {"toolName", kString}},
    {"custom", {"content", kString | kArray}},
    {"custom", {"customType", kString}},
    {"bashExecution", {"command", kString}},
    {"bashExecution", {"output", kString}},
    {"system", {"content", kString}},
    {"system", {"sections", kObject, Need::optional}},
};

struct Rules {
  std::span<const EntryRule> entries;
  std::span<const RoleRule> roles;
  bool takes_other_roles;
};

// pi sends no message of a role that it does not know; omp's extensions have roles of their own.
constexpr Rules kOmpRules{kEntryRules, kRoleRules, true};
constexpr Rules kPiRules{kPiEntryRules, kPiRoleRules, false};

constexpr const Rules& append_rules_of(Dialect dialect) {
  return dialect == Dialect::pi ? kPiRules : kOmpRules;
}

bool is_of(const json::Value& value, unsigned kinds) {
  if (value.IsArray() && (kinds & kStrings) != 0) {
    return std::all_of(value.Begin(), value.End(), [](const json::Value& element) { return element.IsString(); });
  }
  const Kind kind = value.IsString()   ? kString
                    : value.IsNumber() ? kNumber
                    : value.IsBool()   ? kBool
                    : value.IsArray()  ? kArray
                    : value.IsObject() ? kObject
                                       : kNull;
  return (kinds & kind) != 0;
}

std::string words_of(unsigned kinds) {
  std::string words;
  for (const auto& [kind, word] : kKindWords) {
    if ((kinds & kind) != 0) {
      words.append(words.empty() ? "" : " or ").append(word);
    }
  }
  return words;
}

Result<void> check(const json::Value& object, const MemberRule& rule) {
  const json::Value* value = json::member(object, rule.key);
  if (value == nullptr ? rule.need == Need::optional : is_of(*value, rule.kinds)) {
    return {};
  }
  const std::string key = "\"" + std::string(rule.key) + "\"";
  return {Errc::invalid_argument, value == nullptr ? key + " is missing; it must be " + words_of(rule.kinds)
                                                   : key + " must be " + words_of(rule.kinds)};
}

// Adds a zero for each number that is missing.
void add_zeros(json::Value& object, const std::array<std::string_view, 5>& keys, json::Document& owner) {
  for (const std::string_view key : keys) {
    if (json::member(object, key) == nullptr) {
      json::set(object, key, json::Value(0.0), owner);
    }
  }
}

// The object under `key`; makes it if there is none. Null if the value is not an object.
json::Value* object_under(json::Value& owner_object, std::string_view key, json::Document& owner) {
  json::Value* found = json::member(owner_object, key);
  if (found == nullptr || found->IsNull()) {
    json::set(owner_object, key, json::Value(rapidjson::kObjectType), owner);
    found = json::member(owner_object, key);
  }
  return found->IsObject() ? found : nullptr;
}

// An agent that opens a log sums usage.cost.total without a check that it exists (omp/FORMAT.md A18).
Result<void> complete_usage(json::Value& holder, json::Document& owner) {
  json::Value* usage = object_under(holder, "usage", owner);
  if (usage == nullptr) {
    return {Errc::invalid_argument, "\"usage\" must be an object"};
  }
  add_zeros(*usage, {"input", "output", "cacheRead", "cacheWrite", "totalTokens"}, owner);
  json::Value* cost = object_under(*usage, "cost", owner);
  if (cost == nullptr) {
    return {Errc::invalid_argument, "\"usage.cost\" must be an object"};
  }
  add_zeros(*cost, {"input", "output", "cacheRead", "cacheWrite", "total"}, owner);
  return {};
}

// The object that holds a message's usage, if any: a task's result counts too (omp/FORMAT.md C24).
json::Value* usage_holder(json::Value& message) {
  if (json::is_string(json::member(message, "role"), "assistant")) {
    return &message;
  }
  if (!json::is_string(json::member(message, "role"), "toolResult") ||
      !json::is_string(json::member(message, "toolName"), "task")) {
    return nullptr;
  }
  json::Value* details = json::member(message, "details");
  const json::Value* usage = details == nullptr ? nullptr : json::member(*details, "usage");
  return usage != nullptr && usage->IsObject() ? details : nullptr;
}

Result<void> check_type(const json::Value& entry, Dialect dialect) {
  const auto word = json::string_member(entry, "type");
  if (!word) {
    return {Errc::invalid_argument, "\"type\" must be a string"};
  }
  const EntryType type = entry_type_of(*word);
  if (type == EntryType::session || *word == "title") {
    return {Errc::invalid_argument, "\"" + std::string(*word) + "\" belongs only at the head of a log"};
  }
  const bool is_others = dialect == Dialect::pi ? is_omp_type(type) || is_omp18_type(type) : is_pi_type(type);
  if (type == EntryType::other || type == EntryType::none || is_others) {
    return {Errc::invalid_argument, "\"type\" is not a type that " + std::string(rules_of(dialect).agent) + " knows"};
  }
  if (is_omp18_type(type) && dialect != Dialect::omp18) {
    return {
        Errc::invalid_argument,
        "\"" + std::string(*word) + "\" is written only by newer agents and would change how the whole log is read"};
  }
  return {};
}

// The only agent that writes one of these keys, if it is not the agent of the log; else "".
std::string_view only_writer(DialectHints keys, EntryType type, Dialect dialect) {
  if (dialect == Dialect::pi) {
    return has_omp18_key(keys, type) || has_omp_key(keys, type) ? "omp" : "";
  }
  const bool is_youngers = has_omp18_key(keys, type) && dialect != Dialect::omp18;
  return is_youngers ? "newer agents" : has_pi_key(keys, type) ? "pi" : "";
}

// Refuses a key that would make the whole log look like another agent's, or another generation's.
Result<void> check_keys(const json::Value& entry, EntryType type, Dialect dialect) {
  for (const json::Value::Member& member : json::members(entry)) {
    const DialectHints keys = dialect_hint_of(json::as_string(member.name));
    const std::string_view writer = only_writer(keys, type, dialect);
    if (!writer.empty()) {
      return {Errc::invalid_argument, "\"" + std::string(json::as_string(member.name)) + "\" is written only by " +
                                          std::string(writer) + " and would change how the whole log is read"};
    }
  }
  return {};
}

}  // namespace

Result<void> complete_message(json::Value& message, json::Document& owner, Dialect dialect, std::int64_t now_ms) {
  const auto role = json::string_member(message, "role");
  if (!role || role->empty()) {
    return {Errc::invalid_argument, "\"role\" must be a string that is not empty"};
  }
  const Rules& rules = append_rules_of(dialect);
  const auto is_for_role = [&](const RoleRule& rule) { return rule.role == *role; };
  if (!rules.takes_other_roles && std::none_of(rules.roles.begin(), rules.roles.end(), is_for_role)) {
    return {Errc::invalid_argument, "\"role\" is not a role that " + std::string(rules_of(dialect).agent) + " knows"};
  }
  if (*role == "system" && dialect != Dialect::pi) {
    return {Errc::invalid_argument,
            "the role \"system\" is written only by pi and would turn the whole log into one of pi"};
  }
  for (const RoleRule& rule : rules.roles) {
    if (is_for_role(rule)) {
      if (auto checked = check(message, rule.member); !checked.has_value()) {
        return checked;
      }
    }
  }
  if (auto checked = check(message, {"timestamp", kNumber, Need::optional}); !checked.has_value()) {
    return checked;
  }
  if (json::Value* holder = usage_holder(message)) {
    if (auto completed = complete_usage(*holder, owner); !completed.has_value()) {
      return completed;
    }
  }
  if (json::member(message, "timestamp") == nullptr) {
    json::set(message, "timestamp", json::Value(static_cast<double>(now_ms)), owner);
  }
  return {};
}

Result<void> complete_entry(json::Value& entry, json::Document& owner, Dialect dialect, std::int64_t now_ms) {
  if (auto checked = check_type(entry, dialect); !checked.has_value()) {
    return checked;
  }
  const EntryType type = entry_type_of(*json::string_member(entry, "type"));
  if (auto checked = check_keys(entry, type, dialect); !checked.has_value()) {
    return checked;
  }
  for (const EntryRule& rule : append_rules_of(dialect).entries) {
    if (rule.type == type) {
      if (auto checked = check(entry, rule.member); !checked.has_value()) {
        return checked;
      }
    }
  }
  if (type == EntryType::message) {
    return complete_message(*json::member(entry, "message"), owner, dialect, now_ms);
  }
  return type == EntryType::model_usage || type == EntryType::usage ? complete_usage(entry, owner) : Result<void>();
}

}  // namespace arborfs
