#include "core/doctor/tree_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/model/tree.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

constexpr std::size_t kNameLength = 80;

bool has_compaction(const LogIndex& index) {
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (index.entry(ordinal).type == EntryType::compaction) {
      return true;
    }
  }
  return false;
}

void find_in_parents(const LogIndex& index, std::vector<Finding>& found) {
  const bool has_lost_parents = !index.only_grows() && has_compaction(index);
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (index.is_orphan(ordinal) && !has_lost_parents) {
      found.push_back(
          finding_about(index, ordinal, "orphan",
                        fmt::format("{} names the parent {}, which is not in the log; it is shown as a root",
                                    entry_words(index, ordinal), id_words(index.parent_id(ordinal)))));
    }
  }
  for (const Ordinal ordinal : tree_of(index).unreachable) {
    found.push_back(
        finding_about(index, ordinal, "cycle",
                      fmt::format("{} is its own ancestor, or one of its ancestors is", entry_words(index, ordinal))));
  }
}

/// True if both places have the same bytes. A place that cannot be read has other bytes than any.
bool has_same_bytes(const LogSource& log, const SameId& same) {
  constexpr std::uint64_t kPiece = 64 * 1024;
  const std::uint64_t length = same.finding.length;
  if (length != same.length_before) {
    return false;
  }
  for (std::uint64_t at = 0; at < length; at += kPiece) {
    const std::uint64_t piece = std::min(kPiece, length - at);
    const auto before = log.read(same.offset_before + at, piece);
    const auto now = log.read(*same.finding.offset + at, piece);
    if (!before || !now || *before != *now) {
      return false;
    }
  }
  return true;
}

void find_in_labels(const LogIndex& index, std::vector<Finding>& found) {
  for (const auto& label : index.labels()) {
    if (index.find(label.target) == kNoEntry) {
      found.push_back(finding_about(index, label.set_by, "dangling_label",
                                    fmt::format("the label '{}' is on the entry {}, which is not in the log",
                                                visible_line(label.text, kNameLength), id_words(label.target))));
    }
  }
}

/// Records that nobody reads are no fault of the log.
void find_left_out(const LogIndex& index, std::vector<Finding>& found) {
  for (const auto& [type, count] : index.not_shown().by_type()) {
    found.push_back(not_shown_note(visible_line(type, kNameLength), count));
  }
}

}  // namespace

std::string entry_words(const LogIndex& index, Ordinal ordinal) {
  const EntryId id = index.id(ordinal);
  const std::string words = id.kind == EntryId::Kind::missing ? "no id" : visible_line(id.text, kNameLength);
  return fmt::format("entry #{} ({})", ordinal, words);
}

std::string id_words(const EntryId& id) {
  return "'" + visible_line(id.text, kNameLength) + "'";
}

Finding finding_about(const LogIndex& index, Ordinal ordinal, std::string_view kind, std::string text) {
  return {kind, std::move(text), index.entry(ordinal).offset, index.length(ordinal), ordinal};
}

void find_in_tree(const LogIndex& index, std::vector<Finding>& found) {
  find_in_parents(index, found);
  find_in_labels(index, found);
  find_left_out(index, found);
}

std::vector<SameId> same_ids_in(const LogIndex& index) {
  std::vector<SameId> same;
  if (!index.has_duplicate_ids()) {
    return same;
  }
  std::unordered_map<std::uint32_t, Ordinal> last_with;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    Ordinal& before = last_with[index.entry(ordinal).id];
    if (index.entry(ordinal).id != 0 && before != kNoEntry) {
      same.push_back({finding_about(index, ordinal, "duplicate_id",
                                    fmt::format("{} has the same id as #{}; the later one wins",
                                                entry_words(index, ordinal), before)),
                      index.entry(before).offset, index.length(before)});
    }
    before = ordinal;
  }
  return same;
}

void find_in_ids(const LogSource& log, std::vector<SameId> same, std::vector<Finding>& found) {
  for (SameId& one : same) {
    if (!has_same_bytes(log, one)) {
      found.push_back(std::move(one.finding));
    }
  }
}

}  // namespace arborfs
