// Pieces of JSON for entries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace arborfs::generate {

/// 2026-02-16T10:20:30.000Z.
std::string iso_time(std::int64_t milliseconds);

/// `"key":"` text `"`. The text must need no escapes.
void add_member(std::string& out, std::string_view key, std::string_view text);
void add_number(std::string& out, std::string_view key, std::uint64_t number);
/// An amount in millionths, as 0.001234.
std::string millionths(std::uint64_t amount);

/// The title slot of generation 18: exactly 256 bytes, newline included.
std::string title_slot(std::string_view title, std::int64_t now_ms);

/// Canonical base64.
std::string base64(std::string_view bytes);

}  // namespace arborfs::generate
