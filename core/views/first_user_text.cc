#include "core/views/first_user_text.h"

#include <optional>
#include <vector>

#include "core/log/log_reader.h"
#include "core/model/tree.h"
#include "core/render/record_renderer.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kLongestRead = 4 << 20;

using FoundEntry = LogReader::FoundEntry;

/// On the path to the leaf, for a log that must be read completely.
std::optional<FoundEntry> find_on_path(const LogReader& reader, const LogSource& log) {
  const auto size = log.size();
  if (!size || *size > kLongestRead) {
    return std::nullopt;
  }
  const auto index = reader.index(log, {});
  const Ordinal first = index ? first_user_message(**index) : kNoEntry;
  return first == kNoEntry ? std::nullopt : std::optional(LogReader::found_entry(**index, first));
}

}  // namespace

std::string first_user_text(const Session& session, std::size_t columns) {
  const auto log = session.store().open(session.place());
  if (!log) {
    return "";
  }
  const Format& format = session.format();
  const auto early = format.reader->find_first_user_message(**log);
  const bool needs_index = !early && early.error().code == Errc::unsupported;
  const auto found = early ? *early : needs_index ? find_on_path(*format.reader, **log) : std::nullopt;
  if (!found) {
    return "";
  }
  const auto raw = (*log)->read(found->offset, found->length);
  return raw ? format.renderer->first_words(found->type, *raw, columns) : "";
}

}  // namespace arborfs
