// Keeps the number of open files bounded however many logs are in use (FAILURES.md S10): a file that has not been
// used lately is closed, and opened again when it is needed - as long as its name still leads to the same file.
// Thread-safe. The pool is one for the process; it closes by the clock algorithm, so a use costs no lock of the pool.
#pragma once

#include <functional>
#include <memory>

#include "core/os/file.h"

namespace arborfs {

class PooledFile {
 public:
  using Opener = std::function<Result<File>()>;

  /// `file` was just opened and is `stat`; `reopen` opens its name again, from any thread. Without `reopen` it stays
  /// open for good.
  PooledFile(File file, const FileStat& stat, Opener reopen);

  /// The open file, for as long as the pointer is held. Errors: stale when its name leads to another file or to none
  /// by now; busy when descriptors ran out.
  [[nodiscard]] Result<std::shared_ptr<const File>> acquire() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// How many pooled files may be open: a quarter of the process's limit, at least 8 and at most 1024.
std::size_t pooled_file_limit();

}  // namespace arborfs
