// OpenCode's JSON files, by their names and texts (opencode/FORMAT.md F1). Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/formats/opencode/session_archive.h"
#include "core/os/file.h"
#include "core/store/finding.h"

namespace arborfs::opencode {

/// `<id>.json`
std::string file_of_id(std::string_view id);

/// The ids of the files `<id>.json`, in byte order; none if there is no such directory.
std::vector<std::string> ids_in(const Result<Dir>& dir);
/// The same for writers, which must not take a folder that cannot be read for an empty one. Errors: those of reading
/// it, except that it does not exist.
Result<std::vector<std::string>> all_ids_in(const Result<Dir>& dir);
Result<std::vector<std::string>> all_ids_in(const Dir& dir);

/// The file's text; "" if there is none that can be read, or if it is longer than 64 MiB.
std::string text_in(const Dir& dir, std::string_view id);
std::string text_in(const Result<Dir>& dir, std::string_view id);
/// The same for writers. Errors: not_found; too_large above 64 MiB; those of reading it.
Result<std::string> whole_text_in(const Dir& dir, std::string_view id);

/// When a message was created. Messages sort by that, because ids start over every two years (opencode/FORMAT.md A4).
/// Infinity for a message without a time, which is being written: it comes last.
double created_in(std::string_view message);

/// True for the name of a file that arborfs writes among those of OpenCode and that does not have its own name yet
/// (opencode/FORMAT.md F).
bool is_draft_name(std::string_view name);

/// The name, in the storage, of the note of what a fork writes for this session (opencode::ForkNote).
std::string fork_note_name(std::string_view session);
/// The notes of forks whose writers were killed: none has it locked.
std::vector<std::string> killed_forks_in(const Dir& storage);

/// What killed writers of arborfs left in the storage.
std::vector<FileFinding> leftovers_in(const std::string& storage);

}  // namespace arborfs::opencode
