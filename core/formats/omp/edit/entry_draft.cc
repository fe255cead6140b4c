#include "core/formats/omp/edit/entry_draft.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/base/error.h"
#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/edit/persist.h"
#include "core/formats/omp/log/dialect.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs::omp {
namespace {

enum Trait : unsigned {
  // What the value of a member may be; none of them for anything.
  kString = 1,
  kNumber = 2,
  kBool = 4,
  kArray = 8,
  kObject = 16,
  kNull = 32,
  kStrings = 64,
  // How the member is treated.
  kRequired = 256,    // of what users append
  kBefore = 512,      // written before the stamp
  kAnywhere = 1024,   // written where it was given
  kOnly18 = 2048,     // omp18 alone knows it
  kDefault18 = 4096,  // omp18 alone has the default
};

struct KindWord {
  Trait kind;
  std::string_view word;
};
constexpr KindWord kKindWords[] = {
    {kString, "a string"},  {kNumber, "a number"}, {kBool, "true or false"},          {kArray, "an array"},
    {kObject, "an object"}, {kNull, "null"},       {kStrings, "an array of strings"},
};

struct Member {
  std::string_view key;
  unsigned traits = 0;
  std::string_view fallback = {};  // what the agent's own append function writes if its caller gives none
};

// A row for each known type, or for each of its members in the order in which they are on disk after the stamp
// (omp/FORMAT.md H5): `type`, those before it, id, parentId and timestamp, then the others. Agents could not open the
// log again without those that are required (omp/FORMAT.md A18, C7, C13).
struct EntryMember {
  EntryType type;
  Member member = {};
};

constexpr EntryMember kOmpMembers[] = {
    {EntryType::message, {"message", kObject | kRequired}},
    {EntryType::model_change, {"model", kString | kRequired}},
    {EntryType::model_change, {"role", kString | kNull | kDefault18, "\"default\""}},
    {EntryType::model_change, {"resolvedModelIsFallback", kOnly18, "false"}},
    {EntryType::thinking_level_change, {"thinkingLevel", kString | kNull | kRequired, "null"}},
    {EntryType::thinking_level_change, {"configured", kOnly18, "null"}},
    {EntryType::compaction, {"summary", kString | kRequired}},
    {EntryType::compaction, {"shortSummary", kString}},
    {EntryType::compaction, {"firstKeptEntryId", kString | kRequired}},
    {EntryType::compaction, {"tokensBefore", kNumber | kRequired}},
    {EntryType::compaction, {"tokensAfter", kOnly18}},
    {EntryType::compaction, {"method", kOnly18}},
    {EntryType::compaction, {"providerReplayThroughEntryId", kOnly18}},
    {EntryType::compaction, {"details"}},
    {EntryType::compaction, {"fromExtension"}},
    {EntryType::compaction, {"preserveData"}},
    {EntryType::branch_summary, {"fromId", kString}},
    {EntryType::branch_summary, {"summary", kString | kRequired}},
    {EntryType::branch_summary, {"details"}},
    {EntryType::branch_summary, {"fromExtension"}},
    {EntryType::label, {"targetId", kString | kRequired}},
    {EntryType::label, {"label", kString | kNull}},
    {EntryType::ttsr_injection, {"injectedRules", kStrings | kRequired}},
    {EntryType::session_init, {"systemPrompt", kString | kRequired | kAnywhere}},
    {EntryType::session_init, {"task", kString | kAnywhere}},
    {EntryType::session_init, {"tools", kStrings | kAnywhere}},
    {EntryType::mode_change, {"mode", kString | kRequired}},
    {EntryType::mode_change, {"data"}},
    {EntryType::service_tier_change, {"serviceTier", kString | kNull | kObject | kRequired}},
    {EntryType::mcp_tool_selection, {"selectedToolNames", kStrings | kRequired}},
    {EntryType::custom, {"customType", kString | kRequired | kBefore}},
    {EntryType::custom, {"data", kBefore}},
    {EntryType::custom_message, {"customType", kString | kRequired | kBefore}},
    {EntryType::custom_message, {"content", kString | kArray | kRequired | kBefore}},
    {EntryType::custom_message, {"display", kBool | kBefore}},
    {EntryType::custom_message, {"details", kBefore}},
    {EntryType::custom_message, {"attribution", kBefore, "\"agent\""}},
    {EntryType::title_change, {"title", kString | kRequired}},
    {EntryType::title_change, {"source", kString}},
    {EntryType::title_change, {"previousTitle"}},
    {EntryType::title_change, {"trigger"}},
    {EntryType::credential_pin, {"provider", kString | kRequired}},
    {EntryType::credential_pin, {"hash", kString | kRequired}},
    {EntryType::model_usage, {"purpose"}},
    {EntryType::model_usage, {"role"}},
    {EntryType::model_usage, {"api"}},
    {EntryType::model_usage, {"provider"}},
    {EntryType::model_usage, {"model"}},
    {EntryType::model_usage, {"usage"}},
    {EntryType::model_usage, {"stopReason"}},
    {EntryType::model_usage, {"errorMessage"}},
    {EntryType::reset_boundary, {"", kAnywhere}},
};

// pi's (pi/FORMAT.md C2).
constexpr EntryMember kPiMembers[] = {
    {EntryType::message, {"message", kObject | kRequired}},
    {EntryType::model_change, {"provider", kString | kRequired}},
    {EntryType::model_change, {"modelId", kString | kRequired}},
    {EntryType::thinking_level_change, {"thinkingLevel", kString | kRequired}},
    {EntryType::compaction, {"summary", kString | kRequired}},
    {EntryType::compaction, {"firstKeptEntryId", kString | kRequired}},
    {EntryType::compaction, {"tokensBefore", kNumber | kRequired}},
    {EntryType::compaction, {"details"}},
    {EntryType::compaction, {"fromHook", kBool}},
    {EntryType::compaction, {"usage", kObject}},
    {EntryType::compaction, {"systemMessage", kObject}},
    {EntryType::branch_summary, {"fromId", kString}},
    {EntryType::branch_summary, {"summary", kString | kRequired}},
    {EntryType::branch_summary, {"details"}},
    {EntryType::branch_summary, {"fromHook", kBool}},
    {EntryType::branch_summary, {"usage", kObject}},
    {EntryType::label, {"targetId", kString | kRequired}},
    {EntryType::label, {"label", kString}},
    {EntryType::session_info, {"name", kString | kRequired}},
    {EntryType::custom, {"customType", kString | kRequired | kBefore}},
    {EntryType::custom, {"data", kBefore}},
    {EntryType::custom_message, {"customType", kString | kRequired | kBefore}},
    {EntryType::custom_message, {"content", kString | kArray | kRequired | kBefore}},
    {EntryType::custom_message, {"display", kBool | kRequired | kBefore}},
    {EntryType::custom_message, {"details", kBefore}},
    {EntryType::usage, {"kind", kString | kRequired}},
    {EntryType::usage, {"provider", kString | kRequired}},
    {EntryType::usage, {"model", kString | kRequired}},
    {EntryType::usage, {"usage"}},
    {EntryType::usage, {"note"}},
    {EntryType::context_edit, {"targetId", kString | kRequired}},
    {EntryType::context_edit, {"replacement", kNull | kObject | kRequired}},
};

// Those of one type; none if the dialect does not know it.
std::span<const EntryMember> members_of(EntryType type, Dialect dialect) {
  if (is_omp18_type(type) && dialect != Dialect::omp18) {
    return {};
  }
  const std::span<const EntryMember> all =
      dialect == Dialect::pi ? std::span<const EntryMember>(kPiMembers) : kOmpMembers;
  const auto is_of_type = [type](const EntryMember& row) { return row.type == type; };
  const auto begin = std::find_if(all.begin(), all.end(), is_of_type);
  return {begin, std::find_if_not(begin, all.end(), is_of_type)};
}

bool is_of(const json::Value& value, unsigned kinds) {
  constexpr unsigned kKinds = 2 * kStrings - 1;
  if ((kinds & kKinds) == 0) {
    return true;
  }
  if (value.IsArray() && (kinds & kStrings) != 0) {
    return std::all_of(value.Begin(), value.End(), [](const json::Value& element) { return element.IsString(); });
  }
  const Trait kind = value.IsString()   ? kString
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

Result<void> check(const json::Value& object, const Member& rule) {
  const json::Value* value = json::member(object, rule.key);
  if (value == nullptr ? (rule.traits & kRequired) == 0 : is_of(*value, rule.traits)) {
    return {};
  }
  const std::string key = "\"" + std::string(rule.key) + "\"";
  return {Errc::invalid_argument,
          key + (value == nullptr ? " is missing; it must be " : " must be ") + words_of(rule.traits)};
}

bool is_stamp(std::string_view key) {
  return key == "type" || key == "id" || key == "parentId" || key == "timestamp";
}

// Moves the members of an entry into a new object in the order of its shape.
class Arranger {
 public:
  Arranger(json::Value& entry, json::Document& owner)
      : from_(json::members(entry)), is_taken_(from_.size(), false), owner_(owner) {}

  void move(std::size_t i) {
    is_taken_[i] = true;
    arranged.AddMember(std::move(from_[i].name), std::move(from_[i].value), owner_.GetAllocator());
  }
  // Integer-like keys come first in every object (omp/FORMAT.md C23).
  void move_integers() {
    for (std::size_t i = 0; i < from_.size() && json::array_index(json::as_string(from_[i].name)); ++i) {
      move(i);
    }
  }
  bool move_named(std::string_view key) {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (!is_taken_[i] && json::as_string(from_[i].name) == key) {
        move(i);
        return true;
      }
    }
    return false;
  }
  void move_rest() {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (!is_taken_[i] && !is_stamp(json::as_string(from_[i].name))) {
        move(i);
      }
    }
  }
  // Those that have their place before the stamp, or after it.
  void move_known(std::span<const EntryMember> rows, unsigned before, Dialect dialect) {
    for (const auto& [type, member] : rows) {
      const bool is_18 = dialect == Dialect::omp18;
      if ((member.traits & (kBefore | kAnywhere)) != before || ((member.traits & kOnly18) != 0 && !is_18) ||
          move_named(member.key) || member.fallback.empty() || ((member.traits & kDefault18) != 0 && !is_18)) {
        continue;
      }
      json::Document value;
      json::parse(member.fallback, value);
      arranged.AddMember(json::make_string(member.key, owner_), json::copy(value, owner_), owner_.GetAllocator());
    }
  }

