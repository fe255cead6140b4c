// Where one command ends and the next begins in what a program writes to a control file (DESIGN 4). One object stands
// behind one open handle; offsets mean nothing. Pure. Used by one thread at a time.
//
// Framing::lines: what is written is a command as soon as it ends with a line feed; all lines of it belong to the one
// command. Anything else waits. At most kMaxLinesBytes.
//
// Framing::messages: the first byte that is not white space decides.
//  - `{`: from here on JSON values, one behind the other, each closed by a line feed before which only blanks or a
//  further value may
//    stand. All that are complete in one piece are one command, the rest waits.
//  - anything else: text; everything until finish() is one message.
// Both must be UTF-8, of which a sequence may be cut between pieces. At most kMaxCommandBytes.
//
// After an error everything that waited and the piece that failed are dropped. JSON and lines begin anew with the next
// piece; a text of which earlier pieces had been taken goes on failing until finish(), so that no part of a message is
// ever taken for the whole. White space right behind an incomplete command that was refused belongs to it: shells write
// the newline although what stands before it failed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/json/scan.h"
#include "core/manager/verbs.h"

namespace arborfs {

inline constexpr std::size_t kMaxLinesBytes = 64 << 10;

class CommandStream {
 public:
  struct Command {
    std::string text;
    bool is_json = false;  // framed as JSON values
  };
  using Taken = std::optional<Command>;

  CommandStream(Framing framing, std::size_t limit) : framing_(framing), limit_(limit) {}
  explicit CommandStream(Framing framing)
      : CommandStream(framing, framing == Framing::lines ? kMaxLinesBytes : kMaxCommandBytes) {}

  /// Takes the next piece and gives the command that it completes, if any. `goes_on`: the piece is known to be cut from
  /// a longer one; when it ends inside a value, the values before that wait for the rest too. Errors: invalid_argument
  /// (can become no JSON any more), not_utf8, too_large.
  Result<Taken> feed(std::string_view piece, bool goes_on = false);
  /// Takes what waits, as one command; nothing when nothing waits. Errors: invalid_argument (inside a value), not_utf8
  /// (inside a sequence); it is dropped then.
  Result<Taken> finish();
  /// What the last piece led to failed elsewhere: as if feed() had.
  void fail(const Error& why);
  /// Drops what waits; the next piece begins anew.
  void drop() { reset(); }

  /// finish() would give a command, or an error.
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty(); }
  /// What waits is text of which finish() makes a message.
  [[nodiscard]] bool is_text() const { return mode_ == Mode::text; }
  [[nodiscard]] std::size_t waiting_bytes() const { return waiting_.size(); }

 private:
  enum class Mode { undecided, text, json };

  Result<Taken> feed_json(std::string_view piece, bool goes_on);
  Result<void> scan();
  Result<void> scan_between(char c);
  Result<void> check_bytes(std::string_view piece);
  Error refuse(Error why, std::size_t pieces_before);
  Command take(std::size_t length);
  void reset();

  const Framing framing_;
  const std::size_t limit_;
  Mode mode_ = Mode::undecided;
  std::string waiting_;
  std::size_t pieces_ = 0;       // of the text that waits
  std::optional<Error> broken_;  // of a text that was refused half-way
  bool is_refused_ = false;      // what came last, before it was complete

  json::ValueScanner scanner_;
  bool in_value_ = false;
  bool needs_end_ = false;    // behind a value, before its line feed
  std::size_t scanned_ = 0;   // bytes of waiting_ behind which the scanner stands
  std::size_t complete_ = 0;  // bytes of waiting_ that are whole values with their line feeds
  std::string cut_sequence_;  // the beginning of a UTF-8 sequence whose rest has not come
};

}  // namespace arborfs
