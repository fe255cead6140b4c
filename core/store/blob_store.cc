#include "core/store/blob_store.h"

#include <dirent.h>

#include <algorithm>
#include <utility>

#include "core/base/hash.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxRemembered = 4096;
constexpr std::size_t kReadStep = 1 << 20;
constexpr std::uint64_t kMaxInMemory = std::uint64_t{256} << 20;

}  // namespace

BlobStore::BlobStore(std::string folder) : folder_(std::move(folder)) {}

bool BlobStore::is_blob_name(std::string_view name) {
  return name.size() == 64 &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<std::vector<std::string>> BlobStore::list() const {
  auto dir = Dir::open_root(folder_);
  if (!dir) {
    return dir.error();
  }
  auto entries = dir->list();
  if (!entries) {
    return entries.error();
  }
  std::vector<std::string> names;
  for (auto& entry : *entries) {
    if (entry.type == DT_REG && is_blob_name(entry.name)) {
      names.push_back(std::move(entry.name));
    }
  }
  return names;
}

Result<FileStat> BlobStore::stat(std::string_view hash) const {
  if (!is_blob_name(hash)) {
    return Error{Errc::not_found, "no blob has such a name"};
  }
  auto dir = Dir::open_root(folder_);
  if (!dir) {
    return dir.error();
  }
  auto st = dir->stat(std::string(hash));
  if (st && !S_ISREG(st->mode)) {
    return Error{Errc::not_found, "not a regular file"};
  }
  return st;
}

Result<void> BlobStore::check(const File& file, const FileStat& st, std::string_view hash) const {
  const std::string name(hash);
  {
    const std::lock_guard lock(mutex_);
    const auto known = checked_.find(name);
    if (known != checked_.end() && known->second == st) {
      return {};
    }
  }
  Sha256 digest;
  std::string buffer(kReadStep, '\0');
  for (std::uint64_t offset = 0;;) {
    auto got = file.read_at(offset, buffer);
    if (!got) {
      return got.error();
    }
    digest.update(std::string_view(buffer).substr(0, *got));
    offset += *got;
    if (*got < buffer.size()) {
      break;
    }
  }
  if (digest.finish_hex() != hash) {
    return Error{Errc::corrupt, "blob " + name + " does not hold the bytes that its name promises"};
  }
  const std::lock_guard lock(mutex_);
  if (checked_.size() >= kMaxRemembered) {
    checked_.clear();
  }
  checked_[name] = st;
  return {};
}

Result<std::shared_ptr<const File>> BlobStore::open(std::string_view hash) const {
  if (!is_blob_name(hash)) {
    return Error{Errc::not_found, "no blob has such a name"};
  }
  auto dir = Dir::open_root(folder_);
  if (!dir) {
    return dir.error();
  }
  auto file = File::open_in(*dir, std::string(hash));
  if (!file) {
    return file.error();
  }
  auto st = file->stat();
  if (!st) {
    return st.error();
  }
  if (auto ok = check(*file, *st, hash); !ok) {
    return ok.error();
  }
  return std::shared_ptr<const File>(std::make_shared<File>(std::move(file).value()));
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

}  // namespace arborfs
