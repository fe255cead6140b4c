// Splits the bytes that a program writes to a control file into commands (CONTRACT.md 4.1). One object serves one open
// handle; file offsets are ignored. Pure: no I/O. Used by one thread at a time.
//
// Framing::lines: a piece that ends with a line feed completes one command, which may have several lines. Anything else
// waits. At most kMaxLinesBytes.
//
// Framing::target_and_text: a first line that arrives alone is a command at once. Lines that arrive with it or after it
// belong to the same command, which is complete at finish(): nothing else marks the end of a text that arrives in
// pieces. An object (`{`) is framed as lines. At most kMaxLinesBytes.
//
// Framing::messages: the first byte that is not white space decides.
//   - `{`: JSON values, one after the other. Each is closed by a line feed; only blanks or further values may come
//     before it. All values that one piece completes are one command; the rest waits.
//   - anything else: text. Everything until finish() is one message.
// At most kMaxCommandBytes.
//
// All input must be UTF-8. A piece may end inside a UTF-8 sequence.
//
// A command is accepted whole or refused whole. After an error the stream drops the waiting input and refuses every
// further piece with the same error until finish() or drop(), because that piece may be the rest of the refused
// command. Only if the caller refused a command that was already complete (see fail()) does the next piece begin a new
// one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/json/scan.h"
#include "core/write/verbs.h"

namespace arborfs {

inline constexpr std::size_t kMaxLinesBytes = 64 << 10;
inline constexpr std::size_t kLookBack = 256;

class CommandStream {
 public:
  struct Command {
    std::string text;
    bool is_json = false;  // framed as JSON values
    bool extends = false;  // the command before was the first line of this one
  };
  using Taken = std::optional<Command>;

  CommandStream(Framing framing, std::size_t limit) : framing_(framing), limit_(limit) {}
  explicit CommandStream(Framing framing)
      : CommandStream(framing, framing == Framing::messages ? kMaxCommandBytes : kMaxLinesBytes) {}

  /// Takes the next piece. Returns the command that it completes, if any. `goes_on`: the piece was cut from a longer
  /// one; if it ends inside a value, the complete values before that one wait for the rest too. Errors:
  /// invalid_argument (no further byte can make it valid JSON), not_utf8, too_large.
  Result<Taken> feed(std::string_view piece, bool goes_on = false);
  /// Returns the waiting input as one command; nothing if nothing waits or after a refusal. Errors: invalid_argument
  /// (it ends inside a value), not_utf8 (it ends inside a sequence); the waiting input is then dropped.
  Result<Taken> finish();
  /// The caller refused the last piece, or the command that feed() returned for it.
  void fail(const Error& why);
  /// The caller cannot take the next piece: drops the waiting input and refuses the rest of that command.
  void refuse_rest(const Error& why) { refuse(why); }
  /// Drops the waiting input; the next piece begins a new command.
  void drop();

  /// True if finish() would do something.
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty() || !target_.empty() || refusal_; }
  /// True if a target was taken whose text may follow.
  [[nodiscard]] bool has_target() const { return !target_.empty(); }
  /// True if text waits whose target came with it or before it.
  [[nodiscard]] bool has_text_for_target() const;
  /// Set while every piece is refused, until finish() or drop().
  [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }
  /// True if the waiting input ends when its writer closes one descriptor, even if others stay open. A message text
  /// does not end then: shells close a descriptor after each builtin.
  [[nodiscard]] bool ends_with_its_writer() const;
  [[nodiscard]] std::size_t waiting_bytes() const { return waiting_.size(); }
  /// The waiting input, so that the caller can check it before it is complete.
  struct SoFar {
    std::string text;       // of Framing::messages only the beginning, unless is_whole
    bool is_json = false;   // framed as JSON values
    bool is_whole = false;  // JSON that lacks only its line feed; false above 1 MiB
    std::string fresh;      // the last piece and up to kLookBack bytes before it
  };
  [[nodiscard]] SoFar so_far() const;

 private:
  enum class Mode { undecided, text, json };

  Result<Taken> feed_json(bool goes_on);
  Result<void> scan();
  Result<void> scan_between(char c);
  Result<void> check_bytes(std::string_view piece);
  Result<Taken> feed_lines();
  Error refuse(Error why);
  Command take(std::size_t length);
  void reset();
  void keep(std::string_view piece);

  const Framing framing_;
  const std::size_t limit_;
  Mode mode_ = Mode::undecided;
  std::string waiting_;
  std::size_t fresh_from_ = 0;    // in waiting_, of SoFar::fresh
  std::string target_;            // the line that was taken as a command and whose text may follow
  std::optional<Error> refusal_;  // of a command whose rest may still arrive
  bool is_complete_ = false;      // the last piece was one command from its first byte to its last

  json::ValueScanner scanner_;
  bool in_value_ = false;
  bool needs_end_ = false;    // after a value, before its line feed
  std::size_t scanned_ = 0;   // bytes of waiting_ that the scanner has read
  std::size_t complete_ = 0;  // bytes of waiting_ that are whole values with their line feeds
  std::string cut_sequence_;  // the start of a UTF-8 sequence whose rest has not arrived
};

}  // namespace arborfs
