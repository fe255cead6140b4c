#include "core/formats/omp/context/usage.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/number.h"

namespace arborfs {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// The number that JavaScript's `sum += value` adds for a JSON value: null and false count as 0, true as 1. NaN for an
// absent value, a string or a container.
double as_addend(std::string_view literal) {
  if (literal == "null" || literal == "false") {
    return 0;
  }
  if (literal == "true") {
    return 1;
  }
  const bool is_number = !literal.empty() && (literal[0] == '-' || (literal[0] >= '0' && literal[0] <= '9'));
  return is_number ? json::number_value(literal) : kMissing;
}

// The last two numbers are optional.
constexpr Usage kNothing{kMissing, kMissing, kMissing, kMissing, kMissing, 0, 0, kMissing, 0};

constexpr std::uint8_t sum_of(Dialect dialect) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(dialect));
}
constexpr std::uint8_t kOfOmp = sum_of(Dialect::omp13) | sum_of(Dialect::omp18);
constexpr std::uint8_t kOfAll = kOfOmp | sum_of(Dialect::pi);
static_assert(static_cast<std::size_t>(Dialect::pi) < UsageTotals::kSums);

/// The dialects that count the usage of such an entry, since a log may show its dialect only at its end.
std::uint8_t counts_in(EntryType type, bool is_task) {
  switch (type) {
    case EntryType::model_usage:
      return sum_of(Dialect::omp18);
    case EntryType::usage:
    case EntryType::compaction:
    case EntryType::branch_summary:
      return sum_of(Dialect::pi);
    default:
      return is_task ? kOfOmp : kOfAll;
  }
}

// The sum for a member with the raw key `key`; null for other members.
struct Field {
  std::string_view key;
  double Usage::*sum;
};
double* sum_of(Usage& usage, std::string_view key) {
  constexpr std::array kFields{Field{"input", &Usage::input},
                               Field{"output", &Usage::output},
                               Field{"cacheRead", &Usage::cache_read},
                               Field{"cacheWrite", &Usage::cache_write},
                               Field{"totalTokens", &Usage::total_tokens},
                               Field{"premiumRequests", &Usage::premium_requests}};
  const auto* const found =
      std::find_if(kFields.begin(), kFields.end(), [key](const Field& field) { return skim::means(key, field.key); });
  return found == kFields.end() ? nullptr : &(usage.*found->sum);
}

// The usage object of an entry; "" if it has none. Sets `is_task` for that of a sub-agent, as omp's task tool reports
// it.
std::string_view usage_of(EntryType type, std::string_view entry, bool& is_task) {
  if (type != EntryType::message) {
    return skim::member(entry, "usage");
  }
  const std::string_view message = skim::member(entry, "message");
  const std::string_view role = skim::member(message, "role");
  if (skim::is_string(role, "assistant")) {
    return skim::member(message, "usage");
  }
  is_task = skim::is_string(role, "toolResult") && skim::is_string(skim::member(message, "toolName"), "task");
  return is_task ? skim::member(skim::member(message, "details"), "usage") : std::string_view();
}

bool may_have_usage(EntryType type) {
  switch (type) {
    case EntryType::message:
    case EntryType::model_usage:
    case EntryType::usage:  // this one and the next two of pi only (pi/FORMAT.md C10)
    case EntryType::compaction:
    case EntryType::branch_summary:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<Usage> find_usage(EntryType type, std::string_view raw) {
  const bool is_worth_it = type == EntryType::model_usage || skim::contains(raw, "usage") || skim::contains(raw, "\\u");
  bool is_task = false;
  const auto object = may_have_usage(type) && is_worth_it ? usage_of(type, raw, is_task) : std::string_view();
  if (!object.starts_with('{')) {
    return std::nullopt;
  }
  Usage usage = kNothing;
  usage.counts_in = counts_in(type, is_task);
  for (skim::Cursor member(object); member.next();) {
    const std::string_view value = member.value();
    if (double* const sum = sum_of(usage, member.key())) {
      *sum = as_addend(value);
    } else if (skim::means(member.key(), "cost")) {
      usage.cost = value == "null" ? 0 : as_addend(skim::member(value, "total"));
    }
  }
  return usage;
}

std::string model_of(EntryType type, std::string_view raw) {
  const std::string_view owner = type == EntryType::message ? skim::member(raw, "message") : raw;
  return skim::string_value(skim::member(owner, "model")).value_or("");
}

std::string usage_json(const UsageTotals& totals, Dialect dialect) {
  const Usage& sum = totals.sum(static_cast<std::size_t>(dialect));
  UsageText text;
  text.add("input", sum.input).add("output", sum.output);
  text.add("cacheRead", sum.cache_read).add("cacheWrite", sum.cache_write);
  if (dialect != Dialect::omp13) {
    text.add("totalTokens", sum.total_tokens);
  }
  if (dialect == Dialect::omp18) {
    text.add("orchestrationInput", 0).add("orchestrationOutput", 0).add("orchestrationCacheRead", 0);
  }
  if (dialect != Dialect::pi) {
    text.add("premiumRequests", sum.premium_requests);
  }
  return text.add("cost", sum.cost).text();
}

}  // namespace arborfs