  json::Value arranged{rapidjson::kObjectType};

 private:
  std::span<json::Value::Member> from_;
  std::vector<bool> is_taken_;
  json::Document& owner_;
};

void put_members(std::span<const json::Value::Member> members, bool is_first, std::string& out) {
  for (const auto& [name, value] : members) {
    out += is_first ? "" : ",";
    is_first = false;
    json::stringify_string(json::as_string(name), out);
    out += ':';
    json::stringify(value, out);
  }
}

// pi sends no message of a role that it does not know; omp's extensions have roles of their own.
struct RoleRule {
  std::string_view role;
  Member member;
};

constexpr RoleRule kRoleRules[] = {
    {"user", {"content", kString | kArray | kRequired}},
    {"assistant", {"content", kString | kArray | kRequired}},
    {"toolResult", {"content", kString | kArray | kRequired}},
    {"toolResult", {"toolCallId", kString | kRequired}},
    {"developer", {"content", kString | kArray | kRequired}},
    {"custom", {"content", kString | kArray | kRequired}},
    {"hookMessage", {"content", kString | kArray | kRequired}},
    {"bashExecution", {"command", kString | kRequired}},
    {"pythonExecution", {"code", kString | kRequired}},
    {"fileMention", {"files", kArray | kRequired}},
};

