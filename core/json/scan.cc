#include "core/json/scan.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/json/text_bytes.h"

namespace arborfs::json {

namespace {

std::string_view behind_first_letter(char c) {
  switch (c) {
    case 't':
      return "rue";
    case 'f':
      return "alse";
    case 'n':
      return "ull";
    default:
      return {};
  }
}

bool is_exponent(char c) {
  return c == 'e' || c == 'E';
}

constexpr ByteSets kSets("\\", "\"/bfnrt");
static_assert(has_same_bytes(kSets, kSimpleEscapes));
constexpr std::size_t kAtOnce = 32;

/// True if `u` points to the `u` of a \uXXXX escape.
bool is_number_escape(const char* u) {
  constexpr std::size_t kDigits = 4;
  return *u == 'u' && std::all_of(u + 1, u + 1 + kDigits, [](char c) { return hex_value(c) >= 0; });
}

/// Finds the escaped bytes: those that follow a backslash that starts an escape.
class EscapedBytes {
 public:
  /// Marks the escaped bytes among the next 64; `backslashes` marks the backslashes. Call it for each block in order.
  /// For a run of backslashes that starts at an odd position, the addition carries to the position after the run. The
  /// parity of that position then tells whether the length of the run is even or odd.
  std::uint64_t among(std::uint64_t backslashes) {
    constexpr std::uint64_t kEven = 0x5555555555555555;
    backslashes &= ~is_first_escaped_;
    const std::uint64_t followers = backslashes << 1U | is_first_escaped_;
    const std::uint64_t odd_starts = backslashes & ~kEven & ~followers;
    const std::uint64_t sum = odd_starts + backslashes;
    is_first_escaped_ = sum < backslashes ? 1 : 0;
    return (kEven ^ sum << 1U) & followers;
  }

