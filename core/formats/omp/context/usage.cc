#include "core/formats/omp/context/usage.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/json/json_cursor.h"

namespace arborfs {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// The number that JavaScript's `sum += value` adds for a JSON value: null and false count as 0, true as 1. NaN for an
// absent value, a string or a container.
template <class Node>
double as_addend(const Node& value) {
  switch (value.kind()) {
    case NodeKind::null:
      return 0;
    case NodeKind::boolean:
      return value.boolean() ? 1 : 0;
    case NodeKind::number:
      return value.number();
    default:
      return kMissing;
  }
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

// The sum for a member with that key; null for other members.
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
      std::find_if(kFields.begin(), kFields.end(), [key](const Field& field) { return key == field.key; });
  return found == kFields.end() ? nullptr : &(usage.*found->sum);
}

template <class Node>
bool is_text(const Node& value, std::string_view text) {
  return value.kind() == NodeKind::string && value.text() == text;
}

// The usage object of an entry; missing if it has none. Sets `is_task` for that of a sub-agent, as omp's task tool
// reports it.
template <class Node>
Node usage_of(EntryType type, const Node& entry, bool& is_task) {
  if (type != EntryType::message) {
    return entry.member("usage");
  }
  const Node message = entry.member("message");
  const Node role = message.member("role");
  if (is_text(role, "assistant")) {
    return message.member("usage");
  }
  is_task = is_text(role, "toolResult") && is_text(message.member("toolName"), "task");
  return is_task ? message.member("details").member("usage") : Node();
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

template <class Node>
std::optional<Usage> find_in(EntryType type, const Node& entry) {
  bool is_task = false;
  const Node object = may_have_usage(type) ? usage_of(type, entry, is_task) : Node();
  if (object.kind() != NodeKind::object) {
    return std::nullopt;
  }
  Usage usage = kNothing;
  usage.counts_in = counts_in(type, is_task);
  std::string_view key;
  for (typename Node::Cursor members(object); !members.done();) {
    const Node value = members.next(key);
    if (double* const sum = sum_of(usage, key)) {
      *sum = as_addend(value);
    } else if (key == "cost") {
      usage.cost = value.kind() == NodeKind::null ? 0 : as_addend(value.member("total"));
    }
  }
  return usage;
}

}  // namespace

std::optional<Usage> find_usage(EntryType type, const FastNode& entry) {
  return find_in(type, entry);
}

std::optional<Usage> find_usage(EntryType type, const SlowNode& entry) {
  return find_in(type, entry);
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
