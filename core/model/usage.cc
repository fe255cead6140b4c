#include "core/model/usage.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/json/document.h"
#include "core/json/number.h"
#include "core/model/skim.h"

namespace arborfs {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// `sum += value` where the value is what JSON text means: null adds nothing.
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

// The usage object of an entry, empty when it has none.
std::string_view usage_of(EntryType type, std::string_view raw) {
  if (type == EntryType::model_usage) {
    return skim::member(raw, "usage");
  }
  if (type != EntryType::message || !(skim::contains(raw, "usage") || skim::contains(raw, "\\u"))) {
    return {};
  }
  const std::string_view message = skim::member(raw, "message");
  const std::string_view role = skim::member(message, "role");
  if (skim::is_string(role, "assistant")) {
    return skim::member(message, "usage");
  }
  if (skim::is_string(role, "toolResult") && skim::is_string(skim::member(message, "toolName"), "task")) {
    return skim::member(skim::member(message, "details"), "usage");
  }
  return {};
}

constexpr Usage kNothing{kMissing, kMissing, kMissing, kMissing, kMissing, 0, 0};  // the last two may be missing

// Where the member of that key, as it is spelled, is added; null for others.
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

using json::Places;

double addend_at(const Places& places, Places::Place value) {
  const char lead = places.lead(value);
  return lead == '"' || lead == '{' || lead == '[' ? kMissing : as_addend(places.scalar(value));
}

double total_of(const Places& places, Places::Place cost) {
  double total = kMissing;
  if (places.lead(cost) == '{') {
    for (Places::Cursor members(places, cost); !members.done(); members.step()) {
      if (skim::means(members.key(), "total")) {
        total = addend_at(places, members.value());
      }
    }
  }
  return places.lead(cost) == 'n' ? 0 : total;
}

}  // namespace

std::optional<Usage> find_usage(EntryType type, std::string_view raw) {
  const std::string_view json = usage_of(type, raw);
  if (!json.starts_with('{')) {
    return std::nullopt;
  }
  Usage usage = kNothing;
  for (skim::Cursor members(json); members.next();) {
    if (double* const sum = sum_of(usage, members.key())) {
      *sum = as_addend(members.value());
    } else if (members.key_is("cost")) {
      usage.cost = members.value() == "null" ? 0 : as_addend(skim::member(members.value(), "total"));
    }
  }
  return usage;
}

Usage read_usage(const Places& places, Places::Place at) {
  Usage usage = kNothing;
  for (Places::Cursor members(places, at); !members.done(); members.step()) {
    if (double* const sum = sum_of(usage, members.key())) {
      *sum = addend_at(places, members.value());
    } else if (skim::means(members.key(), "cost")) {
      usage.cost = total_of(places, members.value());
    }
  }
  return usage;
}

void UsageTotals::add(EntryType type, const Usage& usage) {
  if (type == EntryType::model_usage && flavour_ != Flavour::omp18) {
    return;
  }
  for (double Usage::*sum : {&Usage::input, &Usage::output, &Usage::cache_read, &Usage::cache_write,
                             &Usage::total_tokens, &Usage::premium_requests, &Usage::cost}) {
    sums_.*sum += usage.*sum;
  }
}

std::string UsageTotals::json() const {
  std::string out = "{";
  const auto field = [&out](std::string_view key, double value) {
    out.append(out.size() > 1 ? ",\"" : "\"").append(key).append("\":").append(json::number_text(value));
  };
  field("input", sums_.input);
  field("output", sums_.output);
  field("cacheRead", sums_.cache_read);
  field("cacheWrite", sums_.cache_write);
  if (flavour_ == Flavour::omp18) {
    field("totalTokens", sums_.total_tokens);
    field("orchestrationInput", 0);
    field("orchestrationOutput", 0);
    field("orchestrationCacheRead", 0);
  }
  field("premiumRequests", sums_.premium_requests);
  field("cost", sums_.cost);
  return out + "}";
}

}  // namespace arborfs
