#include "core/formats/omp/writer/migration.h"

#include <cmath>

#include "core/formats/omp/log/header.h"
#include "core/formats/omp/write/header_text.h"
#include "core/json/document.h"
#include "core/log/log_index.h"

namespace arborfs {

namespace {

std::string changed(std::string object, std::string_view key, std::optional<std::string_view> value) {
  auto with = with_member(object, key, value);
  return with ? std::move(*with) : std::move(object);
}

bool is_text(std::optional<std::string_view> json_text, std::string_view wanted) {
  json::Document value;
  return json_text && json::parse(*json_text, value) && json::is_string(&value, wanted);
}

/// Replaces `firstKeptEntryIndex` of a compaction with the id that it refers to (omp/FORMAT.md E9).
std::string with_kept_id(std::string entry, const IdOfValue& id_of) {
  const auto index = member_text(entry, "firstKeptEntryIndex");
  json::Document value;
  if (!index || !json::parse(*index, value) || !value.IsNumber()) {
    return entry;
  }
  if (const std::string id = id_of_kept(value.GetDouble(), id_of); !id.empty()) {
    entry = changed(std::move(entry), "firstKeptEntryId", id);
  }
  return changed(std::move(entry), "firstKeptEntryIndex", std::nullopt);
}

std::string with_renamed_role(std::string entry) {
  const auto message = member_text(entry, "message");
  if (!message || !is_text(member_text(*message, "role"), "hookMessage")) {
    return entry;
  }
  const std::string renamed = changed(std::string(*message), "role", "\"custom\"");
  return changed(std::move(entry), "message", renamed);
}

}  // namespace

LogMigration::LogMigration(const LogIndex& index) : index_(index) {
  json::Document header;
  if (!index.header().migrated || !json::parse(index.header().json, header)) {
    return;
  }
  const json::Value* version = json::member(header, "version");
  renames_roles_ = version != nullptr && version->IsNumber();
  gives_ids_ = index.gives_ids();
}

EntryMigration LogMigration::of(Ordinal ordinal) const {
  EntryMigration migration;
  migration.type = index_.entry(ordinal).type;
  migration.renames_roles = renames_roles_;
  if (gives_ids_ && migration.type != EntryType::session) {
    migration.id_json = id_json(index_.id(ordinal));
    migration.parent_json = id_json(index_.parent_id(ordinal));
  }
  return migration;
}

IdOfValue ids_of(const Session& session) {
  return [&session](std::uint64_t value) -> std::string {
    const auto guard = session.read();
    const Ordinal ordinal = guard ? guard->index().entry_at_value(value) : kNoEntry;
    if (ordinal == kNoEntry || guard->index().entry(ordinal).type == EntryType::session) {
      return "";
    }
    return id_json(guard->index().id(ordinal));
  };
}

std::string id_of_kept(double index, const IdOfValue& id_of) {
  const bool is_place = index >= 1 && index < 4294967296.0 && std::floor(index) == index;
  return is_place ? id_of(static_cast<std::uint64_t>(index)) : "";
}

std::string migrate_entry(std::string text, const EntryMigration& migration, const IdOfValue& id_of) {
  if (!migration.id_json.empty()) {
    text = changed(std::move(text), "id", migration.id_json);
    text = changed(std::move(text), "parentId", migration.parent_json);
    if (migration.type == EntryType::compaction) {
      text = with_kept_id(std::move(text), id_of);
    }
  }
  return migration.renames_roles && migration.type == EntryType::message ? with_renamed_role(std::move(text)) : text;
}

}  // namespace arborfs
