#include "core/log/label_map.h"

#include <utility>

namespace arborfs {

namespace {

constexpr std::size_t kNodeBytes = 64;  // approximate size of a hash node without its string
constexpr std::size_t kMaxGaps = 64;

std::string key_of(const EntryId& id) {
  return static_cast<char>('0' + static_cast<int>(id.kind)) + id.text;
}

}  // namespace

void LabelMap::take(const RecordFields& record, Ordinal ordinal) {
  const EntryId target = to_entry_id(record.target);
  const bool equals_nothing = record.target.kind == FieldValue::Kind::container;
  const auto place = equals_nothing ? places_.end() : places_.find(key_of(target));
  if (!record.label.is_truthy()) {
    if (place != places_.end()) {
      labels_[place->second] = Label();
      places_.erase(place);
      if (++gaps_ > kMaxGaps && gaps_ > labels_.size() / 2) {
        settle();
      }
    }
    return;
  }
  if (place != places_.end()) {
    labels_[place->second].text = shown_text(record.label);
    labels_[place->second].set_by = ordinal;
    return;
  }
  if (!equals_nothing) {
    places_.emplace(key_of(target), labels_.size());
  }
  labels_.push_back({target, shown_text(record.label), ordinal});
}

void LabelMap::settle() {
  if (gaps_ == 0) {
    return;
  }
  std::vector<std::size_t> moved(labels_.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    moved[i] = kept;
    if (labels_[i].set_by != kNoEntry) {
      if (kept != i) {
        labels_[kept] = std::move(labels_[i]);
      }
      ++kept;
    }
  }
  labels_.resize(kept);
  for (auto& [key, place] : places_) {
    place = moved[place];
  }
  gaps_ = 0;
}

std::size_t LabelMap::memory_bytes() const {
  std::size_t bytes = labels_.capacity() * sizeof(Label) + places_.bucket_count() * sizeof(void*);
  for (const Label& label : labels_) {
    bytes += label.target.text.capacity() + label.text.capacity();
  }
  for (const auto& [key, place] : places_) {
    bytes += key.capacity() + kNodeBytes;
  }
  return bytes;
}

}  // namespace arborfs
