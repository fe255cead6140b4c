#include "core/store/blob_store.h"

#include <algorithm>

namespace arborfs {

namespace {

constexpr std::uint64_t kMaxInMemory = std::uint64_t{256} << 20;

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

}  // namespace arborfs
