#include "core/os/temp_file.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/os/file_tree.h"
#include "core/os/processes.h"

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

namespace {

/// A program that keeps the old file open for writing for longer gets it back.
constexpr std::chrono::milliseconds kPatience{100};

bool leads_to(const Dir& folder, const std::string& name, const FileStat& file) {
  const auto now = folder.stat(name);
  return now && now->same_file(file);
}

/// For a file that no program can open by its own name any more.
bool is_untouched(const File& old, const IsAsRead& is_as_read) {
  return !is_open_for_writing(old, kPatience) && is_as_read(old);
}

/// The file, if it is there and as it was read.
Result<std::optional<File>> open_as_read(const Dir& folder, const std::string& name, const IsAsRead& is_as_read) {
  auto old = File::open_in(folder, name);
  if (!old && old.error().code != Errc::not_found) {
    return old.error();
  }
  return old && is_as_read(*old) ? std::optional(*std::move(old)) : std::nullopt;
}

class Replacement {
 public:
  Replacement(Disk& disk, const Dir& folder, const std::string& fresh, const std::string& name)
      : disk_(disk), folder_(folder), fresh_(fresh), name_(name) {}

  Result<bool> run(const IsAsRead& is_as_read) {
    ASSIGN_OR_RETURN(const auto ours, folder_.stat(fresh_));
    ASSIGN_OR_RETURN(const auto old, open_as_read(folder_, name_, is_as_read));
    if (!old) {
      return false;
    }
    ASSIGN_OR_RETURN(const auto theirs, old->stat());
    if (const auto done = disk_.exchange(folder_, fresh_, name_); !done) {
      if (done.error().code != Errc::unsupported) {
        return done.error();
      }
      RETURN_IF_ERROR(disk_.rename(folder_, fresh_, folder_, name_, Disk::Existing::replace));
      return true;
    }
    const bool is_unchanged = leads_to(folder_, fresh_, theirs) && is_untouched(*old, is_as_read);
    return is_unchanged ? Result<bool>(true) : give_back(ours);
  }
  /// Removes what the temporary name leads to: the new file, or the old one that was replaced.
  void clear() {
    if (!holds_theirs_ && !disk_.remove(folder_, fresh_)) {
      static_cast<void>(disk_.remove(folder_, fresh_));  // it would stay for the doctor
    }
  }

 private:
  /// False, unless a program has meanwhile written to the new file: that is the newest state and stays.
  Result<bool> give_back(const FileStat& ours) {
    holds_theirs_ = true;
    if (!disk_.exchange(folder_, fresh_, name_)) {
      const auto done = disk_.rename(folder_, fresh_, folder_, name_, Disk::Existing::replace);
      return done ? Result<bool>(false)
                  : Error{done.error().code, done.error().message + "; what another program wrote to " + name_ +
                                                 " meanwhile is in the file " + fresh_ + "; rename it to " + name_};
    }
    holds_theirs_ = false;
    const auto now = folder_.stat(fresh_);
    if (!now || *now == ours) {
      return false;
    }
    RETURN_IF_ERROR(disk_.rename(folder_, fresh_, folder_, name_, Disk::Existing::replace));
    return true;
  }

  Disk& disk_;
  const Dir& folder_;
  const std::string& fresh_;
  const std::string& name_;
  bool holds_theirs_ = false;
};

}  // namespace

Result<bool> replace_as_read(Disk& disk, const Dir& folder, const std::string& fresh, const std::string& name,
                             const IsAsRead& is_as_read) {
  Replacement replacement(disk, folder, fresh, name);
  auto done = replacement.run(is_as_read);
  replacement.clear();
  return done;
}

Result<bool> remove_as_read(Disk& disk, const Dir& folder, const std::string& name, const std::string& aside,
                            const IsAsRead& is_as_read) {
  ASSIGN_OR_RETURN(const auto old, open_as_read(folder, name, is_as_read));
  if (!old) {
    return false;
  }
  ASSIGN_OR_RETURN(const auto theirs, old->stat());
  RETURN_IF_ERROR(disk.rename(folder, name, folder, aside, Disk::Existing::keep));
  const bool is_unchanged = leads_to(folder, aside, theirs) && is_untouched(*old, is_as_read);
  const auto removed = is_unchanged ? disk.remove(folder, aside) : Result<void>();
  if (is_unchanged && removed) {
    return true;
  }
  if (const auto back = disk.rename(folder, aside, folder, name, Disk::Existing::keep); !back) {
    return Error{back.error().code, back.error().message + "; what was in " + name + " is in the file " + aside};
  }
  return removed ? Result<bool>(false) : removed.error();
}

namespace {

/// A writer locks a folder at once after it has made it.
bool is_left_folder(const Dir& folder, const std::string& name, const FileStat& seen) {
  constexpr std::int64_t kBeingMadeNs = 100'000'000;
  const auto opened = folder.open_in(name);
  return opened && now_ns() - seen.mtime_ns > kBeingMadeNs && ::flock(opened->fd(), LOCK_EX | LOCK_NB) == 0;
}

/// False also for what is no regular file.
bool is_left_file(const Dir& folder, const std::string& name) {
  const auto file = File::open_in(folder, name);
  return file && !is_open_for_writing(*file, std::chrono::milliseconds(0));
}

}  // namespace

std::vector<std::string> leftover_files(const Dir& folder, const std::function<bool(std::string_view name)>& is_ours) {
  std::vector<std::string> found;
  const auto entries = folder.list();
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (entry.type != DT_REG || !(is_temporary_name(entry.name) || (is_ours && is_ours(entry.name)))) {
      continue;
    }
    if (is_left_file(folder, entry.name)) {
      found.push_back(entry.name);
    }
  }
  return found;
}

bool is_leftover(const Dir& folder, const std::string& name) {
  const bool is_temporary = is_temporary_name(name);
  if (!is_temporary && !is_removed_name(name)) {
    return false;
  }
  const auto seen = folder.stat(name);
  if (seen && S_ISDIR(seen->mode)) {
    return is_temporary && is_left_folder(folder, name, *seen);
  }
  return is_left_file(folder, name);
}

std::vector<std::string> leftovers_of_writers(const Dir& folder) {
  const auto entries = folder.list();
  std::vector<std::string> found;
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (is_leftover(folder, entry.name)) {
      found.push_back(entry.name);
    }
  }
  return found;
}

}  // namespace arborfs
