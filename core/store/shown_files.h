// Files that a store shows for a session in addition to its log, as a tree. Paths are names joined by '/', "" for the
// top; the names are those of the mount, so no name can mislead a terminal. Thread-safe; an object serves one look at
// the tree.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/os/file.h"

namespace arborfs {

class ShownFiles {
 public:
  struct Stat {
    bool is_folder = false;
    std::uint64_t size = 0;  // of a file, exactly
    std::int64_t mtime_ns = 0;
  };
  struct Item {
    std::string name;
    bool is_folder = false;
  };
  /// A file of the disk, or a text that was made for this look.
  using Content = std::variant<File, std::string>;

  virtual ~ShownFiles() = default;
  /// True where stat(), list() and open() may take long.
  [[nodiscard]] virtual bool takes_long(const std::string& path) const = 0;
  /// Errors of these four: not_found; those of reading the files.
  [[nodiscard]] virtual Result<Stat> stat(const std::string& path) const = 0;
  /// The result of stat(), without generating a text only for its size.
  [[nodiscard]] virtual Result<bool> is_folder(const std::string& path) const {
    const auto st = stat(path);
    if (!st) {
      return st.error();
    }
    return st->is_folder;
  }
  [[nodiscard]] virtual Result<std::vector<Item>> list(const std::string& path) const = 0;
  [[nodiscard]] virtual Result<Content> open(const std::string& path) const = 0;
};

}  // namespace arborfs
