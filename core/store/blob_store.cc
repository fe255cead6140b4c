#include "core/store/blob_store.h"

#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/os/file.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kMaxInMemory = std::uint64_t{256} << 20;

class NoBlobs final : public BlobStore {
 public:
  [[nodiscard]] Result<std::vector<std::string>> list() const override { return std::vector<std::string>(); }
  [[nodiscard]] Result<FileStat> stat(std::string_view /*hash*/) const override { return no_blob(); }
  [[nodiscard]] Result<std::shared_ptr<const File>> open(std::string_view /*hash*/) const override { return no_blob(); }
  Result<void> put(std::string_view /*hash*/, std::string_view /*bytes*/, bool /*sync*/) override { return no_blob(); }

 private:
  static Error no_blob() { return {Errc::not_found, "this agent keeps no blobs"}; }
};

constexpr std::size_t kMaxRemembered = 4096;
constexpr mode_t kBlobMode = 0666;
constexpr mode_t kBlobFolderMode = 0777;

class FileBlobs : public BlobStore {
 public:
  FileBlobs(std::string folder, Disk& disk) : folder_(std::move(folder)), disk_(disk) {}

  [[nodiscard]] Result<std::vector<std::string>> list() const override;
  [[nodiscard]] Result<FileStat> stat(std::string_view hash) const override;
  [[nodiscard]] Result<std::shared_ptr<const File>> open(std::string_view hash) const override;
  Result<void> put(std::string_view hash, std::string_view bytes, bool sync) override;

 private:
  [[nodiscard]] Result<void> check(const File& file, const FileStat& st, std::string_view hash) const;
  [[nodiscard]] Result<Dir> make_folder(bool sync) const;
  Result<void> write(const Dir& dir, const std::string& temporary, const std::string& name, std::string_view bytes,
                     bool sync);
  const std::string folder_;
  Disk& disk_;
  std::atomic<std::uint64_t> temporaries_{0};
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, FileStat> checked_;  // guarded by mutex_
};

Result<std::vector<std::string>> FileBlobs::list() const {
  ASSIGN_OR_RETURN(auto dir, Dir::open_root(folder_));
  ASSIGN_OR_RETURN(auto entries, dir.list());
  std::vector<std::string> names;
  for (auto& entry : entries) {
    if (entry.type == DT_REG && is_blob_name(entry.name)) {
      names.push_back(std::move(entry.name));
    }
  }
  return names;
}

Result<FileStat> FileBlobs::stat(std::string_view hash) const {
  if (!is_blob_name(hash)) {
    return Error{Errc::not_found, "no blob has such a name"};
  }
  ASSIGN_OR_RETURN(auto dir, Dir::open_root(folder_));
  auto st = dir.stat(std::string(hash));
  if (st && !S_ISREG(st->mode)) {
    return Error{Errc::not_found, "not a regular file"};
  }
  return st;
}

Result<void> FileBlobs::check(const File& file, const FileStat& st, std::string_view hash) const {
  const std::string name(hash);
  {
    const std::lock_guard lock(mutex_);
    const auto known = checked_.find(name);
    if (known != checked_.end() && known->second == st) {
      return {};
    }
  }
  ASSIGN_OR_RETURN(const auto digest, sha256_of(file));
  if (digest != hash) {
    return Error{Errc::corrupt, "blob " + name + " does not match the hash in its name"};
  }
  const std::lock_guard lock(mutex_);
  if (checked_.size() >= kMaxRemembered) {
    checked_.clear();
  }
  checked_[name] = st;
  return {};
}

Result<std::shared_ptr<const File>> FileBlobs::open(std::string_view hash) const {
  if (!is_blob_name(hash)) {
    return Error{Errc::not_found, "no blob has such a name"};
  }
  ASSIGN_OR_RETURN(auto dir, Dir::open_root(folder_));
  ASSIGN_OR_RETURN(auto file, File::open_in(dir, std::string(hash)));
  ASSIGN_OR_RETURN(auto st, file.stat());
  RETURN_IF_ERROR(check(file, st, hash));
  return std::shared_ptr<const File>(std::make_shared<File>(std::move(file)));
}

/// The blobs folder; makes it for the first blob of the store.
Result<Dir> FileBlobs::make_folder(bool sync) const {
  auto dir = Dir::open_root(folder_);
  if (dir || dir.error().code != Errc::not_found) {
    return dir;
  }
  const std::size_t slash = folder_.rfind('/');
  auto parent = Dir::open_root(folder_.substr(0, slash));
  if (!parent) {
    return parent;
  }
  RETURN_IF_ERROR(disk_.make_folder(*parent, folder_.substr(slash + 1), kBlobFolderMode));
  RETURN_IF_ERROR(sync ? disk_.sync_folder(*parent) : Result<void>());
  return Dir::open_root(folder_);
}

Result<void> FileBlobs::write(const Dir& dir, const std::string& temporary, const std::string& name,
                              std::string_view bytes, bool sync) {
  ASSIGN_OR_RETURN(auto fd, disk_.create(dir, temporary, kBlobMode));
  auto done = write_all(disk_, fd.get(), bytes);
  if (done && sync) {
    done = disk_.sync(fd.get());
  }
  if (done) {
    done = disk_.rename(dir, temporary, dir, name, Disk::Existing::replace);
  }
  if (!done) {
    static_cast<void>(disk_.remove(dir, temporary));
  }
  return done;
}

Result<void> FileBlobs::put(std::string_view hash, std::string_view bytes, bool sync) {
  if (!is_blob_name(hash)) {
    return Error{Errc::invalid_argument, "no blob has such a name"};
  }
  ASSIGN_OR_RETURN(auto dir, make_folder(sync));
  const std::string name(hash);
  if (auto there = open(hash)) {  // agents write theirs without a sync
    return sync ? disk_.sync((*there)->fd()) : Result<void>();
  }
  const std::string temporary = "." + name + "." + std::to_string(::getpid()) + "-" + std::to_string(++temporaries_);
  RETURN_IF_ERROR(write(dir, temporary, name, bytes, sync));
  return sync ? disk_.sync_folder(dir) : Result<void>();
}

}  // namespace

bool BlobStore::is_blob_name(std::string_view name) {
  return name.size() == 64 &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<std::string> BlobStore::read_blob(std::string_view hash) const {
  auto file = open(hash);
  if (!file) {
    return std::nullopt;
  }
  auto st = (*file)->stat();
  if (!st || st->size > kMaxInMemory) {
    return std::nullopt;
  }
  std::string bytes(st->size, '\0');
  auto got = (*file)->read_at(0, bytes);
  if (!got || *got != bytes.size()) {
    return std::nullopt;
  }
  return bytes;
}

std::shared_ptr<BlobStore> make_no_blobs() {
  return std::make_shared<NoBlobs>();
}

std::shared_ptr<BlobStore> make_file_blobs(std::string folder, Disk& disk) {
  return std::make_shared<FileBlobs>(std::move(folder), disk);
}

}  // namespace arborfs
