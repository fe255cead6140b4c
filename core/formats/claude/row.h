// One row of a transcript, reduced to the facts that the index needs (claude/FORMAT.md B). Used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/places.h"
#include "core/log/line_reader.h"

namespace arborfs::claude {

struct Row {
  enum class Kind : std::uint8_t {
    aside,     // neither in the tree nor of use for it
    node,      // an entry of the tree
    loose,     // would be a node if it had a uuid (B7)
    progress,  // not in the tree, but its children count as those of its parent (B4)
    pin,       // says where the conversation continues (C1)
    left_out,  // not shown although it is not known as bookkeeping; `name` says what it is
    bad,       // not JSON
  };
  /// The role of a node in the program's reply to a prompt (C3).
  enum class Part : std::uint8_t { other, block, result };

  Kind kind = Kind::aside;
  Part part = Part::other;
  bool is_sidechain = false;
  bool is_message = false;   // of the user or the assistant
  bool has_parent = false;   // it has the member parentUuid, whatever that is
  bool is_boundary = false;  // of a compaction
  bool is_explicit = false;  // of a pin
  std::uint64_t offset = 0;  // of the JSON value in the log
  std::uint64_t length = 0;
  std::uint64_t rest = 0;  // bytes after the value on its line, which belong to no row
  std::uint64_t hash = 0;  // of the bytes of a node or a loose row
  std::string_view uuid;
  std::string_view parent;  // "" for a root
  std::string_view before;  // of a boundary: the node before it for people (C4); "" if it names none
  std::string_view timestamp;
  std::string_view reply;  // the message id of an assistant's node
  std::string_view name;   // the word in the entry's file name; of a row that is left out, its type
  std::string_view leaf;   // of a pin; "" for null
};

/// True for the text of a user's row that is a command of the program, or its output (B3).
bool is_command_text(std::string_view text);

class RowParser {
 public:
  /// Bytes that must be readable after every line; their values do not matter.
  static constexpr std::size_t kPadding = json::Places::kPadding;

  /// Reads one line, without white space around it. Texts of the row point into `line` or `texts`. Sets all but offset.
  Row parse(std::string_view line, std::deque<std::string>& texts);

 private:
  json::Places places_;
};

/// Without asides.
struct Stretch : StretchRows<Row, RowParser> {
  void take(const LineReader::Line& line, RowParser& parser);
};

}  // namespace arborfs::claude