// pi's (pi/FORMAT.md C3).
constexpr RoleRule kPiRoleRules[] = {
    {"user", {"content", kString | kArray | kRequired}},
    {"assistant", {"content", kArray | kRequired}},
    {"toolResult", {"content", kArray | kRequired}},
    {"toolResult", {"toolCallId", kString | kRequired}},
    {"toolResult", {"toolName", kString | kRequired}},
    {"custom", {"content", kString | kArray | kRequired}},
    {"custom", {"customType", kString | kRequired}},
    {"bashExecution", {"command", kString | kRequired}},
    {"bashExecution", {"output", kString | kRequired}},
    {"system", {"content", kString | kRequired}},
    {"system", {"sections", kObject}},
};

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

std::string EntryDraft::line(const EntryStamp& stamp) const {
  std::string out;
  add_line(stamp, out);
  return out;
}

void EntryDraft::add_line(const EntryStamp& stamp, std::string& out) const {
  constexpr std::size_t kNames = 128;
  out.reserve(out.size() + before.size() + after.size() + stamp.id.size() + stamp.parent_json.size() + kNames);
  out.append(before).append(",\"id\":");
  json::stringify_string(stamp.id, out);
  out.append(",\"parentId\":").append(stamp.parent_json);
  out.append(R"(,"timestamp":")").append(json::iso_time(stamp.timestamp_ms)).append("\"");
  if (from != FromId::given) {
    const bool is_left = from == FromId::left && !stamp.left_json.empty();
    const std::string_view id = is_left ? stamp.left_json : stamp.parent_json;
    out.append(",\"fromId\":").append(id == "null" ? R"("root")" : id);
  }
  out.append(after).append("\n");
}

