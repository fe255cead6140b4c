// Where one command ends and the next begins in what a program writes to a control file (CONTRACT.md 4.1). One object
// stands behind one open handle; offsets mean nothing. Pure. Used by one thread at a time.
//
// Framing::lines: what is written is a command as soon as it ends with a line feed; all lines of it belong to the one
// command. Anything else waits. At most kMaxLinesBytes.
//
// Framing::target_and_text: a first line that comes alone is a command at once. Lines that come with it or behind it
// are the rest of the same command, which is complete at finish(); nothing else tells where a text ends that comes in
// pieces. An object (`{`) is framed as lines. At most kMaxLinesBytes.
//
// Framing::messages: the first byte that is not white space decides.
//  - `{`: from here on JSON values, one behind the other, each closed by a line feed before which only blanks or a
//  further value may
//    stand. All that are complete in one piece are one command, the rest waits.
//  - anything else: text; everything until finish() is one message.
// At most kMaxCommandBytes.
//
// Everything must be UTF-8, of which a sequence may be cut between pieces.
//
// A command is taken whole or refused whole: after an error everything that waited is dropped, and every further piece
// is refused with the same error until finish() or drop(), because it may be the rest of what was refused. Only behind
// a complete command that was refused elsewhere the next piece begins anew.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/json/scan.h"
#include "core/writer/verbs.h"

namespace arborfs {

inline constexpr std::size_t kMaxLinesBytes = 64 << 10;

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

  /// Takes the next piece and gives the command that it completes, if any. `goes_on`: the piece is known to be cut from
  /// a longer one; when it ends inside a value, the values before that wait for the rest too. Errors: invalid_argument
  /// (can become no JSON any more), not_utf8, too_large.
  Result<Taken> feed(std::string_view piece, bool goes_on = false);
  /// Takes what waits, as one command; nothing when nothing waits, or after a refusal. Errors: invalid_argument (inside
  /// a value), not_utf8 (inside a sequence); it is dropped then.
  Result<Taken> finish();
  /// The last piece, or the command that feed() gave for it, was refused elsewhere.
  void fail(const Error& why);
  /// The next piece cannot be taken: what waits is dropped, and the rest of it refused.
  void refuse_rest(const Error& why) { refuse(why); }
  /// Drops what waits; the next piece begins anew.
  void drop();

  /// finish() would do something.
  [[nodiscard]] bool is_waiting() const { return !waiting_.empty() || !target_.empty() || refusal_; }
  /// A target was taken, and its text may follow.
  [[nodiscard]] bool has_target() const { return !target_.empty(); }
  /// The text of a command whose target came with it or before it is waiting.
  [[nodiscard]] bool has_text_for_target() const;
  /// Everything is refused until finish() or drop().
  [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }
  /// What waits ends when the program that wrote it closes a descriptor, though others stay open. A text does not:
  /// shells close one behind each builtin.
  [[nodiscard]] bool ends_with_its_writer() const;
  [[nodiscard]] std::size_t waiting_bytes() const { return waiting_.size(); }
  /// What waits, for a look at it before it is complete.
  struct SoFar {
    std::string text;       // of a text: its beginning
    bool is_json = false;   // framed as JSON values
    bool is_whole = false;  // such values, of which only the line feed is missing; not of more than 1 MiB
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
  std::string target_;            // the line that was a command, and whose text may follow
  std::optional<Error> refusal_;  // of a command of which more may come
  bool is_complete_ = false;      // the last piece was a command from its first byte to its last

  json::ValueScanner scanner_;
  bool in_value_ = false;
  bool needs_end_ = false;    // behind a value, before its line feed
  std::size_t scanned_ = 0;   // bytes of waiting_ behind which the scanner stands
  std::size_t complete_ = 0;  // bytes of waiting_ that are whole values with their line feeds
  std::string cut_sequence_;  // the beginning of a UTF-8 sequence whose rest has not come
};

}  // namespace arborfs
