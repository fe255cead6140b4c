// Tokens and cost of a whole session: the sum over all entries, on any branch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace arborfs {

/// What one entry adds to each sum; NaN if the entry lacks the number that JavaScript would add.
struct Usage {
  double input = 0;
  double output = 0;
  double cache_read = 0;
  double cache_write = 0;
  double total_tokens = 0;
  double premium_requests = 0;
  double cost = 0;
  /// The sums that it counts in, one bit each. A format needs more than one if the rest of a log decides what counts.
  std::uint8_t counts_in = 1;
};

/// Sums computed the way JavaScript does: a sum may be NaN, which is printed as null.
class UsageTotals {
 public:
  static constexpr std::size_t kSums = 3;
  void add(const Usage& usage);
  /// True if no entry told its usage.
  [[nodiscard]] bool is_empty() const { return is_empty_; }
  [[nodiscard]] const Usage& sum(std::size_t which = 0) const { return sums_.at(which); }

 private:
  bool is_empty_ = true;
  std::array<Usage, kSums> sums_;
};

/// Writes a JSON object of numbers, member by member.
class UsageText {
 public:
  UsageText& add(std::string_view key, double value);
  [[nodiscard]] std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

/// The first sum as a JSON object with the keys that most agents have; `{}` if it is empty.
std::string plain_usage_json(const UsageTotals& totals);

}  // namespace arborfs
