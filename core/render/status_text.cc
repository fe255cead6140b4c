// The JSON documents of views.h.
#include <string>
#include <utility>

#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/render/sink.h"
#include "core/render/value_text.h"
#include "core/render/views.h"

namespace arborfs {
namespace {

std::string pretty(const json::Value& value) {
  std::string out;
  StringSink sink(out);
  PrettyJson<SlowNode, StringSink>(sink).print(SlowNode(&value));
  out += '\n';
  return out;
}

/// A string value of a text that may have bytes that are not UTF-8: names of files, working directories.
json::Value string_of(std::string_view text, json::Document& owner) {
  return json::is_valid_utf8(text) ? json::make_string(text, owner) : json::make_string(json::decode_wtf8(text), owner);
}

/// A JSON object under construction; its members are in the order of the calls.
class Object {
 public:
  explicit Object(json::Document& owner) : owner_(owner), object_(rapidjson::kObjectType) {}
  Object& text(std::string_view key, std::string_view value) { return put(key, string_of(value, owner_)); }
  /// Leaves the member out if the value is "".
  Object& known(std::string_view key, std::string_view value) { return value.empty() ? *this : text(key, value); }
  Object& text_or_null(std::string_view key, std::string_view value) {
    return value.empty() ? put(key, json::Value()) : text(key, value);
  }
  Object& number(std::string_view key, std::uint64_t value) {
    return put(key, json::Value(static_cast<double>(value)));
  }
  Object& flag(std::string_view key, bool value) { return put(key, json::Value(value)); }
  Object& texts(std::string_view key, const std::vector<std::string>& values) {
    json::Value list(rapidjson::kArrayType);
    for (const std::string& value : values) {
      list.PushBack(string_of(value, owner_), owner_.GetAllocator());
    }
    return put(key, std::move(list));
  }
  Object& put(std::string_view key, json::Value value) {
    object_.AddMember(json::make_string(key, owner_), value, owner_.GetAllocator());
    return *this;
  }
  json::Value take() { return std::move(object_); }

 private:
  json::Document& owner_;
  json::Value object_;
};

json::Value damage_list(const std::vector<Damage>& damage, json::Document& owner) {
  json::Value list(rapidjson::kArrayType);
  for (const Damage& run : damage) {
    Object object(owner);
    object.text("file", damage_name(run)).number("offset", run.offset).number("length", run.length);
    object.text("kind", damage_word(run.kind)).flag("inProgress", run.in_progress);
    list.PushBack(object.take(), owner.GetAllocator());
  }
  return list;
}

/// Numbers by their names.
template <class Numbers>
json::Value counts(const Numbers& numbers, json::Document& owner) {
  Object object(owner);
  for (const auto& [name, number] : numbers) {
    object.number(name, number);
  }
  return object.take();
}

json::Value store_list(const std::vector<MountStatus::Store>& stores, json::Document& owner) {
  json::Value list(rapidjson::kArrayType);
  for (const MountStatus::Store& store : stores) {
    Object object(owner);
    object.text("agent", store.agent).text("place", store.place).number("sessions", store.sessions);
    object.text_or_null("problem", store.problem).put("leftOut", counts(store.left_out, owner));
    list.PushBack(object.take(), owner.GetAllocator());
  }
  return list;
}

}  // namespace

std::string session_json(const Header& header, const SessionOrigin& origin) {
  json::Document native;
  const bool has_native = json::parse(header.json, native);
  Object object(native);
  if (!origin.is_plain) {
    object.known("id", header.id).known("cwd", header.cwd).known("title", header.title);
    object.known("timestamp", header.timestamp).known("parentSession", header.parent_session);
  } else if (has_native && native.IsObject()) {
    for (const auto& member : json::members(std::as_const(native))) {
      const std::string_view key = json::as_string(member.name);
      if (key != "agent" && key != "format") {
        object.put(key, json::copy(member.value, native));
      }
    }
  }
  object.text("agent", origin.agent).text("format", origin.format);
  if (!origin.is_plain && has_native) {
    object.put("native", json::copy(native, native));
  }
  return pretty(object.take());
}

std::string session_status_json(const SessionStatus& status) {
  json::Document owner;
  Object object(owner);
  object.text("state", status.state).texts("why", status.reasons).flag("writable", status.writable);
  object.text_or_null("readOnlyReason", status.writable ? "" : status.read_only_reason);
  object.text_or_null("problem", status.problem).text_or_null("lastError", status.last_error);
  object.text_or_null("movedLeaf", status.moved_leaf);
  object.text_or_null("flavour", status.dialect).number("bytes", status.bytes).number("entries", status.entries);
  object.number("branches", status.branches).number("orphans", status.orphans);
  object.number("duplicateIds", status.duplicate_ids).number("cycles", status.cycles);
  object.put("damage", damage_list(status.damage, owner));
  object.put("notShown", counts(status.not_shown.by_type(), owner));
  object.texts("wholeRecordsInDamage", status.whole_records_in_damage);
  object.texts("erasedEntries", status.erased_entries).text_or_null("erasedFile", status.erased_file);
  object.texts("danglingLabels", status.dangling_labels).number("missingBlobs", status.missing_blobs);
  object.texts("tooLongEntries", status.too_long_entries);
  return pretty(object.take());
}

std::string mount_status_json(const MountStatus& status) {
  json::Document owner;
  Object object(owner);
  object.text("version", status.version).text("agentDir", status.agent_dir).flag("storePresent", status.store_present);
  object.number("projects", status.projects).number("sessions", status.sessions);
  object.number("unreadableSessions", status.unreadable_sessions).number("indexedSessions", status.indexed_sessions);
  object.number("indexBytes", status.index_bytes).text_or_null("watching", status.watching);
  object.put("stores", store_list(status.stores, owner)).texts("lastErrors", status.last_errors);
  return pretty(object.take());
}

}  // namespace arborfs
