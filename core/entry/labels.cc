#include <algorithm>
#include <unordered_set>

#include "core/entry/tree.h"

namespace arborfs {

const Label* label_of(const LogIndex& index, const EntryId& id) {
  const std::vector<Label>& labels = index.labels();
  const auto found =
      std::find_if(labels.begin(), labels.end(), [&id](const Label& label) { return label.target == id; });
  return found == labels.end() ? nullptr : &*found;
}

std::vector<NamedLabel> named_labels(const LogIndex& index) {
  std::vector<const Label*> newest_first;
  for (const Label& label : index.labels()) {
    if (label.target.kind != EntryId::Kind::missing && index.find(label.target) != kNoEntry) {
      newest_first.push_back(&label);
    }
  }
  std::stable_sort(newest_first.begin(), newest_first.end(),
                   [](const Label* a, const Label* b) { return a->set_by > b->set_by; });
  std::unordered_set<std::string> plain;
  std::vector<NamedLabel> named;
  std::vector<const Label*> older;
  for (const Label* label : newest_first) {
    if (plain.insert(label->text).second) {
      named.push_back({label->text, index.find(label->target), label->set_by});
    } else {
      older.push_back(label);
    }
  }
  for (const Label* label : older) {
    std::string name = label->text + '@' + label->target.text;
    while (!plain.insert(name).second) {
      name += '@' + label->target.text;
    }
    named.push_back({std::move(name), index.find(label->target), label->set_by});
  }
  std::sort(named.begin(), named.end(), [](const NamedLabel& a, const NamedLabel& b) { return a.set_by < b.set_by; });
  return named;
}

}  // namespace arborfs
