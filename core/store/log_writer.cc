#include "core/store/log_writer.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/os/processes.h"

namespace arborfs {

namespace {

constexpr std::size_t kCompared = 1 << 20;  // bytes at a time

Error torn() {
  return {Errc::io, "the written part could not be cut off again; it shows under damage/"};
}

}  // namespace

// Programs append under the lock, which this process holds: only another probe may have the log open. A program that
// reads /proc may hold a closed descriptor open until it is scheduled again.
bool LogWriter::is_open_elsewhere() const {
  return is_open_for_writing(reader_, kLongestWrite);
}

Result<UniqueFd> LogWriter::open(For what) {
  return what == For::append ? disk_.open_append(*folder_, name_) : disk_.open_update(*folder_, name_);
}

Result<void> LogWriter::put_in_place(TempFile& draft) {
  return publish_closed(draft, *folder_, name_, Disk::Existing::replace);
}

Result<LogVersion> LogWriter::version() const {
  ASSIGN_OR_RETURN(const auto st, reader_.stat());
  const std::size_t size = std::min<std::uint64_t>(st.size, LogVersion::kTail);
  ASSIGN_OR_RETURN(auto tail, reader_.read(st.size - size, size));
  return LogVersion{st, std::move(tail)};
}

Result<UniqueFd> LogWriter::open_same(For what) {
  auto fd = open(what);
  if (!fd) {
    const Error& why = fd.error();
    const bool is_denied = why.code == Errc::permission || why.code == Errc::not_permitted;
    return is_denied ? Error{why.code, why.message + "; look at the log's mode and attributes (ls -l, lsattr)"} : why;
  }
  File file = File::of(std::move(*fd));
  ASSIGN_OR_RETURN(const auto st, file.stat());
  if (!st.same_file(stat_) || st.size != stat_.size + appended_bytes_) {
    return log_changed();
  }
  return std::move(file).take();
}

Result<void> LogWriter::append(std::string_view lines) {
  ASSIGN_OR_RETURN(auto fd, open_same(For::append));
  const std::uint64_t start = stat_.size + appended_bytes_;
  const bool is_kept = appended_.size() == appended_bytes_ && appended_bytes_ + lines.size() <= kUndone;
  appended_.reserve(is_kept ? appended_.size() + lines.size()
                            : 0);  // so that no allocation fails once they are in the log
  changed_bytes_ = true;
  std::size_t done = 0;
  while (done < lines.size()) {
    auto written = disk_.write(fd.get(), lines.substr(done));
    if (!written || *written == 0) {
      const Error failure =
          written
              ? Error{Errc::no_space, "cannot write: the disk accepted no data; free some space on it and try again"}
              : written.error();
      auto cut = cut_back(fd.get(), start, lines.substr(0, done));
      return cut ? failure : Error{failure.code, failure.message + "; " + cut.error().message};
    }
    done += *written;
  }
  appended_bytes_ += lines.size();
  appended_ += is_kept ? lines : std::string_view();
  return {};
}

Result<void> LogWriter::try_append() {
  RETURN_IF_ERROR(open_same(For::append));
  return {};
}

/// An immutable or append-only log cannot be replaced under its name (chattr(1)).
Result<void> LogWriter::try_replace() {
  int flags = 0;
  const bool is_known = ::ioctl(reader_.fd(), FS_IOC_GETFLAGS, &flags) == 0;
  if (is_known && (flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) != 0) {
    return {Errc::not_permitted, "the log must be rewritten, but its attributes forbid that; see lsattr(1)"};
  }
  return {};
}

/// Cuts off only bytes that are certainly ours, and only if nothing follows them.
Result<void> LogWriter::cut_back(int fd, std::uint64_t start, std::string_view written) {
  if (written.empty()) {
    return {};
  }
  const auto st = reader_.stat();
  if (!st || st->size != start + written.size()) {
    return torn();
  }
  for (std::size_t at = 0; at < written.size(); at += kCompared) {
    const std::string_view piece = written.substr(at, kCompared);
    const auto there = reader_.read(start + at, piece.size());
    if (!there || *there != piece) {
      return torn();
    }
  }
  return disk_.truncate(fd, start) ? Result<void>() : torn();
}

Result<bool> LogWriter::cut_part(std::uint64_t start, const File& whole, std::uint64_t at) {
  ASSIGN_OR_RETURN(const auto intended, whole.stat());
  ASSIGN_OR_RETURN(const auto there, reader_.stat());
  if (there.size <= start || intended.size <= at || there.size - start >= intended.size - at) {
    return false;
  }
  const std::uint64_t length = there.size - start;
  for (std::uint64_t done = 0; done < length; done += kCompared) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kCompared, length - done));
    ASSIGN_OR_RETURN(const auto found, reader_.read(start + done, size));
    ASSIGN_OR_RETURN(const auto meant, whole.read(at + done, size));
    if (found.size() != size || found != meant) {
      return false;
    }
  }
  auto fd = open_same(For::append);
  const auto cut = fd ? disk_.truncate(fd->get(), start) : Result<void>(fd.error());
  changed_bytes_ = true;
  RETURN_IF_ERROR(cut);
  return true;
}

