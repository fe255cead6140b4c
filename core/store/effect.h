// What a change of arborfs did, so that it can be undone (core/session/operations.h, core/write/undo.h): what was
// before, and what is after. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/file.h"

namespace arborfs {

/// One thing that an operation changed.
struct Effect {
  enum class Kind : std::uint8_t {
    file,     // `what` is its path; FileChange
    rows,     // of the database `what`: before null, after a changeset in base64 (core/sqlite/database.h)
    trash,    // the session in the trash under the name `what`: before and after are whether it is there
    session,  // it was created: before null, after its size and time
    notes,    // of the session (core/session/notes.h): before and after, as noted_json(), null for none
    leaf,     // of the session, as LeafStore keeps it: before and after, as texts
    mark,     // of the session, named by `what` (core/store/store_parts.h): before and after, whether it is set
    place,    // of the session: before null, after the relocation that was made (core/write/relocation.h)
    times,    // of the file or folder `what`: the modification time, in nanoseconds, as texts
  };
  Kind kind = Kind::file;
  std::string what;
  std::string before = "null";  // JSON
  std::string after = "null";
};

/// Bytes of a file that a change wrote, and those that were in their place.
struct WrittenRun {
  std::uint64_t at = 0;  // in the file after the change
  std::uint64_t length = 0;
  std::uint64_t hash = 0;  // xxh64
  std::string before;
};

struct FileChange {
  std::string path;
  bool is_new = false;
  std::uint64_t size = 0;  // after the change
  std::vector<WrittenRun> runs;
  std::int64_t time_before = 0;   // the modification time in nanoseconds; 0: not known
  bool is_removed = false;        // the file is gone, with the content that the run has
  std::uint32_t mode_before = 0;  // of a file that was removed

  [[nodiscard]] std::uint64_t size_before() const;
};
/// `bytes` were written to the end of a file that had this stat before.
FileChange appended_to(std::string path, const FileStat& was, std::string_view bytes);
/// A file of this content was created.
FileChange made_file(std::string path, std::string_view content);
/// The content of a file became another one. `was` is its stat before.
FileChange replaced_in(std::string path, std::string_view before, std::string_view after, const FileStat& was);
/// A file of this content and stat was removed.
FileChange removed_file(std::string path, std::string_view content, const FileStat& was);

Effect effect_of(const FileChange& change);
/// Rows of a database changed, as the changeset says (core/sqlite/database.h).
Effect effect_of_rows(std::string database, std::string_view changeset);
/// The leaf of a session moved: what LeafStore kept, and keeps now.
Effect effect_of_leaf(std::string_view before, std::string_view after);
/// Only the modification time of a file or folder changed.
Effect effect_of_time(std::string path, std::int64_t before_ns, std::int64_t after_ns);
/// A mark of a session was set, or taken away.
Effect effect_of_mark(std::string_view name, bool is_set);
/// A session was created; its stat is now this one.
Effect effect_of_new(const FileStat& session);
/// Nothing if the change is of another kind, or cannot be read.
std::optional<FileChange> file_change_of(const Effect& effect);

}  // namespace arborfs
