// Files that get their names when they are whole.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/disk.h"
#include "core/os/file.h"

namespace arborfs {

// Files and folders that are filled under a temporary name and get their own when they are complete, so that no program
// finds them half written. Temporary names begin with a dot: no agent takes them for its own. A file is open for
// writing, and files and folders are locked (flock), until they have their own name: one that no process holds was left
// by a killed one. One object is used by one thread; the functions by any.

/// 16 hex digits, different on each call.
std::string unique_hex();
/// The temporary name with this part, which is one component; by default a different one on each call.
std::string temporary_name(std::string_view unique = unique_hex());
bool is_temporary_name(std::string_view name);
/// For a file that is being removed: it is examined under this name, and may have what another program wrote.
std::string removed_name();
bool is_removed_name(std::string_view name);
/// A file with such a name that was written later than this may still be filled.
inline constexpr std::int64_t kMaybeInUseNs = 60'000'000'000;

/// True if the file still has the content that it had when the change was decided.
using IsAsRead = std::function<bool(const File& old)>;

class TempFile {
 public:
  using Ptr = std::unique_ptr<TempFile>;
  /// `disk` and `folder` outlive the result. The umask applies to `mode`. Errors of all functions: those of the disk;
  /// here also busy if other processes keep removing it.
  static Result<Ptr> create(Disk& disk, const Dir& folder, mode_t mode);
  /// The same under a name of the caller's choice; already_exists if that is taken.
  static Result<Ptr> create(Disk& disk, const Dir& folder, mode_t mode, std::string name);
  static Result<Ptr> create(Disk& disk, Dir&& folder, mode_t mode, std::string name);
  /// A file that has no name, for a store in memory; only take() ends it.
  static Ptr nameless(Disk& disk, UniqueFd fd);
  /// Removes the file unless it has got its name.
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  /// For a file that will replace `original` (file_tree.h).
  Result<void> keep_attributes(const File& original, std::optional<mode_t> mode = std::nullopt);
  /// Writes in large pieces; the others below write what is left.
  Result<void> write(std::string_view bytes);
  /// Writes a line feed unless the last byte is one.
  Result<void> end_line() { return last_ == '\n' ? Result<void>() : write("\n"); }
  /// Completes the file; with `sync` it is on the disk then. Writes after this call are not synced.
  Result<void> finish(bool sync);
  /// Gives it its name in a folder of the same file system, which the caller syncs. Errors also: already_exists.
  Result<void> publish(const Dir& to, const std::string& name, Disk::Existing existing);
  /// Gives it the name of a file of its folder, unless that has changed: false (replace_as_read). It is used up.
  Result<bool> replace(const std::string& name, const IsAsRead& is_as_read);
  /// Closes it before it is published, for a name that no process may find open for writing.
  Result<UniqueFd> take();

  [[nodiscard]] Result<FileStat> stat() const { return folder_->stat(name_); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const Dir& folder() const { return *folder_; }
  [[nodiscard]] Disk& disk() const { return disk_; }

 private:
  TempFile(Disk& disk, std::shared_ptr<const Dir> folder, std::string name, UniqueFd fd)
      : disk_(disk), folder_(std::move(folder)), name_(std::move(name)), fd_(std::move(fd)) {}
  static Result<Ptr> make(Disk& disk, std::shared_ptr<const Dir> folder, mode_t mode, std::string name);
  Result<void> flush();
  Disk& disk_;
  const std::shared_ptr<const Dir> folder_;
  std::string name_;  // the temporary one; "" once it is published
  UniqueFd fd_;
  std::string buffer_;
  char last_ = '\n';
};

/// Writes a new file completely or not at all; with `sync` it is on the disk on return. If it fails it leaves nothing,
/// unless only the sync of the folder failed. Errors: those of the disk; already_exists with Existing::keep.
Result<void> write_whole_file(Disk& disk, const Dir& folder, const std::string& name, mode_t mode,
                              std::string_view bytes, Disk::Existing existing, bool sync);

class TempFolder {
 public:
  using Ptr = std::unique_ptr<TempFolder>;
  /// The modes of it and of the files in it, to which the umask applies.
  struct Modes {
    mode_t folder = 0700;
    mode_t file = 0600;
  };
  /// `disk` and `parent` outlive it. Errors of all functions: those of the disk.
  static Result<Ptr> create(Disk& disk, const Dir& parent, Modes modes, bool sync, std::string name = temporary_name());
  /// Removes it unless it was published.
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  [[nodiscard]] const Dir& dir() const { return dir_; }
  Result<void> put(const std::string& file, std::string_view bytes);
  /// Creates an empty file in it.
  Result<UniqueFd> create_file(const std::string& file) { return disk_.create(dir_, file, modes_.file); }
  /// Renames it to its own name in the parent. Errors also: already_exists.
  Result<void> publish(const std::string& name) { return publish(parent_, name); }
  Result<void> publish(const Dir& to, const std::string& name);
  /// Syncs that name to the disk. On an error the folder still has its name.
  Result<void> sync_name() { return sync_ ? disk_.sync_folder(parent_) : Result<void>(); }

 private:
  TempFolder(Disk& disk, const Dir& parent, std::string name, Dir dir, Modes modes, bool sync)
      : disk_(disk), parent_(parent), name_(std::move(name)), dir_(std::move(dir)), modes_(modes), sync_(sync) {}
  Disk& disk_;
  const Dir& parent_;
  std::string name_;  // "" once published
  Dir dir_;
  const Modes modes_;
  const bool sync_;
};

// Replaces or removes a file that other programs write without a lock, and loses nothing that they write in the same
// moment. Any thread.

/// Puts the finished file `fresh` in place of `name`, in the same folder. False if another program has written to
/// `name` since it was read: its file stays. The two names are exchanged first. The old file is examined when no
/// program can open it by its name any more and none has it open for writing. If it has changed, the names are
/// exchanged again. Where the file system cannot exchange names, the file is examined before it is replaced, and a
/// write in between is lost.
///
/// The name `fresh` is gone afterwards. It is kept only if the disk fails while it leads to the other program's file,
/// and the error says so. The caller syncs the folder. Errors: those of the disk.
Result<bool> replace_as_read(Disk& disk, const Dir& folder, const std::string& fresh, const std::string& name,
                             const IsAsRead& is_as_read);

/// Removes `name`. False if another program has written to it since it was read, or has it open for writing: it stays.
/// The file gets the unused name `aside`, in the same folder, before it is examined as above, and its own name again if
/// it stays. It keeps the name `aside` only if the process is killed, or, as the error says, if the disk fails or its
/// own name has been taken meanwhile. The caller syncs the folder. Errors: those of the disk; already_exists.
Result<bool> remove_as_read(Disk& disk, const Dir& folder, const std::string& name, const std::string& aside,
                            const IsAsRead& is_as_read);

// Files that killed writers left among those of an agent. Any thread.

/// The files of a folder that have a temporary name, or one that `is_ours` accepts, and that no
/// process has open for writing. Only for writers that keep such a file open until it has its own name.
std::vector<std::string> leftover_files(const Dir& folder,
                                        const std::function<bool(std::string_view name)>& is_ours = nullptr);

/// The files with a temporary or a removed name that no process has open for writing, and the folders with a temporary
/// name that no process has locked: a writer has a file open, or a folder locked, until that has its own name.
std::vector<std::string> leftovers_of_writers(const Dir& folder);

/// True if leftovers_of_writers() still has this name.
bool is_leftover(const Dir& folder, const std::string& name);

}  // namespace arborfs
