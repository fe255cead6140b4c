#include "core/views/page_words.h"

#include <set>

#include "core/base/clock.h"
#include "core/base/words.h"
#include "core/entry/usage.h"
#include "core/html/html.h"
#include "core/json/date.h"
#include "core/log/log_index.h"

namespace arborfs {
namespace {

std::string dollars(const stats::Row& row) {
  const std::string cost = stats::cost_words(row);
  return cost == "-" ? "" : (cost.starts_with('~') ? "~$" + cost.substr(1) : "$" + cost);
}

}  // namespace

std::string time_words(std::int64_t time_ms) {
  return time_ms == Entry::kNoTime ? "" : local_time(time_ms, "%Y-%m-%d %H:%M:%S");
}

std::string time_html(std::int64_t time_ms) {
  const std::string time = time_words(time_ms);
  return time.empty() ? "" : " <time datetime=\"" + json::iso_time(time_ms) + "\">" + time + "</time>";
}

std::string usage_words(const stats::Row& row) {
  const Usage& usage = row.usage;
  const std::string cost = dollars(row);
  return grouped(token_count(prompt_tokens(usage))) + " in · " + grouped(token_count(usage.output)) + " out" +
         (cost.empty() ? "" : " · " + cost);
}

std::string role_class(std::string_view role) {
  static const std::set<std::string_view> kShared = {"user", "assistant", "tool", "summary", "system"};
  return kShared.contains(role) ? std::string(role) : "other";
}

bool has_code(std::string_view html) {
  return html.find("<code class=\"language-") != std::string_view::npos;
}

}  // namespace arborfs
