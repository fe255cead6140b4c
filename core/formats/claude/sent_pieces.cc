#include "core/formats/claude/sent_pieces.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/words.h"
#include "core/formats/claude/row.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/log/log_source.h"

namespace arborfs::claude {
namespace {

/// The messages that a compaction keeps unchanged (claude/FORMAT.md C4). Any thread.
struct Preserved {
  struct Row {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  std::string anchor;     // the uuid of the row that they follow
  std::vector<Row> rows;  // in the order in which they are sent
};

constexpr std::uint64_t kStep = 1 << 20;

/// The rows that a boundary requests: by name, or from a last one up to a first one along their parents.
struct Wanted {
  std::string anchor;
  std::vector<std::string> uuids;
  std::string head;
  std::string tail;
  [[nodiscard]] bool is_segment() const { return uuids.empty(); }
};

std::optional<Wanted> wanted_by(std::string_view boundary) {
  const std::string_view metadata = skim::member(boundary, "compactMetadata");
  Wanted wanted;
  const std::string_view messages = skim::member(metadata, "preservedMessages");
  const std::string_view uuids = skim::member(messages, "uuids");
  if (uuids.starts_with('[')) {
    wanted.anchor = skim::text_member(messages, "anchorUuid");
    for (skim::Cursor items(uuids); items.next();) {
      wanted.uuids.push_back(skim::string_value(items.value()).value_or(""));
    }
    return wanted.uuids.empty() ? std::nullopt : std::optional(std::move(wanted));
  }
  const std::string_view segment = skim::member(metadata, "preservedSegment");
  wanted.anchor = skim::text_member(segment, "anchorUuid");
  wanted.head = skim::text_member(segment, "headUuid");
  wanted.tail = skim::text_member(segment, "tailUuid");
  return wanted.head.empty() || wanted.tail.empty() ? std::nullopt : std::optional(std::move(wanted));
}

/// Goes through the rows from the last to the first, so that the last of several rows with the same uuid counts, and a
/// parent comes after its child.
class Search {
 public:
  explicit Search(const Wanted& wanted) : wanted_(wanted), next_(wanted.tail) {
    for (const std::string& uuid : wanted.uuids) {
      found_.try_emplace(uuid);
    }
  }

  [[nodiscard]] bool is_done() const { return wanted_.is_segment() ? is_complete_ : named_ == found_.size(); }

  void take(const Row& row) {
    if (wanted_.is_segment()) {
      take_next(row);
      return;
    }
    const auto found = found_.find(std::string(row.uuid));
    if (found != found_.end() && !found->second) {
      found->second = Preserved::Row{row.offset, row.length};
      ++named_;
    }
  }

  [[nodiscard]] std::vector<Preserved::Row> rows() const {
    if (!is_done()) {
      return {};
    }
    if (wanted_.is_segment()) {
      return {upwards_.rbegin(), upwards_.rend()};
    }
    std::vector<Preserved::Row> rows;
    std::transform(wanted_.uuids.begin(), wanted_.uuids.end(), std::back_inserter(rows),
                   [this](const std::string& uuid) { return *found_.at(uuid); });
    return rows;
  }

 private:
  void take_next(const Row& row) {
    if (is_complete_ || row.uuid != next_) {
      return;
    }
    upwards_.push_back({row.offset, row.length});
    is_complete_ = next_ == wanted_.head;
    next_ = row.parent;
  }

  const Wanted& wanted_;
  std::unordered_map<std::string, std::optional<Preserved::Row>> found_;
  std::size_t named_ = 0;
  std::string next_;
  std::vector<Preserved::Row> upwards_;
  bool is_complete_ = false;
};

/// Finds the rows that a boundary names, in the log before it. Empty if it names none, or if the log lacks one of them.
/// `raw` are the boundary's bytes, which begin at `offset`. Errors: stale, io.
Result<Preserved> find_preserved(const LogSource& log, std::string_view raw, std::uint64_t offset) {
  const auto wanted = wanted_by(raw);
  if (!wanted) {
    return Preserved{};
  }
  Search search(*wanted);
  RowParser parser;
  StretchBuffer buffer;
  Stretch stretch;
  for (std::uint64_t end = offset; end != 0 && !search.is_done();) {
    const std::uint64_t begin = end - std::min(end, kStep);
    stretch.clear();
    RETURN_IF_ERROR(read_stretch_lines(log, begin, end, offset, buffer,
                                       [&](const LineReader::Line& line) { stretch.take(line, parser); }));
    for (auto row = stretch.rows.rbegin(); row != stretch.rows.rend(); ++row) {
      if (row->kind == Row::Kind::node) {
        search.take(*row);
      }
    }
    end = begin;
  }
  return Preserved{wanted->anchor, search.rows()};
}

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
