#include "core/os/temp_file.h"

#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/base/result_macros.h"
#include "core/os/file_attributes.h"
#include "core/os/file_tree.h"

namespace arborfs {
namespace {

constexpr std::string_view kBefore = ".arborfs-";
constexpr std::string_view kAfter = ".tmp";
constexpr std::string_view kRemoved = ".arborfs-removed-";
constexpr std::size_t kPiece = std::size_t{1} << 20U;
constexpr int kTries = 4;

/// False if another process mistook the file for a leftover before it was locked, and has removed it or is about to.
bool lock(int fd) {
  struct stat st {};
  return (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && ::fstat(fd, &st) == 0 && st.st_nlink > 0;
}

std::shared_ptr<const Dir> borrowed(const Dir& folder) {
  return {std::shared_ptr<const Dir>(), &folder};
}

}  // namespace

std::string unique_hex() {
  static std::atomic<std::uint64_t> made{0};
  std::uint64_t unique = 0;
  static_cast<void>(::getrandom(&unique, sizeof unique, GRND_NONBLOCK));
  unique ^= (static_cast<std::uint64_t>(::getpid()) << 32U) + ++made;  // where the system has no random numbers yet
  char hex[24];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(unique));
  return hex;
}

std::string temporary_name(std::string_view unique) {
  return std::string(kBefore) + std::string(unique) + std::string(kAfter);
}

bool is_temporary_name(std::string_view name) {
  return name.size() > kBefore.size() + kAfter.size() && name.starts_with(kBefore) && name.ends_with(kAfter);
}

std::string removed_name() {
  return std::string(kRemoved) + unique_hex();
}

bool is_removed_name(std::string_view name) {
  return name.size() > kRemoved.size() && name.starts_with(kRemoved);
}

Result<TempFile::Ptr> TempFile::make(Disk& disk, std::shared_ptr<const Dir> folder, mode_t mode, std::string name) {
  ASSIGN_OR_RETURN(auto fd, disk.create(*folder, name, mode));
  const bool is_locked = lock(fd.get());
  Ptr file(new TempFile(disk, std::move(folder), std::move(name), std::move(fd)));
  return is_locked ? Result<Ptr>(std::move(file))
                   : Error{Errc::busy, "other programs remove the temporary files of arborfs; try again"};
}

Result<TempFile::Ptr> TempFile::create(Disk& disk, const Dir& folder, mode_t mode) {
  for (int tries = 1;; ++tries) {
    auto file = make(disk, borrowed(folder), mode, temporary_name());
    if (file || file.error().code != Errc::busy || tries == kTries) {
      return file;
    }
  }
}

Result<TempFile::Ptr> TempFile::create(Disk& disk, const Dir& folder, mode_t mode, std::string name) {
  return make(disk, borrowed(folder), mode, std::move(name));
}

Result<TempFile::Ptr> TempFile::create(Disk& disk, Dir&& folder, mode_t mode, std::string name) {
  return make(disk, std::make_shared<const Dir>(std::move(folder)), mode, std::move(name));
}

TempFile::Ptr TempFile::nameless(Disk& disk, UniqueFd fd) {
  return Ptr(new TempFile(disk, nullptr, "", std::move(fd)));
}

TempFile::~TempFile() {
  if (!name_.empty()) {
    static_cast<void>(disk_.remove(*folder_, name_));
  }
}

Result<void> TempFile::keep_attributes(const File& original, std::optional<mode_t> mode) {
  return arborfs::keep_attributes(disk_, original.fd(), fd_.get(), mode);
}

Result<void> TempFile::flush() {
  auto done = buffer_.empty() ? Result<void>() : write_all(disk_, fd_.get(), buffer_);
  buffer_.clear();
  return done;
}

Result<void> TempFile::write(std::string_view bytes) {
  last_ = bytes.empty() ? last_ : bytes.back();
  if (bytes.size() >= kPiece) {
    RETURN_IF_ERROR(flush());
    return write_all(disk_, fd_.get(), bytes);
  }
  buffer_ += bytes;
  return buffer_.size() < kPiece ? Result<void>() : flush();
}

Result<void> TempFile::finish(bool sync) {
  RETURN_IF_ERROR(flush());
  return sync ? disk_.sync(fd_.get()) : Result<void>();
}

Result<void> TempFile::publish(const Dir& to, const std::string& name, Disk::Existing existing) {
  RETURN_IF_ERROR(flush());
  RETURN_IF_ERROR(disk_.rename(*folder_, name_, to, name, existing));
  name_.clear();
  fd_.reset();
  return {};
}

Result<bool> TempFile::replace(const std::string& name, const IsAsRead& is_as_read) {
  RETURN_IF_ERROR(flush());
  auto done = replace_as_read(disk_, *folder_, std::exchange(name_, std::string()), name, is_as_read);
  fd_.reset();
  return done;
}

Result<UniqueFd> TempFile::take() {
  RETURN_IF_ERROR(flush());
  return std::move(fd_);
}

Result<void> write_whole_file(Disk& disk, const Dir& folder, const std::string& name, mode_t mode,
                              std::string_view bytes, Disk::Existing existing, bool sync) {
  ASSIGN_OR_RETURN(const auto file, TempFile::create(disk, folder, mode));
  RETURN_IF_ERROR(file->write(bytes));
  RETURN_IF_ERROR(file->finish(sync));
  RETURN_IF_ERROR(file->publish(folder, name, existing));
  return sync ? disk.sync_folder(folder) : Result<void>();
}

Result<TempFolder::Ptr> TempFolder::create(Disk& disk, const Dir& parent, Modes modes, bool sync, std::string name) {
  RETURN_IF_ERROR(disk.make_folder(parent, name, modes.folder));
  auto dir = parent.open_in(name);
  if (!dir) {
    static_cast<void>(disk.remove_folder(parent, name));
    return dir.error();
  }
  ::flock(dir->fd(), LOCK_EX | LOCK_NB);
  return Ptr(new TempFolder(disk, parent, std::move(name), std::move(*dir), modes, sync));
}

TempFolder::~TempFolder() {
  if (!name_.empty()) {
    static_cast<void>(remove_tree(disk_, parent_, name_));
  }
}

Result<void> TempFolder::put(const std::string& file, std::string_view bytes) {
  ASSIGN_OR_RETURN(const auto fd, create_file(file));
  RETURN_IF_ERROR(write_all(disk_, fd.get(), bytes));
  return sync_ ? disk_.sync(fd.get()) : Result<void>();
}

Result<void> TempFolder::publish(const Dir& to, const std::string& name) {
  RETURN_IF_ERROR(sync_ ? disk_.sync_folder(dir_) : Result<void>());
  RETURN_IF_ERROR(disk_.rename(parent_, name_, to, name, Disk::Existing::keep));
  name_.clear();
  ::flock(dir_.fd(), LOCK_UN);
  return {};
}

}  // namespace arborfs
