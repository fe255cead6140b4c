// Renders messages from their entries (omp/FORMAT.md C14).
#include <algorithm>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/context_compaction.h"
#include "core/formats/omp/context/context_messages.h"
#include "core/formats/omp/context/context_notes.h"
#include "core/formats/omp/context/context_pi.h"

namespace arborfs::context {
namespace {

void drop_blocks(json::Value& message, const std::vector<std::uint32_t>& dropped) {
  json::Value* content = json::member(message, "content");
  if (content == nullptr || !content->IsArray()) {
    return;
  }
  rapidjson::SizeType kept = 0;
  auto next_dropped = dropped.begin();
  for (rapidjson::SizeType i = 0; i < content->Size(); ++i) {
    json::Value& block = (*content)[i];
    if (next_dropped != dropped.end() && *next_dropped == i) {
      ++next_dropped;
    } else if (!json::is_string(json::member(block, "type"), "redactedThinking")) {
      if (json::is_string(json::member(block, "type"), "thinking") &&
          json::is_truthy(json::member(block, "thinkingSignature"))) {
        json::erase(block, "thinkingSignature");
      }
      if (kept != i) {
        (*content)[kept] = std::move(block);
      }
      ++kept;
    }
  }
  while (content->Size() > kept) {
    content->PopBack();
  }
}

std::string message_json(json::Document& entry, const Change* change) {
  json::Value* message = json::member(static_cast<json::Value&>(entry), "message");
  if (message == nullptr) {
    return {};
  }
  if (change != nullptr) {
    drop_blocks(*message, change->dropped_blocks);
  }
  return json::stringify(*message);
}

std::string custom_json(const json::Document& entry, Dialect dialect) {
  const json::Value* type = json::member(entry, "customType");
  const json::Value* display = json::member(entry, "display");
  const json::Value* attribution = json::member(entry, "attribution");
  std::string out = "{\"role\":\"custom\"";
  if (dialect != Dialect::omp18) {
    add_member(out, "customType", type);
    add_member(out, "content", json::member(entry, "content"));
    add_member(out, "display", display);
    add_member(out, "details", json::member(entry, "details"));
    add_member(out, "attribution", dialect == Dialect::pi ? nullptr : attribution);
  } else {
    const bool is_named = type != nullptr && type->IsString() && json::is_truthy(type);
    add_member_json(out, "customType", is_named ? json::stringify(*type) : "\"custom-message\"");
    add_member(out, "content", json::member(entry, "content"));
    add_member_json(out, "display", display != nullptr && display->IsTrue() ? "true" : "false");
    add_member(out, "details", json::member(entry, "details"));
    if (attribution != nullptr) {
      add_member_json(out, "attribution", json::is_string(attribution, "user") ? "\"user\"" : "\"agent\"");
    }
  }
  add_member_json(out, "timestamp", date_json(json::member(entry, "timestamp")));
  return out + "}";
}

std::string branch_summary_json(const json::Document& entry) {
  std::string out = "{\"role\":\"branchSummary\"";
  add_member(out, "summary", json::member(entry, "summary"));
  add_member(out, "fromId", json::member(entry, "fromId"));
  add_member_json(out, "timestamp", date_json(json::member(entry, "timestamp")));
  return out + "}";
}

}  // namespace

Result<std::string> render_piece(const Piece& piece, const Source& source) {
  if (piece.kind == Piece::Kind::copy) {
    return source.log->read(piece.offset, piece.length);
  }
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, piece.offset, piece.length, entry));
  const ContextEdit* edit = piece.change && piece.change->edit ? &*piece.change->edit : nullptr;
  switch (piece.kind) {
    case Piece::Kind::custom:
      if (edit != nullptr) {
        RETURN_IF_ERROR(replace_content(entry, "custom", *edit, source, entry));
      }
      return custom_json(entry, source.dialect);
    case Piece::Kind::branch_summary:
      return branch_summary_json(entry);
    case Piece::Kind::compaction:
      return compaction_message(entry, source, piece.change ? piece.change->history_rewrite_at : std::nullopt);
    case Piece::Kind::notes:
      return notes_message(entry);
    case Piece::Kind::system_message:
      return pi_system_message_json(entry);
    default:
      if (source.dialect == Dialect::pi) {
        return pi_message_json(entry, edit, source);
      }
      return message_json(entry, piece.change.get());
  }
}

}  // namespace arborfs::context