 private:
  std::uint64_t is_first_escaped_ = 0;  // 1 if the first byte of the next block is escaped, else 0
};

/// True if every byte that `marks` marks among the 64 at `block` is the `u` of a \uXXXX escape.
bool are_number_escapes(const char* block, std::uint64_t marks) {
  for (; marks != 0; marks &= marks - 1) {
    if (!is_number_escape(block + std::countr_zero(marks))) {
      return false;
    }
  }
  return true;
}

}  // namespace

ValueScanner::ValueScanner(FieldObserver* observer) : observer_(observer), mode_(Mode::value) {}

void ValueScanner::reset() {
  is_object_.clear();
  mode_ = Mode::value;
  verdict_ = Verdict::need_more;
  in_object_ = in_key_ = offending_ = false;
  position_ = length_ = 0;
  observed_ = Observed::nothing;
}

ValueScanner::Verdict ValueScanner::feed(std::string_view piece, std::size_t& used) {
  const char* p = piece.data();
  const char* const end = p + piece.size();
  piece_ = observed_from_ = p;
  while (p != end && verdict_ == Verdict::need_more) {
    p = step(p, end);
  }
  if (observed_ != Observed::nothing && verdict_ == Verdict::need_more) {
    keep_observed(end);
  }
  used = verdict_ == Verdict::value ? length_ - std::min(length_, position_) : static_cast<std::size_t>(p - piece_);
  position_ += piece.size();
  return verdict_;
}

ValueScanner::Verdict ValueScanner::finish() {
  const bool alone = is_object_.empty() && !offending_;
  switch (mode_) {
    case Mode::zero:
    case Mode::integer:
    case Mode::fraction:
    case Mode::exponent_digits:
      length_ = position_;
      return alone ? Verdict::value : Verdict::unfinished;
    case Mode::exponent:
    case Mode::exponent_sign:
      length_ = position_ - (mode_ == Mode::exponent ? 1 : 2);
      if (alone) {
        return Verdict::value;
      }
      return mode_ == Mode::exponent && !offending_ ? Verdict::unfinished : Verdict::error;
    case Mode::hex:
      return Verdict::error;
    default:
      return Verdict::unfinished;
  }
}

const char* ValueScanner::step(const char* p, const char* end) {
  switch (mode_) {
    case Mode::string:
      return string_bytes(p, end);
    case Mode::escape:
      return escaped(p);
    case Mode::hex:
      return hex_digit(p);
    case Mode::literal:
      return literal_byte(p);
    case Mode::minus:
    case Mode::zero:
    case Mode::integer:
    case Mode::point:
    case Mode::fraction:
    case Mode::exponent:
    case Mode::exponent_sign:
    case Mode::exponent_digits:
      return number_byte(p);
    case Mode::bad_word:
      return is_word(*p) ? p + 1 : fail(p);
    case Mode::bad_end:
      return fail(p);
    default:
      return is_space(*p) ? p + 1 : structural(p);
  }
}

const char* ValueScanner::structural(const char* p) {
  const char c = *p;
  switch (mode_) {
    case Mode::first_element:
      return c == ']' ? close(p) : start_value(p);
    case Mode::first_key:
    case Mode::key:
      if (c == '}' && mode_ == Mode::first_key) {
        return close(p);
      }
      if (c != '"') {
        return offend(p);
      }
      in_key_ = true;
      if (is_watched()) {
        observe(is_object_.size() == 1 ? Observed::outer_key : Observed::inner_key, p + 1);
      }
      mode_ = Mode::string;
      return p + 1;
    case Mode::colon:
      if (c != ':') {
        return offend(p);
      }
      mode_ = Mode::value;
      return p + 1;
    case Mode::after_value:
      if (c == ',') {
        mode_ = in_object_ ? Mode::key : Mode::value;
        return p + 1;
      }
      return c == (in_object_ ? '}' : ']') ? close(p) : offend(p);
    default:
      return start_value(p);
  }
}

const char* ValueScanner::start_value(const char* p) {
  if (*p == '{' || *p == '[') {
    return open(p);
  }
  if (!start_token(*p)) {
    return offend(p);
  }
  if (is_watched()) {
    observe(Observed::scalar, p);
  }
  return p + 1;
}

bool ValueScanner::start_token(char c) {
  if (c == '"') {
    mode_ = Mode::string;
  } else if (c == '-') {
    mode_ = Mode::minus;
  } else if (is_digit(c)) {
    mode_ = c == '0' ? Mode::zero : Mode::integer;
  } else if (literal_left_ = behind_first_letter(c); !literal_left_.empty()) {
    mode_ = Mode::literal;
  } else {
    return false;
  }
  return true;
}

// The token at `p` is a syntax error unless it touches the end of the text, where it may have been cut short.
const char* ValueScanner::offend(const char* p) {
  offending_ = true;
  if (start_token(*p)) {
    return p + 1;
  }
  if (is_word_start(*p)) {
    mode_ = Mode::bad_word;
    return p + 1;
  }
  if (std::string_view("{}[],:;()=.").find(*p) != std::string_view::npos) {
    mode_ = Mode::bad_end;
    return p + 1;
  }
  return fail(p);
}

const char* ValueScanner::open(const char* p) {
  if (observer_ != nullptr && in_object_ && is_object_.size() == 1) {
    observer_->on_container(observed_text_[0], *p, offset_of(p));
  }
  in_object_ = *p == '{';
  is_object_.push_back(in_object_);
  mode_ = in_object_ ? Mode::first_key : Mode::first_element;
  return p + 1;
}

const char* ValueScanner::close(const char* p) {
  is_object_.pop_back();
  in_object_ = !is_object_.empty() && is_object_.back();
  if (observer_ != nullptr && in_object_ && is_object_.size() == 1) {
    observer_->on_container_end(offset_of(p + 1));
  }
  return value_done(p + 1);
}

const char* ValueScanner::string_bytes(const char* p, const char* end) {
  for (;;) {
    p = find_string_special(p, end);
    if (p == end) {
      return p;
    }
    if (*p == '"') {
      if (in_key_ && observed_ != Observed::nothing) {
        keep_observed(p);
        observed_ = Observed::nothing;
      }
      return token_done(p + 1);
    }
    if (*p != '\\') {
      return fail(p);
    }
    if (end - p < 2 || !kSimpleEscapes.has(p[1])) {
      mode_ = Mode::escape;
      return p + 1;
    }
    p += 2;
  }
}

const char* ValueScanner::escaped(const char* p) {
  if (*p == 'u') {
    mode_ = Mode::hex;
    hex_left_ = 4;
    return p + 1;
  }
  mode_ = Mode::string;
  return kSimpleEscapes.has(*p) ? p + 1 : fail(p);
}

const char* ValueScanner::hex_digit(const char* p) {
  if (hex_value(*p) < 0) {
    return fail(p);
  }
  if (--hex_left_ == 0) {
    mode_ = Mode::string;
  }
  return p + 1;
}

const char* ValueScanner::literal_byte(const char* p) {
  if (*p == literal_left_.front()) {
    literal_left_.remove_prefix(1);
    return literal_left_.empty() ? token_done(p + 1) : p + 1;
  }
  mode_ = Mode::bad_word;
  return p;
}

const char* ValueScanner::token_done(const char* p) {
  if (offending_) {
    mode_ = Mode::bad_end;
    return p;
  }
  if (in_key_) {
    in_key_ = false;
    mode_ = Mode::colon;
    return p;
  }
  if (observed_ == Observed::scalar) {
    keep_observed(p);
    observed_ = Observed::nothing;
    const bool inner = is_object_.size() == 2;
    if (!inner || !observed_text_[0].empty()) {
      observer_->on_scalar(inner ? std::string_view(observed_text_[0]) : std::string_view(),
                           observed_text_[inner ? 1 : 0], observed_text_[2], observed_whole_);
    }
  }
  return value_done(p);
}

const char* ValueScanner::value_done(const char* p, std::uint64_t back) {
  if (is_object_.empty()) {
    verdict_ = Verdict::value;
    length_ = offset_of(p) - back;
  } else {
    mode_ = Mode::after_value;
  }
  return p;
}

const char* ValueScanner::fail(const char* p) {
  verdict_ = Verdict::error;
  return p;
}

std::uint64_t ValueScanner::offset_of(const char* p) const {
  return position_ + static_cast<std::uint64_t>(p - piece_);
}

bool ValueScanner::is_watched() const {
  return observer_ != nullptr && in_object_ && (is_object_.size() == 1 || (is_object_.size() == 2 && is_object_[0]));
}

void ValueScanner::observe(Observed what, const char* from) {
  observed_ = what;
  observed_from_ = from;
  observed_whole_ = true;
  observed_text_[static_cast<std::size_t>(what)].clear();
}

void ValueScanner::keep_observed(const char* to) {
  std::string& text = observed_text_[static_cast<std::size_t>(observed_)];
  const auto length = static_cast<std::size_t>(to - observed_from_);
  const std::size_t room = kMaxObservedBytes - text.size();
  observed_whole_ = observed_whole_ && length <= room;
  text.append(observed_from_, std::min(length, room));
}

const char* ValueScanner::number_byte(const char* p) {
  const char c = *p;
  switch (mode_) {
    case Mode::minus:
      mode_ = c == '0' ? Mode::zero : Mode::integer;
      return is_digit(c) ? p + 1 : fail(p);
    case Mode::zero:
      return behind_integer(p);
    case Mode::integer:
      return is_digit(c) ? p + 1 : behind_integer(p);
    case Mode::point:
      mode_ = Mode::fraction;
      return is_digit(c) ? p + 1 : fail(p);
    case Mode::fraction:
      if (is_exponent(c)) {
        mode_ = Mode::exponent;
        return p + 1;
      }
      return is_digit(c) ? p + 1 : token_done(p);
    case Mode::exponent:
    case Mode::exponent_sign:
      if (mode_ == Mode::exponent && (c == '+' || c == '-')) {
        mode_ = Mode::exponent_sign;
        return p + 1;
      }
      if (!is_digit(c)) {
        return no_exponent(p, mode_ == Mode::exponent ? 1 : 2);
      }
      mode_ = Mode::exponent_digits;
      return p + 1;
    default:
      return is_digit(c) ? p + 1 : token_done(p);
  }
}

const char* ValueScanner::behind_integer(const char* p) {
  if (*p == '.') {
    mode_ = Mode::point;
    return p + 1;
  }
  if (is_exponent(*p)) {
    mode_ = Mode::exponent;
    return p + 1;
  }
  return token_done(p);
}

// The number ended `back` bytes ago, before an `e` that starts no exponent but is the next token.
const char* ValueScanner::no_exponent(const char* p, std::uint64_t back) {
  if (is_object_.empty() && !offending_) {
    return value_done(p, back);
  }
  if (offending_ || back != 1 || !is_word(*p)) {
    return fail(p);
  }
  mode_ = Mode::bad_word;
  return p + 1;
}

ValueEnd scan_value(std::string_view text, std::size_t begin) {
  ValueScanner scanner;
  std::size_t used = 0;
  ValueScanner::Verdict verdict = scanner.feed(text.substr(begin), used);
  if (verdict == ValueScanner::Verdict::need_more) {
    verdict = scanner.finish();
  }
  return {verdict, begin + static_cast<std::size_t>(scanner.length())};
}

bool is_one_value(std::string_view text) {
  const ValueEnd end = scan_value(text, 0);
  return end.verdict == ValueScanner::Verdict::value && end.end == text.size();
}

bool has_valid_escapes(std::string_view text) {
  std::array<Marks<2>, kAtOnce> marks;
  EscapedBytes escaped;
  for (std::size_t base = 0; base < text.size(); base += kAtOnce * kMarkedBytes) {
    const std::string_view piece = text.substr(base, kAtOnce * kMarkedBytes);
    mark(piece, kSets, marks.data());
    for (std::size_t i = 0; i < marks_for(piece.size()); ++i) {
      const auto [backslashes, letters] = marks[i];
      const std::uint64_t others = escaped.among(backslashes) & ~(backslashes | letters);
      if (!are_number_escapes(piece.data() + i * kMarkedBytes, others)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace arborfs::json
