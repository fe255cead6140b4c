#include "core/formats/opal/write/new_file.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opal/write/new_lines.h"
#include "core/os/replace_file.h"
#include "core/os/temporary_name.h"

namespace arborfs::opal {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;
constexpr int kTries = 4;

/// False if another process mistook the file for a leftover before it was locked, and has removed it or is about to.
bool lock(int fd) {
  struct stat st {};
  return (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && ::fstat(fd, &st) == 0 && st.st_nlink > 0;
}

Error changed_meanwhile() {
  return {Errc::stale, "another program wrote to the log meanwhile; try again"};
}

}  // namespace

Result<std::unique_ptr<NewFile>> NewFile::create(Disk& disk, const Dir& folder, mode_t mode) {
  for (int i = 0; i < kTries; ++i) {
    ASSIGN_OR_RETURN(const auto unique, new_message_id());
    std::string name = temporary_name(unique);
    ASSIGN_OR_RETURN(auto fd, disk.create(folder, name, mode));
    const bool is_locked = lock(fd.get());
    std::unique_ptr<NewFile> file(new NewFile(disk, folder, std::move(name), std::move(fd)));
    if (is_locked) {
      return file;
    }
  }
  return Error{Errc::busy, "other programs remove the temporary files of arborfs; try again"};
}

NewFile::~NewFile() {
  if (!is_published_) {
    static_cast<void>(disk_.remove(folder_, name_));
  }
}

Result<void> NewFile::flush() {
  auto done = buffer_.empty() ? Result<void>() : write_all(disk_, fd_.get(), buffer_);
  buffer_.clear();
  return done;
}

Result<void> NewFile::write(std::string_view bytes) {
  buffer_ += bytes;
  last_ = bytes.empty() ? last_ : bytes.back();
  return buffer_.size() < kPiece ? Result<void>() : flush();
}

Result<void> NewFile::copy(const LogSource& log, std::uint64_t begin, std::uint64_t end) {
  while (begin < end) {
    ASSIGN_OR_RETURN(const auto bytes, log.read(begin, std::min<std::uint64_t>(kPiece, end - begin)));
    if (bytes.empty()) {
      return Error{Errc::stale, "another program made the log shorter; try again"};
    }
    RETURN_IF_ERROR(write(bytes));
    begin += bytes.size();
  }
  return {};
}

Result<void> NewFile::finish(bool sync) {
  RETURN_IF_ERROR(flush());
  return sync ? disk_.sync(fd_.get()) : Result<void>();
}

Result<void> NewFile::publish(const Dir& to, const std::string& name) {
  RETURN_IF_ERROR(disk_.rename(folder_, name_, to, name, Disk::Existing::keep));
  is_published_ = true;
  ::flock(fd_.get(), LOCK_UN);  // writers of the log lock the log itself
  return {};
}

Result<void> NewFile::replace(const std::string& name, const FileStat& as_read) {
  is_published_ = true;
  ASSIGN_OR_RETURN(const bool is_done, replace_as_read(disk_, folder_, name_, name, [&](const File& old) {
                     const auto now = old.stat();
                     return now && *now == as_read;
                   }));
  ::flock(fd_.get(), LOCK_UN);
  return is_done ? Result<void>() : changed_meanwhile();
}

Result<File> hold_log(const Dir& folder, const std::string& name, const FileStat& as_read) {
  ASSIGN_OR_RETURN(auto log, File::open_in(folder, name));
  const bool is_held = ::flock(log.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ASSIGN_OR_RETURN(const auto now, folder.stat(name));
  ASSIGN_OR_RETURN(const auto opened, log.stat());
  if (is_held || !(now == as_read) || !opened.same_file(as_read)) {
    return changed_meanwhile();
  }
  return log;
}

}  // namespace arborfs::opal
