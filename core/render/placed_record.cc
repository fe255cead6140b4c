#include "core/render/placed_record.h"

#include <functional>

#include "core/json/json_cursor.h"
#include "core/json/parse_in_place.h"
#include "core/json/utf8.h"

namespace arborfs {

PlacedRecord::PlacedRecord(std::string_view raw) : raw_(raw) {
  if (!json::is_valid_utf8(raw)) {
    is_json_ = json::parse(raw, value_);
    return;
  }
  copy_ = raw;
  is_json_ = json::parse_in_place(copy_, value_);
}

// A string that is unescaped in place keeps its beginning.
std::string_view PlacedRecord::literal_of(const json::Value& string) const {
  const char* const text = string.IsString() ? string.GetString() : nullptr;
  const char* const first = copy_.data();
  const std::less_equal<const char*> is_at_most;
  if (text == nullptr || !is_at_most(first + 1, text) || !is_at_most(text, first + copy_.size())) {
    return {};
  }
  const std::size_t begin = static_cast<std::size_t>(text - first) - 1;
  const std::size_t end = raw_[begin] == '"' ? skim::value_end(raw_, begin) : std::string_view::npos;
  return end == std::string_view::npos ? std::string_view() : raw_.substr(begin, end - begin);
}

}  // namespace arborfs
