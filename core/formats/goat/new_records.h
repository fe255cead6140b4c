// The lines that arborfs adds to goat's files, and the members it changes in goat's metadata, as Go writes them
// (goat/FORMAT.md B1, C1, C2). Pure but for new ids and the time; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/os/temp_file.h"
#include "core/write/command_text.h"

namespace arborfs::goat {

/// goat's modes, to which the umask applies.
inline constexpr mode_t kFolderMode = 0755;
inline constexpr mode_t kFileMode = 0644;

/// A folder of files of goat, of which it and they may have these permissions.
inline Result<TempFolder::Ptr> new_folder(Disk& disk, const Dir& parent, mode_t permissions, bool sync) {
  return TempFolder::create(disk, parent, {kFolderMode & permissions, kFileMode & permissions}, sync);
}

/// goat cannot load a longer line (goat/FORMAT.md C5).
inline constexpr std::size_t kLongestLine = std::size_t{10} << 20U;

/// The records of an append.
struct NewRecords : CommandOptions {
  struct Record {
    std::string id;
    std::string json;  // of a message: its members as an object; of a transcript: the whole record
  };
  std::vector<Record> records;
  bool is_transcript = false;
};

/// Text is a message of the user. JSON objects with a `role` are messages, others with a `type` are records of the
/// transcript, of the session with this id. Errors: invalid_argument with the number of the object, not_utf8,
/// too_large.
Result<NewRecords> new_records(const AppendText& text, const std::string& session_id);

/// The shape of the lines of a session.
enum class Shape : std::uint8_t { nested, flat };
/// One line, with its line feed.
std::string message_line(Shape shape, const NewRecords::Record& record, std::string_view timestamp);

/// JSON text with the characters escaped that Go's encoder escapes.
std::string go_text(std::string_view json);
/// A string as Go's encoder writes it.
std::string go_literal(std::string_view utf8);

/// The time now, in RFC 3339.
std::string timestamp_now();

}  // namespace arborfs::goat
