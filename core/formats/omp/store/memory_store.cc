#include "core/formats/omp/store/memory_store.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/omp/store/format.h"
#include "core/formats/omp/store/log_files.h"
#include "core/log/log_file.h"

namespace arborfs::omp {

namespace {

Result<UniqueFd> make_file(const char* what) {
  UniqueFd fd(::memfd_create(what, MFD_CLOEXEC));
  return fd ? Result<UniqueFd>(std::move(fd)) : error_from_errno(errno, "cannot create a file in memory");
}

/// A new descriptor of the same file, with its own position and flags.
Result<UniqueFd> open_again(const UniqueFd& file, int flags) {
  UniqueFd fd(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), flags | O_CLOEXEC));
  return fd ? Result<UniqueFd>(std::move(fd)) : error_from_errno(errno, "cannot open a file in memory");
}

using SharedFd = std::shared_ptr<const UniqueFd>;

Result<File> open_reader(const SharedFd& file) {
  ASSIGN_OR_RETURN(auto fd, open_again(*file, O_RDONLY));
  return File::of(std::move(fd));
}

class MemoryBlobs : public BlobStore {
 public:
  [[nodiscard]] Result<std::vector<std::string>> list() const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, file] : files_) {
      names.push_back(name);
    }
    return names;
  }
  [[nodiscard]] Result<FileStat> stat(std::string_view hash) const override {
    auto file = open(hash);
    return file ? (*file)->stat() : Result<FileStat>(file.error());
  }
  [[nodiscard]] Result<std::shared_ptr<const File>> open(std::string_view hash) const override {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(std::string(hash));
    if (found == files_.end()) {
      return Error{Errc::not_found, "no such blob"};
    }
    return found->second;
  }
  Result<void> put(std::string_view hash, std::string_view bytes, bool /*sync*/) override {
    ASSIGN_OR_RETURN(auto fd, make_file("blob"));
    RETURN_IF_ERROR(write_all(Disk::real(), fd.get(), bytes));
    const std::lock_guard lock(mutex_);
    files_.emplace(std::string(hash), std::make_shared<File>(File::of(std::move(fd))));
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const File>> files_;  // guarded by mutex_
};

/// The order of logs in one store, whatever its number is.
struct ByNames {
  bool operator()(const LogPlace& a, const LogPlace& b) const {
    return std::tie(a.folder, a.file) < std::tie(b.folder, b.file);
  }
};

/// The logs by place, and which of them are locked.
struct Shelf {
  std::mutex mutex;
  std::map<LogPlace, SharedFd, ByNames> logs;  // guarded by mutex
  std::set<LogPlace, ByNames> locked;          // guarded by mutex

  SharedFd find(const LogPlace& place) {
    const std::lock_guard lock(mutex);
    const auto found = logs.find(place);
    return found == logs.end() ? nullptr : found->second;
  }
};

Result<SharedFd> fd_of(TempFile& draft) {
  ASSIGN_OR_RETURN(auto fd, draft.take());
  return std::make_shared<const UniqueFd>(std::move(fd));
}

/// The lock of a log in memory.
class ShelfLock {
 public:
  ShelfLock(std::shared_ptr<Shelf> shelf, LogPlace place) : shelf_(std::move(shelf)), place_(std::move(place)) {}
  ~ShelfLock() {
    const std::lock_guard lock(shelf_->mutex);
    if (has_) {
      shelf_->locked.erase(place_);
    }
  }
  ShelfLock(const ShelfLock&) = delete;
  ShelfLock& operator=(const ShelfLock&) = delete;

  /// False if another writer has it.
  bool take() {
    const std::lock_guard lock(shelf_->mutex);
    has_ = shelf_->locked.insert(place_).second;
    return has_;
  }

 private:
  const std::shared_ptr<Shelf> shelf_;
  const LogPlace place_;
  bool has_ = false;  // guarded by shelf_->mutex
};

class MemoryLogWriter final : public LogWriter {
 public:
  MemoryLogWriter(Disk& disk, std::shared_ptr<Shelf> shelf, LogPlace place, std::shared_ptr<const ShelfLock> lock,
                  SharedFd file, File reader, const FileStat& stat)
      : LogWriter(disk, nullptr, place.file, std::move(lock), std::move(reader), stat),
        shelf_(std::move(shelf)),
        place_(std::move(place)),
        file_(std::move(file)) {}

  [[nodiscard]] bool is_open_elsewhere() const override { return false; }
  [[nodiscard]] Result<FileStat> stat_name() const override {
    const auto file = shelf_->find(place_);
    ASSIGN_OR_RETURN(const auto reader, file ? open_reader(file) : Result<File>(Errc::not_found, "the log is gone"));
    return reader.stat();
  }

