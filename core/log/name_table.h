// The words used in entries' names - roles and types - each stored once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/log/log_index.h"

namespace arborfs {

class NameTable {
 public:
  /// The value of Entry::name for the word of entry `ordinal`. After 65,535 words, each new one is stored per entry.
  std::uint16_t intern(std::string_view word, Ordinal ordinal);
  [[nodiscard]] std::string_view get(std::uint16_t handle, Ordinal ordinal) const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  static constexpr std::uint16_t kOwnWord = 0xFFFF;
  std::map<std::string, std::uint16_t, std::less<>> handles_;
  std::vector<const std::string*> words_;  // keys of handles_
  std::unordered_map<Ordinal, std::string> own_words_;
};

}  // namespace arborfs
