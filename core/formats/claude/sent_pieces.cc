#include "core/formats/claude/sent_pieces.h"

#include <unordered_map>
#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/base/stripped.h"
#include "core/formats/claude/preserved.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"

namespace arborfs::claude {
namespace {

/// Reads the pieces of one row.
class Pieces {
 public:
  Pieces(std::string_view raw, std::uint64_t offset, Ordinal entry, std::vector<Piece>& pieces)
      : raw_(raw), offset_(offset), entry_(entry), pieces_(pieces) {}

  void read() {
    if (!skim::is_truthy(skim::member(raw_, "uuid"))) {
      return;  // the program reads no such row (claude/FORMAT.md B7)
    }
    const std::string_view type = skim::member(raw_, "type");
    if (skim::is_string(type, "user")) {
      add_said("user");
    } else if (skim::is_string(type, "assistant")) {
      if (!is_failure()) {
        add_said("assistant");
      }
    } else if (skim::is_string(type, "attachment")) {
      add_attachment();
    } else if (skim::is_string(type, "system") && skim::is_string(skim::member(raw_, "subtype"), "local_command")) {
      add(Piece{"user"}, skim::member(raw_, "content"));
    }
  }

 private:
  /// The program's own words about a request that failed (claude/FORMAT.md F2).
  [[nodiscard]] bool is_failure() const {
    return skim::is_truthy(skim::member(raw_, "isApiErrorMessage")) &&
           skim::is_string(skim::member(skim::member(raw_, "message"), "model"), "<synthetic>");
  }

  void add_said(std::string_view role) {
    const std::string_view message = skim::member(raw_, "message");
    const std::string_view content = skim::member(message, "content");
    Piece piece{role};
    if (role == "assistant") {
      const auto id = skim::string_value(skim::member(message, "id"));
      piece.reply = id && !id->empty() ? xxh64(*id) : 0;
    } else {
      skim::Cursor blocks(content);
      piece.is_prompt = !blocks.next() || !skim::is_string(skim::member(blocks.value(), "type"), "tool_result");
    }
    add(piece, content);
  }

  void add_attachment() {
    const std::string_view rendered = skim::member(raw_, "rendered");
    if (rendered.starts_with('[')) {
      const bool is_system = skim::is_string(skim::member(raw_, "renderedRole"), "system");
      for (skim::Cursor items(rendered); items.next();) {
        add(Piece{is_system ? "system" : "user"}, skim::member(items.value(), "content"));
      }
      return;
    }
    const std::string_view attachment = skim::member(raw_, "attachment");
    if (skim::is_string(skim::member(attachment, "type"), "queued_command")) {
      Piece piece{"user"};
      piece.is_prompt = true;
      add(piece, skim::member(attachment, "prompt"));
    }
  }

  void add(Piece piece, std::string_view content) {
    piece.is_string = content.starts_with('"');
    if (content.starts_with('[')) {
      content = stripped(content.substr(1, content.size() - 2));
    } else if (!piece.is_string) {
      return;
    }
    if (!content.empty()) {
      piece.offset = offset_ + static_cast<std::uint64_t>(content.data() - raw_.data());
      piece.length = content.size();
      piece.is_utf8 = json::is_valid_utf8(content);
      piece.row = offset_;
      piece.row_length = raw_.size();
      piece.entry = entry_;
      pieces_.push_back(piece);
    }
  }

  const std::string_view raw_;
  const std::uint64_t offset_;
  const Ordinal entry_;
  std::vector<Piece>& pieces_;
};

/// The pieces of a path, and of the rows that its compaction preserved.
Result<std::vector<Piece>> pieces_of(const ContextPath& path, const LogSource& log) {
  std::vector<Piece> pieces;
  Preserved preserved;
  for (std::size_t i = 0; i < path.steps.size(); ++i) {
    const ContextPath::Step& step = path.steps[i];
    ASSIGN_OR_RETURN(const auto raw, log.read(step.entry.offset, step.length));
    if (step.entry.type == EntryType::compaction) {
      pieces.clear();
      ASSIGN_OR_RETURN(preserved, find_preserved(log, raw, step.entry.offset));
      continue;
    }
    add_pieces(raw, step.entry.offset, step.ordinal, pieces);
    if (i < path.ids.size() && !preserved.rows.empty() && path.ids[i].text == preserved.anchor) {
      for (const Preserved::Row& row : preserved.rows) {
        ASSIGN_OR_RETURN(const auto kept, log.read(row.offset, row.length));
        add_pieces(kept, row.offset, kNoEntry, pieces);
      }
    }
  }
  return pieces;
}

Result<std::vector<Piece>> pieces_of_rows(const ContextPath& path, const LogSource& log) {
  std::vector<Piece> pieces;
  for (const ContextPath::Step& step : path.steps) {
    ASSIGN_OR_RETURN(const auto raw, log.read(step.entry.offset, step.length));
    add_pieces(raw, step.entry.offset, step.ordinal, pieces);
  }
  return pieces;
}

/// Moves the messages between the blocks of one reply after the last block (claude/FORMAT.md F4).
std::vector<Piece> with_whole_replies(std::vector<Piece> pieces) {
  std::unordered_map<std::uint64_t, std::size_t> last_blocks;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].reply != 0) {
      last_blocks[pieces[i].reply] = i;
    }
  }
  std::vector<Piece> ordered;
  std::vector<Piece> waiting;
  std::size_t until = 0;  // the last block of the reply that is open
  ordered.reserve(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (i < until && piece.reply == 0 && !piece.is_prompt) {
      waiting.push_back(piece);
      continue;
    }
    const bool is_in_reply = i <= until && piece.reply != 0 && last_blocks[piece.reply] == until;
    if (!is_in_reply) {
      ordered.insert(ordered.end(), waiting.begin(), waiting.end());
      waiting.clear();
      until = piece.reply == 0 ? 0 : last_blocks[piece.reply];
    }
    ordered.push_back(piece);
  }
  ordered.insert(ordered.end(), waiting.begin(), waiting.end());
  return ordered;
}

}  // namespace

void add_pieces(std::string_view raw, std::uint64_t offset, Ordinal entry, std::vector<Piece>& pieces) {
  Pieces(raw, offset, entry, pieces).read();
}

Result<std::vector<Piece>> sent_pieces(const ContextPath& path, const LogSource& log, Reach reach) {
  if (reach == Reach::path) {
    return pieces_of_rows(path, log);
  }
  ASSIGN_OR_RETURN(auto found, pieces_of(path, log));
  return with_whole_replies(std::move(found));
}

}  // namespace arborfs::claude
