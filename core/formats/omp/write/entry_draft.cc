#include "core/formats/omp/write/entry_draft.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/write/dialect_rules.h"
#include "core/formats/omp/write/provider_blocks.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs {
namespace {

using Fields = std::array<std::string_view, 10>;  // unused ones are empty

// The order of an entry's fields on disk (omp/FORMAT.md H5): `type`, the fields before the stamp, then id, parentId and
// timestamp, then the fields after it.
struct Shape {
  EntryType type;
  Fields before;
  Fields behind;
  Fields behind18;  // in omp18, if it differs
};

constexpr Shape kShapes[] = {
    {EntryType::message, {}, {"message"}, {}},
    {EntryType::model_change, {}, {"model", "role"}, {"model", "role", "resolvedModelIsFallback"}},
    {EntryType::thinking_level_change, {}, {"thinkingLevel"}, {"thinkingLevel", "configured"}},
    {EntryType::compaction,
     {},
     {"summary", "shortSummary", "firstKeptEntryId", "tokensBefore", "details", "fromExtension", "preserveData"},
     {"summary", "shortSummary", "firstKeptEntryId", "tokensBefore", "tokensAfter", "method",
      "providerReplayThroughEntryId", "details", "fromExtension", "preserveData"}},
    {EntryType::branch_summary, {}, {"fromId", "summary", "details", "fromExtension"}, {}},
    {EntryType::label, {}, {"targetId", "label"}, {}},
    {EntryType::ttsr_injection, {}, {"injectedRules"}, {}},
    {EntryType::session_init, {}, {}, {}},
    {EntryType::mode_change, {}, {"mode", "data"}, {}},
    {EntryType::service_tier_change, {}, {"serviceTier"}, {}},
    {EntryType::mcp_tool_selection, {}, {"selectedToolNames"}, {}},
    {EntryType::custom, {"customType", "data"}, {}, {}},
    {EntryType::custom_message, {"customType", "content", "display", "details", "attribution"}, {}, {}},
    {EntryType::title_change, {}, {"title", "source", "previousTitle", "trigger"}, {}},
    {EntryType::credential_pin, {}, {"provider", "hash"}, {}},
    {EntryType::model_usage,
     {},
     {"purpose", "role", "api", "provider", "model", "usage", "stopReason", "errorMessage"},
     {}},
    {EntryType::reset_boundary, {}, {}, {}},
};

// pi's (pi/FORMAT.md C2).
constexpr Shape kPiShapes[] = {
    {EntryType::message, {}, {"message"}, {}},
    {EntryType::model_change, {}, {"provider", "modelId"}, {}},
    {EntryType::thinking_level_change, {}, {"thinkingLevel"}, {}},
    {EntryType::compaction,
     {},
     {"summary", "firstKeptEntryId", "tokensBefore", "details", "fromHook", "usage", "systemMessage"},
     {}},
    {EntryType::branch_summary, {}, {"fromId", "summary", "details", "fromHook", "usage"}, {}},
    {EntryType::label, {}, {"targetId", "label"}, {}},
    {EntryType::session_info, {}, {"name"}, {}},
    {EntryType::custom, {"customType", "data"}, {}, {}},
    {EntryType::custom_message, {"customType", "content", "display", "details"}, {}, {}},
    {EntryType::usage, {}, {"kind", "provider", "model", "usage", "note"}, {}},
    {EntryType::context_edit, {}, {"targetId", "replacement"}, {}},
};

// The values that the append functions of omp use if their caller gives none; those of pi have no defaults.
struct Default {
  json::Value (*make)();
  std::string_view key;
  EntryType type;
  bool is_18_only;
};

constexpr Default kDefaults[] = {
    {[] { return json::Value("agent", 5); }, "attribution", EntryType::custom_message, false},
    {[] { return json::Value(); }, "thinkingLevel", EntryType::thinking_level_change, false},
    {[] { return json::Value(); }, "configured", EntryType::thinking_level_change, true},
    {[] { return json::Value("default", 7); }, "role", EntryType::model_change, true},
    {[] { return json::Value(false); }, "resolvedModelIsFallback", EntryType::model_change, true},
};

const Shape* shape_of(EntryType type, Dialect dialect) {
  if (is_omp18_type(type) && dialect != Dialect::omp18) {
    return nullptr;
  }
  const std::span<const Shape> shapes = dialect == Dialect::pi ? std::span<const Shape>(kPiShapes) : kShapes;
  const auto shape = std::find_if(shapes.begin(), shapes.end(), [type](const Shape& s) { return s.type == type; });
  return shape == shapes.end() ? nullptr : &*shape;
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
  void move_fields(const Fields& fields, EntryType type, Dialect dialect) {
    for (const std::string_view key : fields) {
      if (key.empty() || move_named(key) || dialect == Dialect::pi) {
        continue;
      }
      for (const Default& row : kDefaults) {
        if (row.type == type && row.key == key && (!row.is_18_only || dialect == Dialect::omp18)) {
          arranged.AddMember(json::make_string(key, owner_), row.make(), owner_.GetAllocator());
        }
      }
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
  const Shape* shape = shape_of(draft.type, dialect);
  if (shape == nullptr) {
    return {Errc::invalid_argument, "entries of this type cannot be appended to a log of this agent"};
  }
  if (dialect == Dialect::omp18) {
    drop_replayed_signatures(entry);
  }
  Arranger arranger(entry, owner);
  arranger.move_integers();
  arranger.move_named("type");
  arranger.move_fields(shape->before, draft.type, dialect);
  const std::size_t members_before = arranger.arranged.MemberCount();
  const bool has_own = dialect == Dialect::omp18 && !shape->behind18[0].empty();
  arranger.move_fields(has_own ? shape->behind18 : shape->behind, draft.type, dialect);
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

}  // namespace arborfs
