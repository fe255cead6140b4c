#include "core/views/first_user_text.h"

#include <algorithm>
#include <vector>

#include "core/log/record_scanner.h"
#include "core/model/tree.h"
#include "core/render/record_renderer.h"
#include "core/render/text.h"

namespace arborfs {

namespace {

constexpr std::size_t kWindowBytes = 16 * 1024;
constexpr std::uint64_t kLongestRead = 4 << 20;

/// Of the path to the leaf of another agent's log, which has to be read whole.
std::string first_user_text(const Format& format, const LogSource& log, std::uint64_t size, std::size_t columns) {
  LogIndex::Options options;
  options.reader = format.reader;
  const auto index = size <= kLongestRead ? LogIndex::build(log, options)
                                          : Result<std::unique_ptr<LogIndex>>(Errc::too_large, "the log is long");
  for (const Ordinal ordinal : index ? path_to(**index, (*index)->leaf()) : std::vector<Ordinal>()) {
    if ((*index)->name(ordinal) == "user") {
      const Entry& entry = (*index)->entry(ordinal);
      const auto raw = log.read(entry.offset, entry.length);
      return raw ? format.renderer->first_words(entry.type, *raw, columns) : "";
    }
  }
  return "";
}

}  // namespace

std::string first_user_text(const Session& session, std::size_t columns) {
  const auto log = session.store().open(session.place());
  const auto size = log ? (*log)->size() : Result<std::uint64_t>(log.error());
  if (!size) {
    return "";
  }
  if (session.format().reader != nullptr) {
    return first_user_text(session.format(), **log, *size, columns);
  }
  LogWindow window(**log, std::min(*size, kFirstUserTextBytes), nullptr, kWindowBytes);
  RecordScanner scanner(window, {}, has_lenient_boms(**log, *size));
  for (auto record = scanner.next(); record && *record != nullptr; record = scanner.next()) {
    const RecordFields& found = **record;
    if (found.entry_type() != EntryType::message || !found.role.is_string("user")) {
      continue;
    }
    const auto length = static_cast<std::size_t>(found.length);
    const auto text = window.view(found.offset, length);
    return text ? first_words(EntryType::message, text->substr(0, length), columns) : "";
  }
  return "";
}

}  // namespace arborfs
