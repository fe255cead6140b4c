// Bounds the number of open files however many logs are in use (FAILURES.md S10). A file that has not been used
// recently is closed, and reopened when it is needed, provided its name still leads to the same file.
// Thread-safe. The process has one pool; it evicts by the clock algorithm, so a use does not take the pool's lock.
#pragma once

#include <functional>
#include <memory>

#include "core/os/file.h"

namespace arborfs {

class PooledFile {
 public:
  using Opener = std::function<Result<File>()>;

  /// `stat` is the stat of `file`, which was just opened. `reopen` opens its name again; it is called from any thread.
  /// Without `reopen` the file stays open for this object's lifetime.
  PooledFile(File file, const FileStat& stat, Opener reopen);

  /// The file, which stays open while the pointer is held. Errors: stale if its name now leads to another file or to
  /// none; busy if no descriptors are left.
  [[nodiscard]] Result<std::shared_ptr<const File>> acquire() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// How many pooled files may be open: a quarter of the process's limit, at least 8 and at most 1024.
std::size_t pooled_file_limit();

}  // namespace arborfs