Result<void> LogWriter::undo_append() {
  ASSIGN_OR_RETURN(auto fd, open_same(For::append));
  if (appended_.size() != appended_bytes_) {
    return torn();
  }
  auto cut = cut_back(fd.get(), stat_.size, appended_);
  if (cut) {
    appended_.clear();
    appended_bytes_ = 0;
  }
  return cut;
}

Result<void> LogWriter::overwrite(std::uint64_t offset, std::string_view bytes) {
  ASSIGN_OR_RETURN(auto fd, open_same(For::update));
  ASSIGN_OR_RETURN(const auto before, reader_.read(offset, bytes.size()));
  changed_bytes_ = true;
  const auto written = disk_.write_at(fd.get(), bytes, offset);
  if (written && *written == bytes.size()) {
    return {};
  }
  static_cast<void>(disk_.write_at(fd.get(), before, offset));
  RETURN_IF_ERROR(written);
  return Error{Errc::no_space,
               "cannot write: the disk accepted only a part of the data; free some space on it and try again"};
}

Result<void> LogWriter::verify(const LogVersion& before) const {
  ASSIGN_OR_RETURN(const auto now, version());
  const auto named = stat_name();
  if (!named || !named->same_file(now.stat) || !(now.stat == before.stat) || now.tail != before.tail) {
    return log_changed();
  }
  return {};
}

Result<void> LogWriter::replace(TempFile& draft, const LogVersion& before) {
  RETURN_IF_ERROR(verify(before));
  auto done = put_in_place(draft);
  changed_names_ = changed_names_ || done;
  return done;
}

Result<void> LogWriter::sync() {
  if (changed_bytes_) {
    RETURN_IF_ERROR(disk_.sync(reader_.fd()));
  }
  return changed_names_ && folder_ != nullptr ? disk_.sync_folder(*folder_) : Result<void>();
}

Result<std::unique_ptr<LogWriter>> open_lines(Disk& disk, const std::shared_ptr<const Dir>& folder,
                                              const std::string& name) {
  constexpr mode_t kPrivate = 0600;
  bool is_new = false;
  ASSIGN_OR_RETURN(auto file, open_or_create(disk, *folder, name, kPrivate, is_new));
  ASSIGN_OR_RETURN(const auto stat, file.stat());
  return std::make_unique<LogWriter>(disk, folder, name, nullptr, std::move(file), stat, is_new);
}

Result<void> append_line(LogWriter& lines, std::string_view line) {
  ASSIGN_OR_RETURN(const auto end, lines.version());
  return lines.append(end.lead() + std::string(line));
}

Result<void> publish_closed(TempFile& draft, const Dir& to, const std::string& name, Disk::Existing existing) {
  RETURN_IF_ERROR(draft.take());
  return draft.publish(to, name, existing);
}

}  // namespace arborfs
