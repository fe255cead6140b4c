// Tokens and cost of a whole session: the sum over all entries, on any branch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace arborfs {

/// What one entry adds to each sum; NaN for a number that it does not report.
struct Usage {
  double input = 0;
  double output = 0;
  double cache_read = 0;
  double cache_write = 0;
  double total_tokens = 0;
  double premium_requests = 0;
  double cost = 0;
  double reasoning = std::numeric_limits<double>::quiet_NaN();  // part of output
  /// 0: it counts in told(). Else one bit for each JavaScript sum that it counts in, of which a format needs several if
  /// the rest of a log decides what counts.
  std::uint8_t counts_in = 0;
};
/// One in which every number is NaN.
Usage untold_usage();

class UsageTotals {
 public:
  static constexpr std::size_t kSums = 3;
  void add(const Usage& usage);
  /// The sums of the reported numbers; NaN for a number that no entry reports.
  [[nodiscard]] const Usage& told() const { return told_; }
  /// One of the sums computed as JavaScript does: NaN, which is printed as null, if an entry lacks the number.
  [[nodiscard]] const Usage& sum(std::size_t which) const { return sums_.at(which); }

 private:
  Usage told_ = untold_usage();
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

/// UsageTotals::told() as a JSON object of the numbers that are reported.
std::string plain_usage_json(const UsageTotals& totals);

}  // namespace arborfs
