// JavaScriptCore's Array.prototype.sort, for comparators that are not an order (omp/FORMAT.md C5): where NaN ends up
// depends on which elements the algorithm compares. Powersort (Munro and Wild, "Nearly-Optimal Mergesorts", 2018) over
// ascending runs; a run of 8 elements or fewer is first extended to 64 elements by binary insertion.
#include <algorithm>
#include <bit>

#include "core/entry/tree.h"

namespace arborfs {
namespace {

constexpr std::size_t kShort = 8;
constexpr std::size_t kForcedRun = 64;

struct Child {
  std::int64_t time;
  Ordinal ordinal;
};
// a - b < 0, which is always false if a time is NaN.
bool is_less(const Child& a, const Child& b) {
  return a.time != Entry::kNoTime && b.time != Entry::kNoTime && a.time < b.time;
}

struct Run {
  std::size_t begin;
  std::size_t last;
};

class Powersort {
 public:
  explicit Powersort(std::vector<Child>& items) : items_(items), merged_(items.size()) {}
  void sort();

 private:
  void insert_from(Run run, std::size_t sorted_last);
  void extend(Run& run) const;
  Run take_run(std::size_t begin);
  [[nodiscard]] int power_between(const Run& left, const Run& right) const;
  void merge_top_into(Run& right);

  struct Pending {
    Run run;
    int power;
  };
  std::vector<Child>& items_;
  std::vector<Child> merged_;
  std::vector<Pending> pending_;
};

// Inserts the run's elements after `sorted_last` by binary insertion.
void Powersort::insert_from(Run run, std::size_t sorted_last) {
  for (std::size_t i = sorted_last + 1; i <= run.last; ++i) {
    std::size_t place = run.begin;
    for (std::size_t right = i; place < right;) {
      const std::size_t middle = place + (right - place) / 2;
      is_less(items_[i], items_[middle]) ? right = middle : place = middle + 1;
    }
    const auto at = items_.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(items_.begin() + static_cast<std::ptrdiff_t>(place), at, at + 1);
  }
}

void Powersort::extend(Run& run) const {
  while (run.last + 1 < items_.size() && !is_less(items_[run.last + 1], items_[run.last])) {
    ++run.last;
  }
}

Run Powersort::take_run(std::size_t begin) {
  Run run{begin, begin};
  extend(run);
  if (run.last - run.begin < kShort) {
    const std::size_t sorted_last = run.last;
    run.last = begin + std::min(kForcedRun, items_.size() - begin) - 1;
    insert_from(run, sorted_last);
    extend(run);
  }
  return run;
}

// The depth, in a perfectly balanced tree of merges, of the node between two neighbouring runs.
int Powersort::power_between(const Run& left, const Run& right) const {
  const auto scaled_middle = [this](std::size_t begin, std::size_t end) {
    std::uint64_t doubled = begin + end;  // below 2n
    std::uint64_t bits = 0;
    for (int i = 0; i < 63; ++i) {
      bits = (bits << 1U) | (doubled >= items_.size() ? 1U : 0U);
      doubled = (doubled >= items_.size() ? doubled - items_.size() : doubled) * 2;
    }
    return bits;
  };
  const std::uint64_t differing = scaled_middle(left.begin, right.begin) ^ scaled_middle(right.begin, right.last + 1);
  return std::countl_zero(differing);
}

void Powersort::merge_top_into(Run& right) {
  const Run left = pending_.back().run;
  pending_.pop_back();
  std::size_t from_left = left.begin;
  std::size_t from_right = right.begin;
  for (std::size_t out = left.begin; out <= right.last; ++out) {
    const bool take_right =
        from_right <= right.last && (from_left == right.begin || is_less(items_[from_right], items_[from_left]));
    merged_[out] = items_[take_right ? from_right++ : from_left++];
  }
  const auto begin = merged_.begin() + static_cast<std::ptrdiff_t>(left.begin);
  const auto end = merged_.begin() + static_cast<std::ptrdiff_t>(right.last + 1);
  std::copy(begin, end, items_.begin() + static_cast<std::ptrdiff_t>(left.begin));
  right.begin = left.begin;
}

void Powersort::sort() {
  if (items_.size() < kShort) {
    insert_from({0, items_.size() - 1}, 0);
    return;
  }
  Run current = take_run(0);
  while (current.last + 1 < items_.size()) {
    const Run next = take_run(current.last + 1);
    const int power = power_between(current, next);
    while (!pending_.empty() && pending_.back().power > power) {
      merge_top_into(current);
    }
    pending_.push_back({current, power});
    current = next;
  }
  while (!pending_.empty()) {
    merge_top_into(current);
  }
}

}  // namespace

namespace {

template <class TimeOf>
void sort_by(std::vector<Ordinal>& children, TimeOf time_of) {
  if (children.size() < 2) {
    return;
  }
  std::vector<Child> items;
  items.reserve(children.size());
  for (const Ordinal ordinal : children) {
    items.push_back({time_of(ordinal), ordinal});
  }
  const bool is_sorted = std::adjacent_find(items.begin(), items.end(), [](const Child& a, const Child& b) {
                           return is_less(b, a) || a.time == Entry::kNoTime || b.time == Entry::kNoTime;
                         }) == items.end();
  if (is_sorted) {
    return;
  }
  Powersort(items).sort();
  std::transform(items.begin(), items.end(), children.begin(), [](const Child& child) { return child.ordinal; });
}

}  // namespace

void sort_like_agents(std::vector<Ordinal>& children, const LogIndex& index) {
  sort_by(children, [&index](Ordinal ordinal) { return index.entry(ordinal).timestamp_ms; });
}

void sort_like_agents(std::vector<Ordinal>& children, const std::vector<std::int64_t>& times) {
  sort_by(children, [&times](Ordinal ordinal) { return times[ordinal]; });
}

}  // namespace arborfs
