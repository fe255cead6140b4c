#include "core/formats/codex/thread_names.h"

#include <algorithm>
#include <utility>

#include "core/formats/codex/record.h"
#include "core/json/json_cursor.h"
#include "core/log/line_reader.h"
#include "core/log/log_file.h"

namespace arborfs::codex {
namespace {

constexpr std::uint64_t kMostRead = std::uint64_t{16} << 20U;
constexpr std::size_t kLongestName = 4096;

}  // namespace

/// If a thread has several lines, the last one counts. At most kMostRead bytes are read.
std::shared_ptr<const ThreadNames::Names> ThreadNames::current() const {
  const auto home = Dir::open_root(home_);
  const auto st = home ? home->stat(std::string(kFile)) : Result<FileStat>(home.error());
  const std::lock_guard lock(mutex_);
  if (!st || *st == read_at_) {
    names_ = st ? names_ : std::make_shared<Names>();
    read_at_ = st ? read_at_ : FileStat();
    return names_;
  }
  auto names = std::make_shared<Names>();
  const auto log = LogFile::open(*home, std::string(kFile));
  if (!log) {
    return names_;
  }
  LineReader lines(**log, std::min(kMostRead, st->size), nullptr);
  for (auto line = lines.next(); line && *line != nullptr; line = lines.next()) {
    const std::string_view text = (*line)->text;
    auto id = is_object(text) ? skim::string_value(skim::member(text, "id")) : std::nullopt;
    auto name = id ? skim::string_value(skim::member(text, "thread_name")) : std::nullopt;
    if (name && name->size() <= kLongestName) {
      (*names)[*std::move(id)] = *std::move(name);
    }
  }
  names_ = std::move(names);
  read_at_ = (*log)->opened();
  return names_;
}

}  // namespace arborfs::codex
