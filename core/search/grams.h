// The grams of a text: a number of three bytes for each four bytes in a row of its folded form. A text that contains a
// word contains all of the word's grams. Different bytes may have the same gram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::search {

/// Collects the grams of several texts, each once. Used by one thread.
class GramSet {
 public:
  GramSet();
  void add(std::string_view folded);
  /// The grams one after another, none of their bytes NUL; begins anew.
  std::string take();

 private:
  std::vector<bool> has_;
  std::vector<std::uint32_t> found_;
};

/// The grams of a folded word, each once; none for a word of fewer than four bytes.
std::vector<std::string> grams_of(std::string_view word);

/// About how many chunks have a gram: decides only which grams of a word are looked up. Used by one thread.
class GramCounts {
 public:
  GramCounts() : counts_(kSlots) {}
  /// Counts each gram of a list of them.
  void add(std::string_view grams);
  [[nodiscard]] std::uint32_t of(std::string_view gram) const { return counts_[slot_of(gram)]; }
  [[nodiscard]] std::string bytes() const;
  /// False if they do not have the right length.
  bool set(std::string_view bytes);

 private:
  static constexpr std::size_t kSlots = 1 << 18;
  static std::size_t slot_of(std::string_view gram);
  std::vector<std::uint32_t> counts_;  // several grams share one
};

}  // namespace arborfs::search
