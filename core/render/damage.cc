// Describes the bytes of a log that are not entries.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/render/views.h"

namespace arborfs {
namespace {

constexpr std::size_t kSearched = std::size_t{1} << 20U;
constexpr std::size_t kPiece = 4096;
constexpr std::size_t kTimes = 16;  // scans per byte on average at most, failed attempts included

/// Scans values from any byte on, within a budget that makes the whole search linear.
class Search {
 public:
  explicit Search(std::string_view text) : text_(text), budget_(kTimes * std::max(text.size(), kSearched)) {}
  [[nodiscard]] bool exhausted() const { return budget_ == 0; }

  /// The end of the value that starts at `begin`, or 0.
  std::size_t end_of_value(std::size_t begin) {
    json::ValueScanner scanner;
    scanner.reset();
    for (std::size_t at = begin; at < text_.size() && budget_ > 0;) {
      const std::string_view piece = text_.substr(at, kPiece);
      std::size_t used = 0;
      const auto verdict = scanner.feed(piece, used);
      budget_ -= std::min(budget_, piece.size());
      if (verdict != json::ValueScanner::Verdict::need_more) {
        return verdict == json::ValueScanner::Verdict::value ? at + used : 0;
      }
      at += piece.size();
    }
    return 0;
  }

 private:
  std::string_view text_;
  std::size_t budget_;
};

/// Content blocks have a type and an id too, but they follow a bracket, a comma or a colon.
bool may_be_nested(std::string_view text, std::size_t begin) {
  const std::size_t before = begin == 0 ? begin : text.find_last_not_of(" \t\r\n", begin - 1);
  return begin != 0 && before != std::string_view::npos &&
         std::string_view("[,:").find(text[before]) != std::string_view::npos;
}

std::string entry_id(std::string_view value, bool nested) {
  if (!skim::string_value(skim::member(value, "type"))) {
    return "";
  }
  if (nested && skim::member(value, "parentId").empty() && skim::member(value, "timestamp").empty()) {
    return "";
  }
  return skim::string_value(skim::member(value, "id")).value_or("");
}

}  // namespace

std::string damage_name(const Damage& damage) {
  std::array<char, 24> digits{};
  std::snprintf(digits.data(), digits.size(), "%012llu", static_cast<unsigned long long>(damage.offset));
  return std::string(digits.data()) + "-" + std::string(damage_word(damage.kind));
}

std::vector<WholeRecord> find_whole_records(std::string_view text) {
  std::vector<WholeRecord> found;
  Search search(text);
  std::size_t at = text.find('{');
  while (at != std::string_view::npos && !search.exhausted()) {
    const std::size_t end = search.end_of_value(at);
    std::string id = end == 0 ? std::string() : entry_id(text.substr(at, end - at), may_be_nested(text, at));
    const std::size_t next = id.empty() && end == 0 ? at + 1 : end;
    if (!id.empty()) {
      found.push_back({at, end, std::move(id)});
    }
    at = text.find('{', next);
  }
  return found;
}

std::vector<std::string> whole_records(std::string_view damaged_bytes) {
  std::vector<std::string> ids;
  for (auto& record : find_whole_records(damaged_bytes.substr(0, kSearched))) {
    ids.push_back(std::move(record.id));
  }
  return ids;
}

}  // namespace arborfs
