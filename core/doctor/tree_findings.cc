#include "core/doctor/tree_findings.h"

#include <fmt/format.h>

#include <unordered_map>

#include "core/base/number_format.h"
#include "core/model/tree.h"
#include "core/render/text.h"

namespace arborfs {
namespace {

constexpr std::size_t kNameLength = 80;

void find_in_parents(const LogIndex& index, std::vector<Finding>& found) {
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (index.is_orphan(ordinal)) {
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

void find_in_ids(const LogIndex& index, std::vector<Finding>& found) {
  if (!index.has_duplicate_ids()) {
    return;
  }
  std::unordered_map<std::uint32_t, Ordinal> first_with;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (index.entry(ordinal).id == 0) {
      continue;
    }
    if (const auto [first, fresh] = first_with.try_emplace(index.entry(ordinal).id, ordinal); !fresh) {
      found.push_back(finding_about(
          index, ordinal, "duplicate_id",
          fmt::format("{} has the same id as #{}; the later one wins", entry_words(index, ordinal), first->second)));
    }
  }
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
    Finding note{"not_shown", fmt::format("{} of the type {} {} not shown", counted(count, "record"),
                                          visible_line(type, kNameLength), count == 1 ? "is" : "are")};
    note.is_note = true;
    found.push_back(std::move(note));
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
  find_in_ids(index, found);
  find_in_labels(index, found);
  find_left_out(index, found);
}

}  // namespace arborfs
