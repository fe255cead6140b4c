// Files of an agent as they are on disk, for ShownFiles: chosen files and folders below one folder. Links, FIFOs and
// other special files are left out. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/os/file.h"

namespace arborfs {

/// Files that a store shows for a session in addition to its log, as a tree. Paths are names joined by '/', "" for the
/// top; the names are those of the mount, so no name can mislead a terminal. Thread-safe; an object serves one look at
/// the tree.
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

class StoredFiles : public ShownFiles {
 public:
  /// `chosen`: paths below `root`, as on disk, of files, and of folders that are shown with everything in them. Missing
  /// ones are left out.
  StoredFiles(Dir root, std::vector<std::string> chosen);

  [[nodiscard]] bool takes_long(const std::string& /*path*/) const override { return false; }
  [[nodiscard]] Result<Stat> stat(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<Item>> list(const std::string& path) const override;
  [[nodiscard]] Result<Content> open(const std::string& path) const override;

 protected:
  /// The names that are shown in a folder; nothing if all are shown. Paths and names are those on disk.
  [[nodiscard]] virtual std::optional<std::vector<std::string>> names_in(const std::string& folder) const;
  [[nodiscard]] virtual bool shows(const std::string& folder, const std::string& name) const;
  /// The contents of the folder at this path below the root; none if it cannot be read.
  [[nodiscard]] std::vector<DirEntry> entries_of(const std::string& folder) const;
  /// True if there is a file or folder at this path below the root.
  [[nodiscard]] bool is_there(const std::string& path) const;

 private:
  using DirPtr = std::shared_ptr<const Dir>;
  /// A file or folder, and the folder that it is in.
  struct Place {
    DirPtr parent;
    std::string name;  // "" for the root, whose `parent` is itself
    std::string path;
  };
  [[nodiscard]] Result<Place> at(std::string_view path) const;
  [[nodiscard]] Result<Place> place_of(const std::string& shown) const;
  [[nodiscard]] static Result<FileStat> stat_at(const Place& place);
  [[nodiscard]] static Result<DirPtr> folder_at(const Place& place);
  const DirPtr root_;
  std::vector<std::string> chosen_;
};

/// The file in a folder that is shown under this name (names::encode_file); nothing if there is none.
std::optional<std::string> name_on_disk(const Dir& dir, std::string_view shown);

}  // namespace arborfs
