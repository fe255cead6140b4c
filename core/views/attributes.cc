#include "core/views/attributes.h"

#include "core/base/result_macros.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/model/tree.h"
#include "core/render/text.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kMaxParsed = 64U << 20U;
constexpr std::size_t kMaxValue = 4096;

void add(AttributeList& list, const char* name, std::string_view value) {
  if (!value.empty()) {
    list.emplace_back(name, visible_line(value, kMaxValue));
  }
}

/// Adds values that the index does not keep: the role and the model of a message, the model of a model change.
void add_from_json(AttributeList& list, std::string_view raw) {
  json::Document entry;
  if (!json::parse(raw, entry)) {
    return;
  }
  const json::Value* message = json::member(entry, "message");
  if (message != nullptr) {
    add(list, "role", json::string_member(*message, "role").value_or(""));
  }
  auto model = message == nullptr ? std::nullopt : json::string_member(*message, "model");
  add(list, "model", model ? *model : json::string_member(entry, "model").value_or(""));
}

}  // namespace

Result<AttributeList> entry_attributes(const Session& session, Ordinal ordinal) {
  AttributeList list;
  std::shared_ptr<const LogSource> log;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  {
    const auto guard = session.read();
    if (!guard || ordinal == kNoEntry || ordinal > guard->index().size()) {
      return session_changed();
    }
    const LogIndex& index = guard->index();
    const Entry& entry = index.entry(ordinal);
    const EntryId id = index.id(ordinal);
    add(list, "id", id.text);
    add(list, "parent", index.parent_id(ordinal).text);
    add(list, "type", index.type_text(ordinal));
    if (entry.timestamp_ms != Entry::kNoTime) {
      add(list, "timestamp", json::iso_time(entry.timestamp_ms));
    }
    if (const Label* label = label_of(index, id)) {
      add(list, "label", label->text);
    }
    log = guard->log();
    offset = entry.offset;
    length = index.length(ordinal);
  }
  if (length > kMaxParsed) {
    return list;
  }
  ASSIGN_OR_RETURN(const auto raw, log->read(offset, length));
  add_from_json(list, raw);
  return list;
}

Result<AttributeList> session_attributes(const Session& session) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  const Header& header = index.header();
  AttributeList list;
  add(list, "id", header.id);
  add(list, "agent", guard.agent());
  add(list, "cwd", header.cwd);
  add(list, "title", header.title);
  if (guard.leaf() != kNoEntry) {
    add(list, "leaf", index.id(guard.leaf()).text);
  }
  add(list, "entries", std::to_string(index.size()));
  add(list, "parent-session", header.parent_session);
  return list;
}

}  // namespace arborfs
