// The content-addressed blobs of a store (FACTS D), read only and checked against their names (DESIGN 2, F11, S2).
// Thread-safe. Remembers which files it has checked by inode, size and time, at most a few thousand of them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/env/file.h"
#include "core/model/context.h"

namespace arborfs {

class BlobStore : public BlobSource {
 public:
  explicit BlobStore(std::string folder);

  /// 64 lower-case hex digits.
  static bool is_blob_name(std::string_view name);
  /// All blobs in byte order of names, those of other names left out.
  [[nodiscard]] Result<std::vector<std::string>> list() const;
  [[nodiscard]] Result<FileStat> stat(std::string_view hash) const;
  /// Opens a blob whose content has been checked. Errors: not_found, corrupt (other bytes than the name says), io.
  [[nodiscard]] Result<std::shared_ptr<const File>> open(std::string_view hash) const;
  [[nodiscard]] std::optional<std::string> read_blob(std::string_view hash) const override;

 private:
  [[nodiscard]] Result<void> check(const File& file, const FileStat& st, std::string_view hash) const;
  std::string folder_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, FileStat> checked_;  // guarded by mutex_
};

}  // namespace arborfs
