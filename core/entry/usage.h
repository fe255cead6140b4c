// Tokens and cost of a whole session: the sum over all requests to models, on any branch. Agents write several records
// for one request, and copy records: a request counts once, with the largest value that any record tells of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

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
  double cache_write_1h = std::numeric_limits<double>::quiet_NaN();  // part of cache_write: what is kept for an hour
};
/// One in which every number is NaN.
Usage untold_usage();
/// Adds each number that `other` tells.
void add_usage(Usage& sums, const Usage& other);
/// Raises each number to that of `other` if that is larger, or if `usage` does not tell it.
void raise_usage(Usage& usage, const Usage& other);
/// True if it tells any number.
bool is_told(const Usage& usage);
/// Input, output, and tokens read from and written to the cache; an untold number counts as zero.
double tokens_told(const Usage& usage);
/// The number as a count; 0 for one that is not told, or is negative.
std::uint64_t token_count(double number);
/// Input, with the tokens read from and written to the cache; an untold number counts as zero.
double prompt_tokens(const Usage& usage);
/// What `to` has more than `from`; no number is less than zero, and one that only `to` tells is that of `to`.
Usage usage_growth(const Usage& from, const Usage& to);
/// True if it tells of tokens but of no cost.
bool lacks_cost(const Usage& usage);

/// What one record tells of a request to a model.
struct UsageReport {
  Usage usage = untold_usage();  // of the request so far; all untold if the record has only `sums`
  Usage sums = untold_usage();   // of the session up to the end of the request, from an agent that counts on
  /// Equal in records of the same request; 0 if no other record tells of it.
  std::uint64_t request = 0;
  /// A later record of the request may tell larger numbers. False: other records of it are copies of this one.
  bool may_grow = false;
  /// Of a request of the session from which this one was forked. It does not count.
  bool is_inherited = false;
};

class UsageTotals {
 public:
  static constexpr std::size_t kSums = 3;
  void add(const Usage& usage);
  /// The sums of the reported numbers; NaN for a number that no entry reports.
  [[nodiscard]] const Usage& told() const { return told_; }
  /// One of the sums computed as JavaScript does: NaN, which is printed as null, if an entry lacks the number.
  [[nodiscard]] const Usage& sum(std::size_t which) const { return sums_.at(which); }
  /// How many of the added usages are not in told().cost, although they tell of tokens.
  [[nodiscard]] std::uint64_t without_cost() const { return without_cost_; }
  /// Sets the cost of the whole session, which its entries do not record; it is at least that of the entries.
  void set_whole_cost(double cost);

 private:
  Usage told_ = untold_usage();
  std::array<Usage, kSums> sums_;
  std::uint64_t without_cost_ = 0;
};

/// The requests of one session. Not thread-safe.
class UsageLedger {
 public:
  struct Added {
    bool is_new = true;               // the first report of its request
    std::optional<std::size_t> kept;  // the place in amounts(), of a request that other reports may change
  };
  Added add(const UsageReport& report);
  /// The usage of each request that other reports may change, in the order of their first reports; all untold if it is
  /// inherited. If only sums are told, it is their growth since the next lower sums of the session.
  [[nodiscard]] std::vector<Usage> amounts() const;
  /// The sums over all requests.
  [[nodiscard]] UsageTotals totals() const;

  /// The part of the totals that no report changes any more, for a caller that adds to it itself: reports without
  /// `request`.
  [[nodiscard]] const UsageTotals& settled() const { return settled_; }
  void set_settled(const UsageTotals& settled) { settled_ = settled; }

 private:
  struct Request {
    Usage usage;
    bool is_inherited = false;
  };
  UsageTotals settled_;
  std::unordered_set<std::uint64_t> settled_requests_;         // in settled_, and may be copied
  std::vector<Request> requests_;                              // the others
  std::unordered_map<std::uint64_t, std::size_t> by_request_;  // places in requests_
  std::vector<std::pair<std::size_t, Usage>> sums_;            // of places in requests_
};

/// Writes a JSON object of numbers, member by member.
class UsageText {
 public:
  UsageText& add(std::string_view key, double value);
  [[nodiscard]] std::string text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

/// UsageTotals::told() as a JSON object of the numbers that are reported. If there is a cost, but not of every request,
/// it has `messagesWithoutCost` too.
std::string plain_usage_json(const UsageTotals& totals);

// Names of models in records. Pure; any thread.

/// False for "", and for words that agents write where no model answered: `<synthetic>` and other words in angle
/// brackets (claude/FORMAT.md F2), `unknown` (omp/FORMAT.md P1).
inline bool names_model(std::string_view name) {
  return !name.empty() && name != "unknown" && !(name.front() == '<' && name.back() == '>');
}

}  // namespace arborfs
