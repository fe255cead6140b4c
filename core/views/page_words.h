// What the entries of a page say beside their texts, as HTML: times, tokens and costs, roles. Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/views/stats.h"

namespace arborfs {

/// "2026-02-16 10:20:30" in local time; "" for Entry::kNoTime.
std::string time_words(std::int64_t time_ms);
/// The same as an element, with a space before it.
std::string time_html(std::int64_t time_ms);
/// "1,234 in · 56 out · $0.0123"
std::string usage_words(const stats::Row& row);
/// A role as a class: one that all agents share, which has a look of its own, else "other".
std::string role_class(std::string_view role);
/// True if HTML has code of a language that pages colour.
bool has_code(std::string_view html);

}  // namespace arborfs