 protected:
  Result<UniqueFd> open(For what) override {
    return open_again(*file_, what == For::append ? O_RDWR | O_APPEND : O_RDWR);
  }
  Result<void> put_in_place(TempFile& draft) override {
    ASSIGN_OR_RETURN(auto file, fd_of(draft));
    const std::lock_guard lock(shelf_->mutex);
    shelf_->logs[place_] = std::move(file);
    return {};
  }

 private:
  const std::shared_ptr<Shelf> shelf_;
  const LogPlace place_;
  const SharedFd file_;
};

class MemoryStore final : public arborfs::Store, public LogFiles {
 public:
  explicit MemoryStore(Disk& disk) : arborfs::Store(omp::format(), {}, disk, std::make_shared<MemoryBlobs>()) {}

  [[nodiscard]] bool present() const override { return true; }

  [[nodiscard]] bool is_log_name(std::string_view /*file*/) const override { return true; }
  [[nodiscard]] Result<std::vector<std::string>> folders() const override {
    const std::lock_guard lock(shelf_->mutex);
    std::set<std::string> names;
    for (const auto& [place, file] : shelf_->logs) {
      names.insert(place.folder);
    }
    return std::vector<std::string>(names.begin(), names.end());
  }

  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& /*wants_head*/) const override {
    std::vector<LogPlace> places;
    {
      const std::lock_guard lock(shelf_->mutex);
      for (const auto& [place, file] : shelf_->logs) {
        if (place.folder == folder) {
          places.push_back(place);
        }
      }
    }
    std::vector<FoundLog> found;
    for (auto& place : places) {
      if (auto st = stat(place)) {
        found.push_back({std::move(place), *st, {}});
      }
    }
    return found;
  }

  [[nodiscard]] Result<FileStat> stat(const LogPlace& place, const Dir* /*in*/ = nullptr) const override {
    ASSIGN_OR_RETURN(const auto reader, reader_of(place));
    return reader.stat();
  }

  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override {
    ASSIGN_OR_RETURN(auto reader, reader_of(place));
    return LogFile::of(std::move(reader));
  }

  [[nodiscard]] Result<Dir> folder(const LogPlace& /*place*/) const override { return nothing_there(); }

  [[nodiscard]] Result<std::unique_ptr<LogWriter>> writer(const LogPlace& place) override {
    const auto file = shelf_->find(place);
    ASSIGN_OR_RETURN(auto reader, file ? open_reader(file) : Result<File>(nothing_there()));
    ASSIGN_OR_RETURN(const auto st, reader.stat());
    auto lock = std::make_shared<ShelfLock>(shelf_, place);
    if (!lock->take()) {
      return Error{Errc::busy, "another writer holds the log's lock"};
    }
    return std::unique_ptr<LogWriter>(
        std::make_unique<MemoryLogWriter>(disk(), shelf_, place, std::move(lock), file, std::move(reader), st));
  }

  [[nodiscard]] Result<std::unique_ptr<TempFile>> draft(const LogPlace& /*place*/, mode_t /*permissions*/) override {
    ASSIGN_OR_RETURN(auto fd, make_file("log"));
    return TempFile::nameless(disk(), std::move(fd));
  }

  [[nodiscard]] Result<std::unique_ptr<TempFile>> redraft(const LogPlace& place, const LogPlace& to) override {
    return shelf_->find(place) ? draft(to, kAnyPermissions) : Result<std::unique_ptr<TempFile>>(nothing_there());
  }

  Result<void> publish(TempFile& draft, const LogPlace& place, Disk::Existing existing, bool /*sync*/) override {
    ASSIGN_OR_RETURN(auto file, fd_of(draft));
    const std::lock_guard lock(shelf_->mutex);
    if (existing == Disk::Existing::replace) {
      shelf_->logs.erase(place);
    }
    const bool is_new = shelf_->logs.emplace(place, std::move(file)).second;
    return is_new ? Result<void>() : Result<void>(Errc::already_exists, "such a log already exists");
  }

  Result<void> move(const LogPlace& from, const LogPlace& to) override {
    const std::lock_guard lock(shelf_->mutex);
    if (shelf_->logs.contains(to)) {
      return Error{Errc::already_exists, "such a log already exists"};
    }
    auto node = shelf_->logs.extract(from);
    if (!node) {
      return nothing_there();
    }
    node.key() = to;
    shelf_->logs.insert(std::move(node));
    return {};
  }

 private:
  static Error nothing_there() { return {Errc::not_found, "a store in memory has no such thing"}; }
  [[nodiscard]] Result<File> reader_of(const LogPlace& place) const {
    const auto file = shelf_->find(place);
    return file ? open_reader(file) : Result<File>(nothing_there());
  }

  const std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

}  // namespace

std::shared_ptr<arborfs::Store> make_memory_store(Disk& disk) {
  return std::make_shared<MemoryStore>(disk);
}

}  // namespace arborfs::omp
