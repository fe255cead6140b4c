// Recognises JSON values inside a log, byte by byte, exactly as leniently as the agents do (omp/FORMAT.md A2 to A8).
//
// A push parser: bytes are fed in pieces of any size. Memory grows by one bit per nesting level, not with the size of
// the value. No recursion. An object is used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/simd_classify.h"

namespace arborfs::json {

/// Receives the scalars of a value at depth 1 (members of the outermost object) and depth 2 (members of an object that
/// is a member of the outermost one), for values too long to be held in memory.
class FieldObserver {
 public:
  virtual ~FieldObserver() = default;
  /// `parent_key` is empty at depth 1; members of an object whose own key is empty are left out. `raw` is the scalar's
  /// raw text, quotes included; text past ValueScanner::kMaxObservedBytes is cut, and `complete` is then false. Keys
  /// are the raw text between their quotes, cut in the same way.
  virtual void on_scalar(std::string_view parent_key, std::string_view key, std::string_view raw, bool complete) = 0;
  /// A container starts at depth 1 under `key`; `offset` counts from the value's first byte.
  virtual void on_container(std::string_view key, char opener, std::uint64_t offset) = 0;
  /// The last container announced by on_container has ended; `offset` is just past its closer.
  virtual void on_container_end(std::uint64_t offset) = 0;
};

class ValueScanner {
 public:
  static constexpr std::size_t kMaxObservedBytes = 4 * 1024 * 1024;

  enum class Verdict {
    need_more,   // every byte was consumed and the value continues
    value,       // a whole value ended; `used` bytes belong to it
    error,       // a syntax error: the line on which the value started is dropped (omp/FORMAT.md A4)
    unfinished,  // only from finish(): the text ended inside the value (omp/FORMAT.md A5)
  };

  explicit ValueScanner(FieldObserver* observer = nullptr);

  /// Resets the scanner; the next byte fed must be the first of a value (the caller skips white space).
  void reset();

  /// Feeds the next bytes. If the verdict is `value`, `used` is how many of them belong to the value. A number ends
  /// only when the byte after it is seen; that byte is not counted. After any verdict but need_more, call reset().
  Verdict feed(std::string_view piece, std::size_t& used);

  /// Call it when the text ends. Returns `value` if a number was complete; `unfinished` where the agents wait for more
  /// text, which includes an offending token that touches the end of the text (omp/FORMAT.md A5); otherwise `error`.
  Verdict finish();

  /// After the verdict `value`: the length of the value in bytes, counted from reset(). It differs from the sum of the
  /// earlier pieces and `used` in one case: in 12e+x outside any container only 12 is the value, and `e+` may have been
  /// fed in earlier pieces (`used` is then 0).
  std::uint64_t length() const { return length_; }

 private:
  // The token that the scanner expects next.
  enum class Mode : std::uint8_t {
    value,          // a value must start
    first_element,  // after [
    first_key,      // after {
    key,            // after a comma in an object
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
    exponent,  // after e
    exponent_sign,
    exponent_digits,
    bad_word,  // in an offending word, which may touch the end of the text
    bad_end,   // after an offending token
  };
  enum class Observed : std::uint8_t { outer_key, inner_key, scalar, nothing };

  // Each handles the byte at `p` and returns where to continue; a verdict other than need_more stops feed().
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

  std::vector<bool> is_object_;  // one bit per nesting level
  FieldObserver* observer_;
  Mode mode_;
  Verdict verdict_ = Verdict::need_more;
  bool in_object_ = false;         // the innermost open container is an object
  bool in_key_ = false;            // the token being read is a key
  bool offending_ = false;         // the token being read is not allowed in its place
  int hex_left_ = 0;               // digits of \uXXXX still to come
  std::string_view literal_left_;  // letters of true, false or null still to come
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
  std::size_t end;                // just past the value, if there is one
};

/// Scans complete text: one value that starts at `begin`, which must not be white space.
ValueEnd scan_value(std::string_view text, std::size_t begin);

/// True if the text is one value, without white space around it.
bool is_one_value(std::string_view text);

/// Bytes that must be readable after the text of has_valid_escapes(); their values do not matter.
inline constexpr std::size_t kEscapePadding = 64;
static_assert(kEscapePadding >= kMarkPadding);

/// True if every backslash starts one of JSON's escapes or is escaped by the one before it. All backslashes in `text`
/// must be inside terminated strings. Escaped lone surrogates are valid (RFC 8259, 8.2).
bool has_valid_escapes(std::string_view text);

/// The bytes that may follow the backslash in a two-byte escape, which is any escape but \u.
inline constexpr ByteSets kSimpleEscapes("\"\\/bfnrt");

}  // namespace arborfs::json
