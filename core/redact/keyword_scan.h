// Finds all keywords in a text in one pass, in any case (Aho and Corasick's automaton). Immutable; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::redact {

class KeywordScan {
 public:
  /// Keywords are not empty; upper case counts as lower case.
  explicit KeywordScan(const std::vector<std::string>& keywords);

  /// Calls visit(index of the keyword, where it begins) for each place, in the order of their ends.
  template <class Visit>
  void each(std::string_view text, const Visit& visit) const {
    std::array<std::vector<Hit>, kLanes> hits;
    for (std::size_t begin = 0; begin < text.size();) {
      begin = scan(text, begin, hits);
      for (std::vector<Hit>& lane : hits) {
        for (const Hit& hit : lane) {
          for (const std::uint32_t keyword : found_[hit.state]) {
            visit(keyword, hit.end - length_[keyword]);
          }
        }
        lane.clear();
      }
    }
  }

 private:
  // A step of the automaton waits for the one before it, so that several parts of the text are scanned side by side.
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kMostInLane = 8192;
  static constexpr std::size_t kLeastInLane = 128;
  struct Hit {
    std::size_t end;
    std::uint32_t state;
  };
  /// Appends what each lane finds. Returns where the last one ended.
  std::size_t scan(std::string_view text, std::size_t begin, std::array<std::vector<Hit>, kLanes>& hits) const;
  [[nodiscard]] std::uint32_t step(std::uint32_t state, char c) const {
    return next_[(state & kRow) | class_[static_cast<unsigned char>(c)]];
  }
  /// The state at `at`, from the bytes before it.
  [[nodiscard]] std::uint32_t state_at(std::string_view text, std::size_t at) const;

  static constexpr std::uint32_t kFound = 1U << 31U;
  static constexpr std::uint32_t kRow = kFound - 1;

  std::array<std::uint8_t, 256> class_{};  // bytes that no keyword has are of class 0
  std::uint32_t classes_ = 1;              // a power of two
  std::vector<std::uint32_t> next_;  // for each state and class, the row of the next state; kFound if it ends some
  std::vector<std::vector<std::uint32_t>> found_;  // for each state, the keywords that end there
  std::vector<std::size_t> length_;
  std::size_t longest_ = 0;
};

}  // namespace arborfs::redact
