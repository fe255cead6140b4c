// The conversation of a session, read for a session of another agent (CONTRACT.md 4.9). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/entry/record_renderer.h"
#include "core/entry/turn.h"
#include "core/session/session.h"
#include "core/write/context_edit.h"
#include "core/write/new_file.h"

namespace arborfs {

/// The number of parts of a conversation that were written as text, because they could not be written in their own
/// form, and of those that were mended, because models refuse them.
struct AsText {
  std::size_t reasoning = 0;
  std::size_t calls = 0;    // without a result
  std::size_t results = 0;  // without a call
  std::size_t errors = 0;   // results that say only in their text that the call failed
  std::size_t images = 0;
  std::size_t notes = 0;  // turns with Turn::is_note
  // Mended:
  std::size_t names = 0;   // of tools, with characters that models refuse, or too long
  std::size_t blanks = 0;  // texts of white space alone, left out
  std::size_t starts = 0;  // 1 if a text precedes the assistant, which models refuse as the first to speak
};

struct Conversation {
  /// What models accept. The user speaks first. Every call has an id of its own and a result, and the results of a
  /// turn's calls, in the order of the calls, are the next turn. No turn and no text is empty or blank, except outputs
  /// of tools; every turn has a time, times do not go back, every image has its bytes and a type that models take, the
  /// name of a tool is in [A-Za-z0-9_-]{1,128}, and the arguments of a call are one JSON object.
  std::vector<Turn> turns;
  std::string cwd;                       // "" if it is not known
  std::string title;                     // "" for none
  std::string agent;                     // of the source
  std::string id;                        // of the source
  AsText as_text;                        // in `turns` already
  std::size_t left_out;                  // entries of the path that are not in it
  mode_t permissions = kAnyPermissions;  // that files with it may have (permissions_of, new_file.h)
};

/// The path to an entry, spelled as for find_target; "" for the leaf. Reach::path also has what came before a
/// compaction that begins a path of its own. Errors: not_found; those of reading.
Result<SpokenPath> spoken_path(const SessionPtr& session, const std::string& target, Reach reach);

/// What is said on that path, without what `edit` leaves out. Changes nothing. Errors: not_found, also if an entry of
/// `edit` is not on the path; too_large; invalid_argument if it has no content; those of edit_turns and of reading.
Result<Conversation> read_conversation(const SessionPtr& session, const std::string& target,
                                       Reach reach = Reach::context, const ContextEdit& edit = {});

/// The text that replaces reasoning, an image or the output of a failed call if a format cannot represent it. Counts
/// it.
std::string reasoning_as_text(const std::string& text, AsText& counts);
std::string image_as_text(const TurnImage& image, AsText& counts);
std::string failure_as_text(const std::string& output, AsText& counts);

/// A call without a result, and a result without a call. `tool`: "" if it is not known.
std::string call_as_text(const std::string& tool, const std::string& arguments);
std::string stray_result_as_text(const std::string& tool, const std::string& output);

/// A whole result as text, including images.
std::string result_as_text(const TurnPart& result, AsText& counts);

}  // namespace arborfs
