// Recogniser of JSON values inside a log, byte by byte, exactly as lenient as the agents are (omp/FORMAT.md A2 to A8).
//
// Push parser: bytes are fed in pieces of any size, memory does not grow with the value but by one bit a nesting
// level. No recursion. One object serves one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::json {

/// Receives the scalars of the value that stand at depth 1 (members of the outermost object) or depth 2 (members of
/// an object that is a member of the outermost one), for values too long to be held in memory.
class FieldObserver {
 public:
  virtual ~FieldObserver() = default;
  /// `parent_key` is empty at depth 1. `raw` is the scalar as spelled, quotes included; it is cut (`complete` false)
  /// beyond ValueScanner::kMaxObservedBytes. Keys are as spelled between their quotes, cut likewise.
  virtual void on_scalar(std::string_view parent_key, std::string_view key, std::string_view raw, bool complete) = 0;
  /// A container starts at depth 1 under `key`; its offset counted from the value's first byte.
  virtual void on_container(std::string_view key, char opener, std::uint64_t offset) = 0;
  /// The container announced last by on_container at depth 1 ended; offset just behind its closer.
  virtual void on_container_end(std::uint64_t offset) = 0;
};

class ValueScanner {
 public:
  static constexpr std::size_t kMaxObservedBytes = 64 * 1024;

  enum class Verdict {
    need_more,   // every byte was consumed and the value goes on
    value,       // a whole value ended; `used` bytes belong to it
    error,       // a syntax error: the line on which the value started is dropped (omp/FORMAT.md A4)
    unfinished,  // only from finish(): the text ended inside the value (omp/FORMAT.md A5)
  };

  explicit ValueScanner(FieldObserver* observer = nullptr);

  /// Starts anew at a byte that must be the first of a value (white space skipped by the caller).
  void reset();

  /// Feeds the next bytes. `used` tells how many belong to the value when the verdict is `value`; a number ends only
  /// when the byte behind it is seen, which then does not count. After any verdict but need_more call reset().
  Verdict feed(std::string_view piece, std::size_t& used);

  /// The text ends here. `value` for a number that was complete; `unfinished` where the agents wait for more, which
  /// includes an offending token that touches the very end of the text (omp/FORMAT.md A5); `error` else.
  Verdict finish();

  /// After the verdict `value`: the bytes of the value, counted from reset(). Differs from adding up pieces and `used`
  /// in one case: of a lone number such as 12e+x only 12 is the value, and `e+` may have been fed in earlier pieces
  /// (`used` is 0 then).
  std::uint64_t length() const { return length_; }

 private:
  // What the next byte may be.
  enum class Mode : std::uint8_t {
    value,          // a value must start
    first_element,  // behind [
    first_key,      // behind {
    key,            // behind a comma of an object
    colon,
    after_value,  // a comma or the closer of the innermost container
    string,
    escape,
    hex,
    literal,
    minus,
    zero,
    integer,
    point,
    fraction,
    exponent,  // behind e
    exponent_sign,
    exponent_digits,
    bad_word,  // in an offending word, which may touch the end of the text
    bad_end,   // behind an offending token
  };
  enum class Observed : std::uint8_t { outer_key, inner_key, scalar, nothing };

  // Each takes the next byte at `p` and returns where to go on; a verdict other than need_more stops the feeding.
  const char* step(const char* p, const char* end);
  const char* structural(const char* p);
  const char* start_value(const char* p);
  bool start_token(char c);
  const char* offend(const char* p);
  const char* open(const char* p);
  const char* close(const char* p);
  const char* string_bytes(const char* p, const char* end);
  const char* escaped(const char* p);
  const char* hex_digit(const char* p);
  const char* literal_byte(const char* p);
  const char* number_byte(const char* p);
  const char* behind_integer(const char* p);
  const char* no_exponent(const char* p, std::uint64_t back);
  const char* token_done(const char* p);
  const char* value_done(const char* p, std::uint64_t back = 0);
  const char* fail(const char* p);

  std::uint64_t offset_of(const char* p) const;
  bool is_watched() const;
  void observe(Observed what, const char* from);
  void keep_observed(const char* to);

  std::vector<bool> is_object_;  // one bit a nesting level
  FieldObserver* observer_;
  Mode mode_;
  Verdict verdict_ = Verdict::need_more;
  bool in_object_ = false;         // the innermost open container is an object
  bool in_key_ = false;            // the token being read is a key
  bool offending_ = false;         // the token being read stands where it must not
  int hex_left_ = 0;               // digits missing of \uXXXX
  std::string_view literal_left_;  // letters missing of true, false, null
  std::uint64_t position_ = 0;     // bytes fed before the current piece
  std::uint64_t length_ = 0;
  const char* piece_ = nullptr;          // only during feed()
  const char* observed_from_ = nullptr;  // only during feed()
  Observed observed_ = Observed::nothing;
  bool observed_whole_ = true;
  std::array<std::string, 3> observed_text_;
};

struct ValueEnd {
  ValueScanner::Verdict verdict;  // value, error or unfinished
  std::size_t end;                // just behind the value, when it is one
};

/// The same over text that is all there: one value starting at `begin`, which must not be white space.
ValueEnd scan_value(std::string_view text, std::size_t begin);

}  // namespace arborfs::json
