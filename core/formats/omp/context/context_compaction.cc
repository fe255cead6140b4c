#include "core/formats/omp/context/context_compaction.h"

#include <algorithm>

#include "core/json/date.h"

namespace arborfs::context {
namespace {

const json::Value* preserved(const json::Document& entry, std::string_view key) {
  const json::Value* data = json::member(entry, "preserveData");
  return data == nullptr ? nullptr : json::member(*data, key);
}

bool has_text(const json::Value& object, std::string_view key) {
  return !json::string_member(object, key).value_or("").empty();
}

// The remote history if it has a form that the dialect accepts, else null.
const json::Value* remote_of(const json::Document& entry, Dialect dialect) {
  const json::Value* remote = preserved(entry, "openaiRemoteCompaction");
  if (dialect == Dialect::pi || remote == nullptr || !has_text(*remote, "provider")) {
    return nullptr;
  }
  const json::Value* items = json::member(*remote, "replacementHistory");
  if (items == nullptr || !items->IsArray()) {
    return nullptr;
  }
  const bool is_strict = dialect == Dialect::omp18;
  const auto is_object = [](const json::Value& item) { return item.IsObject(); };
  return !is_strict || std::all_of(items->Begin(), items->End(), is_object) ? remote : nullptr;
}

// Anthropic's summary if it has a form that the dialect accepts, else null.
const json::Value* anthropic_of(const json::Document& entry, Dialect dialect) {
  const json::Value* found = preserved(entry, "anthropicCompaction");
  const bool is_valid = found != nullptr && has_text(*found, "provider") && has_text(*found, "content");
  return dialect == Dialect::omp18 && is_valid ? found : nullptr;
}

bool is_rollover(const json::Document& entry) {
  const json::Value* details = json::member(entry, "details");
  return details != nullptr && json::is_string(json::member(*details, "kind"), "experimental-context-rollover");
}

std::string provider_payload(const json::Document& entry, Dialect dialect) {
  std::string out = "{";
  if (const json::Value* remote = remote_of(entry, dialect)) {
    add_member_json(out, "type", "\"openaiResponsesHistory\"");
    add_member(out, "provider", json::member(*remote, "provider"));
    add_member(out, "items", json::member(*remote, "replacementHistory"));
  } else if (const json::Value* anthropic = anthropic_of(entry, dialect)) {
    add_member_json(out, "type", "\"anthropicCompaction\"");
    add_member(out, "provider", json::member(*anthropic, "provider"));
    add_member(out, "content", json::member(*anthropic, "content"));
    for (const std::string_view key : {"encryptedContent", "filesText"}) {
      add_member(out, key, has_text(*anthropic, key) ? json::member(*anthropic, key) : nullptr);
    }
  } else {
    return {};
  }
  return out + "}";
}

std::optional<EntryId> id_of(const json::Value* value) {
  if (value == nullptr) {
    return EntryId();
  }
  if (value->IsObject() || value->IsArray()) {
    return std::nullopt;
  }
  return value->IsString() ? EntryId{EntryId::Kind::string, std::string(json::as_string(*value))}
                           : EntryId{EntryId::Kind::other, json::stringify(*value)};
}

std::optional<EntryId> id_at(const json::Value& value_index, const ContextPath& path) {
  const double wanted = value_index.GetDouble();
  for (const auto& [index, id] : path.kept_by_index) {
    if (static_cast<double>(index) == wanted) {
      return id;
    }
  }
  return std::nullopt;
}

}  // namespace

Compaction read_compaction(const json::Document& entry, const ContextPath& path, const Source& source,
                           bool names_by_index) {
  Compaction found;
  found.is_remote = remote_of(entry, source.dialect) != nullptr;
  found.is_anthropic = anthropic_of(entry, source.dialect) != nullptr;
  found.is_rollover = source.dialect == Dialect::omp18 && is_rollover(entry);
  found.first_kept = id_of(json::member(entry, "firstKeptEntryId"));
  const json::Value* index = json::member(entry, "firstKeptEntryIndex");
  if (names_by_index && index != nullptr && index->IsNumber()) {
    if (const auto id = id_at(*index, path)) {
      found.first_kept = id;
    }
  }
  const json::Value* replay = json::member(entry, "providerReplayThroughEntryId");
  if (source.dialect == Dialect::omp18 && json::is_truthy(replay)) {
    found.replay_through = id_of(replay);
  }
  return found;
}

std::string compaction_message(const json::Document& entry, const Source& source,
                               std::optional<double> history_rewrite_at) {
  const bool is_18 = source.dialect == Dialect::omp18;
  const auto copy = [&entry](std::string& out, std::string_view key) {
    add_member(out, key, json::member(entry, key));
  };
  std::string out = "{\"role\":\"compactionSummary\"";
  copy(out, "summary");
  if (source.dialect != Dialect::pi) {
    copy(out, "shortSummary");
  }
  copy(out, "tokensBefore");
  if (is_18) {
    copy(out, "tokensAfter");
    copy(out, "method");
  }
  if (const std::string payload = provider_payload(entry, source.dialect); !payload.empty()) {
    add_member_json(out, "providerPayload", payload);
  }
  if (is_18) {
    const ArchiveBlocks archive = archive_blocks(preserved(entry, "snapcompact"), source.blobs.get());
    if (!archive.blocks.empty()) {
      add_member_json(out, "blocks", archive.blocks);
    }
    if (!archive.images.empty()) {
      add_member_json(out, "images", archive.images);
    }
    copy(out, "warning");
  }
  if (history_rewrite_at) {
    add_member_json(out, "historyRewriteAt", json::number_text(*history_rewrite_at));
  }
  add_member_json(out, "timestamp", date_json(json::member(entry, "timestamp")));
  return out + "}";
}

}  // namespace arborfs::context
