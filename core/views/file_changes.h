// What edits, writes and patches made of files, as a diff for `patch` and `git apply`, as far as it is known. The
// contents of a file are known from a write, or from a record that has them whole; then all its changes are one diff.
// Of other files, each change is a diff of the lines that are known. Notes say what is not known. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/views/tool_calls.h"
#include "core/views/tool_patch.h"

namespace arborfs {

/// A part of the diff: one file from one known state to another, or one change of lines.
struct DiffPart {
  std::string path;
  std::vector<EntryOf> entries;    // with the calls
  std::vector<std::string> notes;  // what is not known, each a line
  std::string diff;                // "" if nothing of the change is known
};

struct EditedText {
  std::string_view before;
  std::string_view after;
  bool is_all = false;
  bool takes_line_feed = false;  // ToolShape::takes_line_feed
};

/// One change of one file, by one entry.
struct ChangeStep {
  EntryOf entry;
  std::string path;
};

/// Takes the changes in the order in which they were made.
class FileChanges {
 public:
  using Contents = std::optional<std::string>;  // nothing: there is no such file

  /// What the file holds right before the step, by the records.
  void found(const ChangeStep& step, Contents contents);
  /// What the file holds after the step. It may have existed before.
  void write(const ChangeStep& step, std::string contents);
  void edit(const ChangeStep& step, std::span<const EditedText> replacements);
  /// One file of a patch, which names `moved_to` if it moves it.
  void patch(const ChangeStep& step, const PatchedFile& file, const std::string& moved_to);
  /// Lines with their numbers (ResultShape::numbered). False, with nothing done, if they cannot be read so.
  bool lines(const ChangeStep& step, std::string_view numbered);
  /// The step may have changed the file, in a way that is not known.
  void unknown(const ChangeStep& step, std::string note);
  [[nodiscard]] bool is_known(const std::string& path) const;

  /// In the order of the first changes, but moves and empty files last. Files that are as they were have no part.
  [[nodiscard]] std::vector<DiffPart> take() &&;
  /// Changes that are left out because all texts together are too long.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Part {
    DiffPart change;
    std::string name;       // of the file where the diff is applied
    bool is_known = false;  // `before` and `after` are the file
    bool is_last = false;   // it has no lines, and `patch` would take those below it for its own
    Contents before;
    Contents after;
  };

  /// A file that moved while its contents were not known. It moves at the end of the diff, because `patch` does not
  /// find it under its new name before.
  struct Move {
    std::string from;
    std::vector<EntryOf> entries;
  };

  static Part part_of(const std::string& path, const Move& move);
  Part* open_part(const ChangeStep& step);
  Part& add_part(const ChangeStep& step);
  void set(const ChangeStep& step, Contents contents);
  void show_edit(const ChangeStep& step, std::span<const EditedText> replacements);
  void show_chunks(const ChangeStep& step, const PatchedFile& file, const std::string& moved_to);
  bool has_room(const ChangeStep& step, std::size_t bytes);

  std::vector<Part> parts_;
  std::map<std::string, std::size_t> open_;  // by path: the part with the known contents
  std::map<std::string, Move> moves_;        // by the new path
  std::uint64_t kept_ = 0;                   // bytes
  std::uint64_t left_out_ = 0;
};

}  // namespace arborfs
