// The parts of a page, rendered: the first MiB in memory, the others in a scratch file (core/os/file.h), so that each
// is rendered once, for the size of the page and for its readers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/error.h"
#include "core/entry/content.h"
#include "core/os/file.h"

namespace arborfs {

class PageParts {
 public:
  struct Part {
    enum class Where : std::uint8_t { nowhere, memory, file };
    Where where = Where::nowhere;
    std::uint64_t size = 0;
    std::string text;          // in memory
    std::uint64_t offset = 0;  // in the file
  };

  /// Where nothing can be written, a part is kept in memory if it must be kept, else nowhere. Any thread.
  Part keep(std::string text, bool must_keep);
  /// Adds a part that is somewhere. One thread, when all are kept.
  void add(Part part, Content& content) const;

 private:
  /// Null if there can be none.
  std::shared_ptr<const File> file();

  std::atomic<std::uint64_t> in_memory_{0};
  std::atomic<std::uint64_t> in_file_{0};
  std::mutex mutex_;  // a leaf
  bool has_tried_ = false;
  std::shared_ptr<const File> file_;  // guarded by mutex_ until all parts are kept
};

/// The parts of a page that can be rendered again.
struct PartList {
  std::size_t count = 0;
  /// The same at each call. From any thread. Errors: stale, io; interrupted once cancelled.
  std::function<Result<std::string>(std::size_t number)> render;
  std::function<std::size_t(std::size_t number)> memory_of;  // what `render` keeps for it
  /// They are rendered once, in their order, on one thread.
  bool is_once = false;
};
/// Renders them, on two threads, and adds them. Errors: those of `render`.
Result<void> add_parts(const PartList& list, Content& content);

}  // namespace arborfs
