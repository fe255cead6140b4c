// A session at another working directory: the rows, files and texts in which its agent keeps the present one, and what
// they become (CONTRACT.md 4.12). A format describes it (Writer::describe_relocation); make_relocation() makes it, for
// all formats.
//
// Each step that is done already is skipped. So a relocation that was killed is completed by making it again, and the
// same function takes one back: make_relocation(reversed(made)). Files keep their modification times, and every byte
// that is not named here. No file is ever replaced by another one. Any thread; the caller holds the session's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/session.h"
#include "core/store/store.h"
#include "core/write/transfer.h"

namespace arborfs {

/// A folder that became another one, with all that is below it.
class FolderMove {
 public:
  /// Absolute paths; the new one is resolved.
  FolderMove(const std::string& from, const std::string& to);
  /// Where a path is now; nothing for one that did not move. What is at the new place already stays there, even if that
  /// is below the old one.
  [[nodiscard]] std::optional<std::string> now(const std::string& path) const;
  [[nodiscard]] const std::string& from() const { return from_; }

 private:
  const std::string from_;           // as it is spelled
  const std::string from_resolved_;  // without links
  const std::string to_;
};

struct Relocation {
  /// A text in a file. If one of both is "", the other is the file's end; at the offset 0 it is all of the file, which
  /// is made before the rows change, or removed after that.
  struct Edit {
    std::string folder;  // absolute; "" for the folder of the session's log
    std::string file;
    std::uint64_t offset = 0;
    std::string before;
    std::string after;
    std::int64_t time_ns = 0;  // the modification time of a file that is made
    bool operator==(const Edit&) const = default;

    [[nodiscard]] bool makes_file() const { return offset == 0 && before.empty(); }
    [[nodiscard]] bool removes_file() const { return offset == 0 && after.empty(); }
  };
  /// A text in a row of a database. A row with another text stays as it is. The names are made of a-z and `_`.
  struct Row {
    std::string database;  // its path, absolute
    std::string table;
    std::string key_column;
    std::string key;
    std::string column;
    std::string before;
    std::string after;
    bool operator==(const Row&) const = default;
  };

  std::string agent;
  std::string id;        // of the session
  std::string sessions;  // the sessions folder of its store
  LogPlace from;
  LogPlace to;  // in the same store
  std::string cwd_before;
  std::string cwd_after;
  // In the order in which they are made, so that the agent's last word on the working directory changes last:
  std::vector<Row> rows;
  std::vector<Belonging> files;  // of the folder `from`, which go to the folder `to`; none if that is the same
  std::vector<Edit> edits;       // of files where they are then
  bool operator==(const Relocation&) const = default;
};

/// That of a session, by its head, without any change yet, not even of the place. Errors: invalid_argument if its
/// working directory did not move.
Result<Relocation> start_relocation(const Session& session, const FolderMove& move);
/// The smallest edit that makes `after` of a text `before`, neither of them empty, at an offset of a file.
Relocation::Edit edit_of(std::uint64_t offset, std::string_view before, std::string_view after,
                         std::string folder = "");
/// The one that takes it back.
Relocation reversed(Relocation made);

/// One line of JSON without a line feed, which another process reads later to take it back. Edits and rows have only
/// the bytes that change and a few around them, or all of a file that is made; so nothing of the conversation is in it.
std::string relocation_text(const Relocation& made);
/// Errors: corrupt.
Result<Relocation> read_relocation(std::string_view text);

/// Fails as make_relocation() would. Changes nothing.
Result<void> check_relocation(const Store& store, const Relocation& wanted);
/// Makes all of it or, unless the disk fails again, nothing. Errors: already_exists if a file is in its new folder and
/// in its old one; not_found if the session is gone; stale if a text is neither as before nor as after; unsupported
/// if the folders are on two file systems; busy for a database; those of the disk.
Result<void> make_relocation(const Store& store, const Relocation& wanted, bool sync);

}  // namespace arborfs
