// The rows that arborfs writes to transcripts (claude/FORMAT.md I). Pure but for new ids and the time; any thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/log/log_index.h"
#include "core/write/command_text.h"

namespace arborfs::claude {

/// The members that the rows of a session share.
struct RowFrame {
  std::string session;  // the name of its file without the ending
  std::string cwd;
  std::string user_type = "external";
  std::string entrypoint = "cli";
  std::string version{};     // "" leaves it out
  std::string git_branch{};  // "" leaves it out
};
/// As the first row of the session has them.
RowFrame frame_of(const Header& header, std::string_view session);

/// A node of the tree.
struct NewRow {
  enum class Kind : std::uint8_t { user, assistant, note };
  Kind kind = Kind::user;
  std::string uuid;
  std::int64_t time_ms = 0;
  std::string said;      // the message in JSON; of a note, its text
  std::string prompt{};  // what a person typed; "" for nothing
};
/// With its line feed, as the lines below. `parent`: "" for a root.
std::string row_line(const RowFrame& frame, const NewRow& row, std::string_view parent);

/// Where the conversation goes on (claude/FORMAT.md C1).
struct Pin {
  std::string leaf;      // "": before the first prompt
  std::string prompt{};  // the last one of a person; "" leaves it out
  bool is_explicit = false;
};
std::string pin_line(const Pin& pin, std::string_view session);

std::string title_line(std::string_view title, std::string_view session);

/// Says that the session has another working directory than its rows (claude/FORMAT.md D2).
std::string relocated_line(std::string_view cwd, std::string_view session);

/// A message of the assistant.
struct ReplyParts {
  std::string id;  // of new_reply_id()
  std::string model;
  std::string blocks;  // the elements of its content, in JSON
  bool calls = false;  // one of them is a call of a tool
};
std::string reply_message(const ReplyParts& reply);
/// An id for all rows of a new reply. Errors: io.
Result<std::string> new_reply_id();

/// The calls of tools that have no result yet, message by message.
class OpenCalls {
 public:
  /// Takes the content of a message, in JSON. False if a result in it answers no open call.
  bool take(std::string_view content);
  [[nodiscard]] bool empty() const { return ids_.empty(); }

 private:
  std::set<std::string> ids_;
};

/// The rows of an append.
struct NewRows : CommandOptions {
  std::vector<NewRow> rows;  // never empty
};
/// Text is a message of the user. JSON objects have a `role` and a `content`, or a `note`. Errors: invalid_argument
/// with the number of the object, not_utf8, too_large.
Result<NewRows> new_rows(const AppendText& text);

/// Fails with invalid_argument if the rows, which follow a conversation with these open calls, would separate a call
/// from its result: models refuse that.
Result<void> check_pairs(OpenCalls open, const std::vector<NewRow>& rows);

}  // namespace arborfs::claude
