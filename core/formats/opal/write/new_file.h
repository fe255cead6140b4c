// A file of a session that is written under a temporary name and moved into place when it is complete. Until then it
// has a temporary name and is locked (temporary_files.h). One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/log/log_source.h"
#include "core/os/disk.h"
#include "core/os/file_attributes.h"
#include "core/os/file_tree.h"

namespace arborfs::opal {

class NewFile {
 public:
  /// `disk` and `folder` outlive the result. Errors of all functions: those of the disk; of copy() also stale.
  static Result<std::unique_ptr<NewFile>> create(Disk& disk, const Dir& folder, mode_t mode);
  /// Removes the file unless it was published.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// For a file that will replace `original` (core/os/file_attributes.h).
  Result<void> keep_attributes(const File& original) {
    return arborfs::keep_attributes(disk_, original.fd(), fd_.get());
  }
  Result<void> write(std::string_view bytes);
  /// Writes the bytes of a log from `begin` to `end`.
  Result<void> copy(const LogSource& log, std::uint64_t begin, std::uint64_t end);
  /// Makes the empty file a finished copy of another one, with its attributes and times.
  Result<void> copy(const File& file) { return copy_to_file(disk_, file, fd_.get()); }
  /// Writes a line feed unless the last byte is one.
  Result<void> end_line() { return last_ == '\n' ? Result<void>() : write("\n"); }
  /// Finishes the file; no write may follow.
  Result<void> finish(bool sync);
  /// The file with all that is written to it.
  [[nodiscard]] Result<FileStat> stat() const { return folder_.stat(name_); }
  /// Gives the finished file its name, in a folder of the same file system. The caller syncs that folder.
  Result<void> publish(const Dir& to, const std::string& name);
  /// The same for a name that a log has, if the log is still as it was read (core/os/replace_file.h). The file is used
  /// up. Errors also: stale if it is not.
  Result<void> replace(const std::string& name, const FileStat& as_read);

 private:
  NewFile(Disk& disk, const Dir& folder, std::string name, UniqueFd fd)
      : disk_(disk), folder_(folder), name_(std::move(name)), fd_(std::move(fd)) {}
  Result<void> flush();
  Disk& disk_;
  const Dir& folder_;
  const std::string name_;  // the temporary one
  const UniqueFd fd_;
  std::string buffer_;
  char last_ = '\n';
  bool is_published_ = false;
};

/// The log as it was read, held until the file is closed: another arborfs process that replaces or removes it at the
/// same moment finds it held, or finds another log. Opal itself takes no lock. Errors: stale if the log is held, or has
/// changed since it was read.
Result<File> hold_log(const Dir& folder, const std::string& name, const FileStat& as_read);

}  // namespace arborfs::opal
