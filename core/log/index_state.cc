#include "core/log/index_state.h"

#include <algorithm>
#include <utility>

#include "core/log/log_index.h"

namespace arborfs {

namespace {

constexpr std::string_view kNoTypeName = "value";

std::uint8_t root_word(const FieldValue& parent) {
  switch (parent.kind) {
    case FieldValue::Kind::null:
      return entry_flags::kParentNull;
    case FieldValue::Kind::string:
      return entry_flags::kParentEmpty;
    case FieldValue::Kind::number:
      return entry_flags::kParentZero;
    case FieldValue::Kind::boolean:
      return entry_flags::kParentFalse;
    default:
      return entry_flags::kParentMissing;
  }
}

}  // namespace

void IndexState::finish() {
  entries.shrink();
  hashes.shrink_to_fit();
  ids.shrink();
  labels.settle();
}

void IndexState::set_header(Header its_header) {
  const bool was_value = std::exchange(header, std::move(its_header)).valid;
  values += (header.valid ? 1 : 0) - (was_value ? 1 : 0);
}

void IndexState::admit(const RecordFields& record, std::uint64_t hash) {
  ++values;
  if (has_hashes) {
    hashes.push_back(hash);
  }
  const Ordinal ordinal = entries.size() + 1;
  Entry entry;
  entry.offset = record.offset;
  entry.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(record.length, kLongLength));
  if (entry.length == kLongLength) {
    long_lengths.emplace(ordinal, record.length);
  }
  entry.type = record.entry_type();
  entry.timestamp_ms = to_timestamp(record.timestamp);
  put_name(record, entry, ordinal);
  put_ids(record, entry);
  if (record.is_aside) {
    entry.flags |= entry_flags::kAside;
  }
  if (record.before.is_truthy()) {
    befores.emplace(ordinal, ids.intern(record.before));
  }
  entries.push(entry);
  note_repetition(entry, ordinal);
  link(entry, ordinal);
  if (entry.type == EntryType::label) {
    labels.take(record, ordinal);
  }
}

void IndexState::put_name(const RecordFields& record, Entry& entry, Ordinal ordinal) {
  std::string_view name = entry.type == EntryType::none ? kNoTypeName : record.type.text;
  if (entry.type == EntryType::message && record.role.kind == FieldValue::Kind::string && !record.role.text.empty()) {
    name = record.role.text;
    if (name == "assistant") {
      entry.flags |= entry_flags::kAssistant;
    }
  }
  entry.name = names.intern(name, ordinal);
}

void IndexState::put_ids(const RecordFields& record, Entry& entry) {
  if (!header.gives_ids || entry.type == EntryType::session) {
    entry.id = ids.intern(record.id);
    if (record.parent.is_truthy()) {
      entry.parent = ids.intern(record.parent);
    } else {
      entry.flags |= root_word(record.parent);
    }
    return;
  }
  ++made_ids;
  if (record.shape == RecordFields::Shape::scalar) {
    return;  // a scalar has no properties to set
  }
  entry.id = ids.intern_hex(made_ids);
  entry.parent = last_made;
  if (last_made == 0) {
    entry.flags |= entry_flags::kParentNull;
  }
  last_made = entry.id;
}

void IndexState::note_repetition(const Entry& entry, Ordinal ordinal) {
  const Ordinal before = entry.id == 0 ? kNoEntry : ids.owner(entry.id);
  if (before != kNoEntry && entries.at(before).parent == entry.parent) {
    const auto earlier = repetitions.find(before);
    repetitions.emplace(ordinal, earlier == repetitions.end() ? before : earlier->second);
  }
}

// Updates the count of tips. The last entry with an id takes the place of those before it, and has the children if it
// repeats the one before.
void IndexState::link(const Entry& entry, Ordinal ordinal) {
  if (entry.id == 0) {
    last_without_id = ordinal;
    ++tips;
  } else {
    const Ordinal before = ids.owner(entry.id);
    const bool had_children = ids.is_parent(entry.id);
    const bool is_other = before != kNoEntry && entries.at(before).parent != entry.parent;
    has_duplicates = has_duplicates || before != kNoEntry;
    if (is_other) {
      ids.set_parent(entry.id, false);
    }
    tips += (before == kNoEntry && !had_children) || (is_other && had_children) ? 1 : 0;
    ids.set_owner(entry.id, ordinal);
  }
  if (entry.parent != 0 && entry.parent != entry.id && !ids.is_parent(entry.parent)) {
    ids.set_parent(entry.parent, true);
    if (ids.owner(entry.parent) != kNoEntry) {
      --tips;
    }
  }
}

namespace {
constexpr std::size_t kWordBytes = 96;  // approximate size of a map entry with a short word
}

std::uint16_t NameTable::intern(std::string_view word, Ordinal ordinal) {
  if (const auto known = handles_.find(word); known != handles_.end()) {
    return known->second;
  }
  if (words_.size() == kOwnWord) {
    own_words_.emplace(ordinal, word);
    return kOwnWord;
  }
  const auto added = handles_.emplace(word, static_cast<std::uint16_t>(words_.size())).first;
  words_.push_back(&added->first);
  return added->second;
}

std::string_view NameTable::get(std::uint16_t handle, Ordinal ordinal) const {
  return handle == kOwnWord ? own_words_.at(ordinal) : *words_[handle];
}

std::size_t NameTable::memory_bytes() const {
  std::size_t bytes = words_.capacity() * sizeof(words_[0]) + (handles_.size() + own_words_.size()) * kWordBytes;
  for (const std::string* word : words_) {
    bytes += word->capacity();
  }
  for (const auto& [ordinal, word] : own_words_) {
    bytes += word.capacity();
  }
  return bytes;
}

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
