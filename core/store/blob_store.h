// The content-addressed blobs of a store (omp/FORMAT.md D), checked against their names (CONTRACT.md 7.7, FAILURES.md
// F11, S2). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/content.h"
#include "core/os/disk.h"
#include "core/os/file.h"

namespace arborfs {

class BlobStore : public BlobSource {
 public:
  /// 64 lower-case hex digits.
  static bool is_blob_name(std::string_view name);
  /// All blobs in byte order of names; files with other names are left out.
  [[nodiscard]] virtual Result<std::vector<std::string>> list() const = 0;
  [[nodiscard]] virtual Result<FileStat> stat(std::string_view hash) const = 0;
  /// Opens a blob after checking its content. Errors: not_found, corrupt (the bytes do not match the name), io.
  [[nodiscard]] virtual Result<std::shared_ptr<const File>> open(std::string_view hash) const = 0;
  /// Stores bytes under their hash, whole or not at all; an intact blob that exists already is kept. With `sync` it is
  /// on the disk when this returns (CONTRACT.md 6.8: before the line that refers to it).
  virtual Result<void> put(std::string_view hash, std::string_view bytes, bool sync) = 0;
  [[nodiscard]] std::optional<std::string> read_blob(std::string_view hash) const override;
};

/// Blobs as files in a folder, which is made for the first one. Remembers by inode, size and time which files it has
/// checked, a few thousand of them.
std::shared_ptr<BlobStore> make_file_blobs(std::string folder, Disk& disk);

/// Those of an agent that keeps no blobs.
std::shared_ptr<BlobStore> make_no_blobs();

}  // namespace arborfs
