#include "core/store/log_change.h"

#include <algorithm>

namespace arborfs {

namespace {

Error replaced() {
  return {Errc::stale, "another program wrote to the log meanwhile; try again"};
}

Result<std::string> read_exactly(const File& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  auto got = file.read_at(offset, bytes);
  if (!got) {
    return got.error();
  }
  bytes.resize(*got);
  return bytes;
}

}  // namespace

Result<LogVersion> LogChange::version() const {
  const auto st = reader_.stat();
  if (!st) {
    return st.error();
  }
  const std::size_t size = std::min<std::uint64_t>(st->size, LogVersion::kTail);
  auto tail = read_exactly(reader_, st->size - size, size);
  if (!tail) {
    return tail.error();
  }
  return LogVersion{*st, std::move(*tail)};
}

Result<UniqueFd> LogChange::open_same(For what) {
  auto fd = open(what);
  if (!fd) {
    return fd;
  }
  File file = File::of(std::move(*fd));
  const auto st = file.stat();
  if (!st) {
    return st.error();
  }
  if (!st->same_file(stat_) || st->size != stat_.size + appended_.size()) {
    return replaced();
  }
  return std::move(file).take();
}

Result<void> LogChange::append(std::string_view lines) {
  auto fd = open_same(For::append);
  if (!fd) {
    return fd.error();
  }
  const std::uint64_t start = stat_.size + appended_.size();
  appended_.reserve(appended_.size() + lines.size());  // once they are in the log they must be known to be
  changed_bytes_ = true;
  std::size_t done = 0;
  while (done < lines.size()) {
    auto written = disk_.write(fd->get(), lines.substr(done));
    if (!written || *written == 0) {
      const Error failure = written ? Error{Errc::no_space, "write: the disk took nothing"} : written.error();
      auto cut = cut_back(fd->get(), start, lines.substr(0, done));
      return cut ? failure : Error{failure.code, failure.message + "; " + cut.error().message};
    }
    done += *written;
  }
  appended_ += lines;
  return {};
}

/// Only what is certainly ours, and only while nothing stands behind it.
Result<void> LogChange::cut_back(int fd, std::uint64_t start, std::string_view written) {
  if (written.empty()) {
    return {};
  }
  const Error torn{Errc::io, "the part that was written could not be cut off again; it shows under damage/"};
  const auto st = reader_.stat();
  if (!st || st->size != start + written.size()) {
    return torn;
  }
  const auto there = read_exactly(reader_, start, written.size());
  if (!there || *there != written) {
    return torn;
  }
  return disk_.truncate(fd, start) ? Result<void>() : torn;
}

Result<void> LogChange::undo_append() {
  auto fd = open_same(For::append);
  if (!fd) {
    return fd.error();
  }
  auto cut = cut_back(fd->get(), stat_.size, appended_);
  if (cut) {
    appended_.clear();
  }
  return cut;
}

Result<void> LogChange::overwrite(std::uint64_t offset, std::string_view bytes) {
  auto fd = open_same(For::update);
  if (!fd) {
    return fd.error();
  }
  const auto before = read_exactly(reader_, offset, bytes.size());
  if (!before) {
    return before.error();
  }
  changed_bytes_ = true;
  auto written = disk_.write_at(fd->get(), bytes, offset);
  if (written && *written == bytes.size()) {
    return {};
  }
  static_cast<void>(disk_.write_at(fd->get(), *before, offset));
  return written ? Error{Errc::no_space, "write: the disk took a part only"} : written.error();
}

Result<void> LogChange::verify(const LogVersion& before) const {
  const auto now = version();
  if (!now) {
    return now.error();
  }
  const auto named = stat_name();
  if (!named || !named->same_file(now->stat) || !(now->stat == before.stat) || now->tail != before.tail) {
    return replaced();
  }
  return {};
}

Result<void> LogChange::replace(LogDraft& draft, const LogVersion& before) {
  if (auto same = verify(before); !same) {
    return same;
  }
  auto done = put_in_place(draft);
  changed_names_ = changed_names_ || done;
  return done;
}

Result<void> LogChange::sync() {
  if (changed_bytes_) {
    if (auto done = disk_.sync(reader_.fd()); !done) {
      return done;
    }
  }
  return changed_names_ ? sync_names() : Result<void>();
}

}  // namespace arborfs
