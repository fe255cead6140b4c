#include "core/env/file_hash.h"

#include "core/base/hash.h"

namespace arborfs {

namespace {

constexpr std::size_t kReadBytes = 1 << 20;

}  // namespace

Result<std::string> sha256_of(const File& file) {
  Sha256 digest;
  std::string buffer(kReadBytes, '\0');
  for (std::uint64_t offset = 0;;) {
    auto got = file.read_at(offset, buffer);
    if (!got) {
      return got.error();
    }
    digest.update(std::string_view(buffer).substr(0, *got));
    offset += *got;
    if (*got < buffer.size()) {
      return digest.finish_hex();
    }
  }
}

}  // namespace arborfs
