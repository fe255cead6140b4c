#include "core/formats/claude/replay.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/claude/sent_pieces.h"

namespace arborfs::claude {
namespace {

Result<void> add_piece(Content& content, const std::shared_ptr<const LogSource>& log, const Piece& piece) {
  if (!piece.is_utf8) {
    return content.add_json(log, piece.offset, piece.length);
  }
  content.add_range(log, piece.offset, piece.length);
  return {};
}

/// Consecutive pieces of one role are one message.
Result<void> add_message(Content& content, const std::shared_ptr<const LogSource>& log, std::span<const Piece> pieces) {
  content.add_text("{\"role\":\"" + std::string(pieces.front().role) + "\",\"content\":");
  if (pieces.size() == 1 && pieces.front().is_string) {
    RETURN_IF_ERROR(add_piece(content, log, pieces.front()));
    content.add_text("}");
    return {};
  }
  std::string_view before = "[";
  for (const Piece& piece : pieces) {
    content.add_text(before);
    content.add_text(piece.is_string ? R"({"type":"text","text":)" : "");
    RETURN_IF_ERROR(add_piece(content, log, piece));
    content.add_text(piece.is_string ? "}" : "");
    before = ",";
  }
  content.add_text("]}");
  return {};
}

}  // namespace

Result<std::shared_ptr<const Content>> replay(const ContextPath& path, std::shared_ptr<const LogSource> log) {
  ASSIGN_OR_RETURN(const auto pieces, sent_pieces(path, *log, Reach::context));
  auto content = std::make_shared<Content>();
  content->add_text("{\"messages\":[");
  std::string_view before = "\n";
  for (std::size_t first = 0; first < pieces.size();) {
    std::size_t end = first + 1;
    while (end < pieces.size() && pieces[end].role == pieces[first].role) {
      ++end;
    }
    content->add_text(before);
    RETURN_IF_ERROR(add_message(*content, log, std::span(pieces).subspan(first, end - first)));
    before = ",\n";
    first = end;
  }
  content->add_text("\n]}\n");
  return std::shared_ptr<const Content>(std::move(content));
}

}  // namespace arborfs::claude