Result<EntryDraft> make_draft(json::Value&& entry, json::Document& owner, Dialect dialect, std::size_t bytes) {
  const auto word = json::string_member(entry, "type");
  if (!word) {
    return {Errc::invalid_argument, "\"type\" must be a string"};
  }
  EntryDraft draft;
  draft.type = entry_type_of(*word);
  const auto known = members_of(draft.type, dialect);
  if (known.empty()) {
    return {Errc::invalid_argument, "entries of this type cannot be appended to a log of this agent"};
  }
  if (dialect == Dialect::omp18) {
    drop_replayed_signatures(entry);
  }
  Arranger arranger(entry, owner);
  arranger.move_integers();
  arranger.move_named("type");
  arranger.move_known(known, kBefore, dialect);
  const std::size_t members_before = arranger.arranged.MemberCount();
  arranger.move_known(known, 0, dialect);
  arranger.move_rest();

  json::Value& arranged = arranger.arranged;
  const DialectRules& rules = rules_of(dialect);
  if (rules.filters_entries) {
    persist(arranged, owner, dialect, draft.blobs);
  }
  const json::Value* message = json::member(arranged, "message");
  draft.is_assistant = draft.type == EntryType::message && message != nullptr &&
                       json::is_string(json::member(*message, "role"), "assistant");
  if (draft.type == EntryType::branch_summary && json::member(arranged, "fromId") == nullptr) {
    draft.from = rules.tells_left_leaf ? FromId::left : FromId::parent;
  }
  const auto members = json::members(static_cast<const json::Value&>(arranged));
  draft.after.reserve(bytes);
  draft.before += '{';
  put_members(members.first(members_before), true, draft.before);
  put_members(members.subspan(members_before), false, draft.after);
  draft.after += '}';
  return draft;
}

Result<EntryDraft> make_draft(const json::Value& entry, Dialect dialect) {
  json::Document owner;
  return make_draft(json::copy(entry, owner), owner, dialect);
}

std::string AppendBatch::add(const EntryDraft& draft) {
  EntryStamp stamp;
  stamp.id = new_entry_id(
      [&](std::string_view id) { return index_.find(id) != kNoEntry || new_ids_.contains(std::string(id)); },
      dialect_of(index_));
  stamp.parent_json = id_json(leaf_);
  stamp.left_json = left_ ? id_json(*left_) : "";
  stamp.timestamp_ms = draft.time_ms.value_or(now_ms_);
  draft.add_line(stamp, lines_);
  new_ids_.insert(stamp.id);
  leaf_ = EntryId{EntryId::Kind::string, stamp.id};
  left_.reset();
  return stamp.id;
}

Result<void> complete_message(json::Value& message, json::Document& owner, Dialect dialect, std::int64_t now_ms) {
  const auto role = json::string_member(message, "role");
  if (!role || role->empty()) {
    return {Errc::invalid_argument, "\"role\" must be a string that is not empty"};
  }
  const std::span<const RoleRule> rules = dialect == Dialect::pi ? std::span<const RoleRule>(kPiRoleRules) : kRoleRules;
  const auto is_for_role = [&](const RoleRule& rule) { return rule.role == *role; };
  if (dialect == Dialect::pi && std::none_of(rules.begin(), rules.end(), is_for_role)) {
    return {Errc::invalid_argument, "\"role\" is not a role that " + std::string(rules_of(dialect).agent) + " knows"};
  }
  if (*role == "system" && dialect != Dialect::pi) {
    return {Errc::invalid_argument,
            "the role \"system\" is written only by pi and would turn the whole log into one of pi"};
  }
  for (const RoleRule& rule : rules) {
    if (is_for_role(rule)) {
      RETURN_IF_ERROR(check(message, rule.member));
    }
  }
  RETURN_IF_ERROR(check(message, {"timestamp", kNumber}));
  if (json::Value* holder = usage_holder(message)) {
    RETURN_IF_ERROR(complete_usage(*holder, owner));
  }
  if (json::member(message, "timestamp") == nullptr) {
    json::set(message, "timestamp", json::Value(static_cast<double>(now_ms)), owner);
  }
  return {};
}

Result<void> complete_entry(json::Value& entry, json::Document& owner, Dialect dialect, std::int64_t now_ms) {
  RETURN_IF_ERROR(check_type(entry, dialect));
  const EntryType type = entry_type_of(*json::string_member(entry, "type"));
  RETURN_IF_ERROR(check_keys(entry, type, dialect));
  for (const EntryMember& row : members_of(type, dialect)) {
    RETURN_IF_ERROR(check(entry, row.member));
  }
  if (type == EntryType::message) {
    return complete_message(*json::member(entry, "message"), owner, dialect, now_ms);
  }
  return type == EntryType::model_usage || type == EntryType::usage ? complete_usage(entry, owner) : Result<void>();
}

}  // namespace arborfs::omp
