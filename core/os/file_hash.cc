#include "core/os/file_hash.h"

#include "core/base/hash.h"
#include "core/base/result_macros.h"

namespace arborfs {

namespace {

constexpr std::size_t kReadBytes = 1 << 20;

}  // namespace

Result<std::string> sha256_of(const File& file) {
  Sha256 digest;
  std::string buffer(kReadBytes, '\0');
  for (std::uint64_t offset = 0;;) {
    ASSIGN_OR_RETURN(auto got, file.read_at(offset, buffer));
    digest.update(std::string_view(buffer).substr(0, got));
    offset += got;
    if (got < buffer.size()) {
      return digest.finish_hex();
    }
  }
}

}  // namespace arborfs
