#include "core/formats/claude/preserved.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/claude/row_reader.h"
#include "core/json/json_cursor.h"

namespace arborfs::claude {
namespace {

constexpr std::uint64_t kStep = 1 << 20;

std::string string_at(std::string_view object, std::string_view key) {
  return skim::string_value(skim::member(object, key)).value_or("");
}

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
    wanted.anchor = string_at(messages, "anchorUuid");
    for (skim::Cursor items(uuids); items.next();) {
      wanted.uuids.push_back(skim::string_value(items.value()).value_or(""));
    }
    return wanted.uuids.empty() ? std::nullopt : std::optional(std::move(wanted));
  }
  const std::string_view segment = skim::member(metadata, "preservedSegment");
  wanted.anchor = string_at(segment, "anchorUuid");
  wanted.head = string_at(segment, "headUuid");
  wanted.tail = string_at(segment, "tailUuid");
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

}  // namespace

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

}  // namespace arborfs::claude
