#include "core/log/name_table.h"

namespace arborfs {

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

}  // namespace arborfs
