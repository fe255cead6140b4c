// An open regular file, which a file handle refers to. It shows one state of one log until it is closed; a growing file
// also shows appended bytes (CONTRACT.md 2.5, 3.2). Shared by the threads that read the same handle.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "core/os/file.h"
#include "fs/tree/mount_state.h"
#include "fs/tree/request_context.h"

namespace arborfs {

class OpenFile {
 public:
  virtual ~OpenFile() = default;
  /// Fills `into`, up to the end of the file; returns the number of bytes. Errors: stale, io, interrupted (deferred).
  virtual Result<std::size_t> read(MountState& state, RequestContext& call, std::uint64_t offset,
                                   std::span<char> into) = 0;
  /// True if the pages that the kernel has cached for this node are still these bytes.
  [[nodiscard]] virtual bool keeps_cache() const { return true; }
};
using OpenFilePtr = std::shared_ptr<OpenFile>;

/// A document made from a log. If a writer has since changed its bytes in place, a read fails with `stale`.
class SnapshotFile : public OpenFile {
 public:
  explicit SnapshotFile(SnapshotPtr document);
  Result<std::size_t> read(MountState& state, RequestContext& call, std::uint64_t offset,
                           std::span<char> into) override;

 protected:
  Result<std::size_t> read_of(const Snapshot& document, RequestContext& call, std::uint64_t offset,
                              std::span<char> into);
  [[nodiscard]] SnapshotPtr current() const;
  void take(SnapshotPtr longer);

 private:
  Result<void> check_log(const Snapshot& document, RequestContext& call);
  mutable std::mutex mutex_;  // leaf
  SnapshotPtr document_;      // guarded by mutex_
  FileStat checked_;          // the log's stat when its bytes were last known to be right; guarded by mutex_
};

/// A document that is extended with appended bytes when it is read past its end.
class GrowingFile final : public SnapshotFile {
 public:
  using SnapshotFile::SnapshotFile;
  Result<std::size_t> read(MountState& state, RequestContext& call, std::uint64_t offset,
                           std::span<char> into) override;
};

/// A file of the store, shown as it is on disk.
class DiskFile final : public OpenFile {
 public:
  DiskFile(std::shared_ptr<const File> file, bool keeps_cache) : file_(std::move(file)), keeps_cache_(keeps_cache) {}
  Result<std::size_t> read(MountState& state, RequestContext& call, std::uint64_t offset,
                           std::span<char> into) override;
  [[nodiscard]] bool keeps_cache() const override { return keeps_cache_; }

 private:
  const std::shared_ptr<const File> file_;
  const bool keeps_cache_;
};

}  // namespace arborfs
