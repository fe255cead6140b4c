#include "core/formats/codex/rollout_document.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/base/stripped.h"
#include "core/formats/codex/record.h"
#include "core/json/json_cursor.h"
#include "core/json/places.h"
#include "core/log/line_reader.h"

namespace arborfs::codex {
Result<bool> is_document(const LogSource& file) {
  constexpr std::uint64_t kEnough = 64;
  ASSIGN_OR_RETURN(const auto size, file.size());
  ASSIGN_OR_RETURN(const auto start, file.read(0, std::min(size, kEnough)));
  constexpr std::string_view kWhite = " \t\r\n";
  const std::size_t brace = start.find_first_not_of(kWhite);
  if (brace == std::string::npos || start[brace] != '{') {
    return false;
  }
  const std::size_t key = start.find_first_not_of(kWhite, brace + 1);
  return key != std::string::npos && start.find('\n', brace) < key && start.compare(key, 9, "\"session\"") == 0;
}

Result<std::optional<RolloutDocument>> read_document(const LogSource& file, std::uint64_t length) {
  if (length > LineReader::kLongestLine) {
    return std::optional<RolloutDocument>();
  }
  RolloutDocument document;
  ASSIGN_OR_RETURN(document.text, file.read(0, length));
  const std::string_view object = stripped(document.text);
  const std::string_view items = is_object(object) ? skim::member(object, "items") : std::string_view();
  if (!items.starts_with('[')) {
    return std::optional<RolloutDocument>();
  }
  for (skim::Cursor cursor(items); cursor.next();) {
    document.items.push_back({static_cast<std::uint64_t>(cursor.value().data() - document.text.data()),
                              static_cast<std::uint64_t>(cursor.value().size())});
  }
  document.text.append(json::Places::kPadding, '\0');
  return std::optional(std::move(document));
}

std::string session_in(std::string_view start) {
  return std::string(skim::member(stripped(start), "session"));
}

}  // namespace arborfs::codex
