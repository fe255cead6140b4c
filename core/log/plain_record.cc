#include "core/log/plain_record.h"

#include <algorithm>
#include <bit>

#include "core/json/escapes.h"

namespace arborfs {

namespace {

constexpr std::size_t kSmallestCapacity = 4 * 1024;
constexpr unsigned kMaxDepth = 64;  // bits of Walk::objects_
static_assert(simdjson::SIMDJSON_PADDING <= PlainRecordParser::kPadding);
static_assert(json::kEscapePadding <= PlainRecordParser::kPadding);

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

const char* skip_digits(const char* at) {
  while (is_digit(*at)) {
    ++at;
  }
  return at;
}

// Behind the number that starts here; null when none does. JSON's grammar (RFC 8259, 6).
const char* number_end(const char* at) {
  at += *at == '-' ? 1 : 0;
  if (!is_digit(*at)) {
    return nullptr;
  }
  at = *at == '0' ? at + 1 : skip_digits(at);
  if (*at == '.') {
    if (!is_digit(*++at)) {
      return nullptr;
    }
    at = skip_digits(at);
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    at += *at == '+' || *at == '-' ? 1 : 0;
    if (!is_digit(*at)) {
      return nullptr;
    }
    at = skip_digits(at);
  }
  return at;
}

// What may stand behind a number or a word in an array or an object.
bool ends_scalar(char c) {
  return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Goes through the places that stage 1 found: each bracket, comma and colon outside strings, each opening quote, each
// start of anything else that is no white space. It has checked UTF-8, that strings end, and that they hold no control
// characters.
class Walk {
 public:
  Walk(std::string_view text, const std::uint32_t* places, std::uint32_t count, RecordFields& record)
      : text_(text.data()), place_(places), end_(places + count), record_(record) {}

  bool run() {
    for (;;) {
      if (!value() || !behind_value()) {
        return false;
      }
      if (depth_ == 0) {
        return place_ == end_;
      }
    }
  }

 private:
  [[nodiscard]] char peek() const { return place_ == end_ ? '\0' : text_[*place_]; }
  [[nodiscard]] bool in_object() const { return (objects_ & 1U) != 0; }

  // Steps over a value, or into the first one that it holds, as deep as that goes.
  bool value() {
    for (;;) {
      const char lead = peek();
      if (lead == '{' || lead == '[') {
        if (!enter(lead == '{')) {
          return false;
        }
        if (peek() == (lead == '{' ? '}' : ']')) {
          return true;
        }
        if (lead == '{' && !key()) {
          return false;
        }
        continue;
      }
      return lead == '"' ? string() : scalar(lead);
    }
  }

  bool enter(bool object) {
    if (field_ != nullptr || depth_ == kMaxDepth) {
      return false;
    }
    ++place_;
    ++depth_;
    objects_ = objects_ << 1U | static_cast<std::uint64_t>(object);
    return true;
  }

  // Steps over closing brackets and to the next value, if any.
  bool behind_value() {
    while (depth_ != 0) {
      const char next = peek();
      if (next == ',') {
        ++place_;
        return !in_object() || key();
      }
      if (next != (in_object() ? '}' : ']')) {
        return false;
      }
      ++place_;
      --depth_;
      objects_ >>= 1U;
    }
    return true;
  }

  // Steps over a key and its colon.
  bool key() {
    if (peek() != '"') {
      return false;
    }
    const std::uint32_t quote = *place_++;
    if (peek() != ':') {
      return false;
    }
    ++place_;
    return depth_ > 2 || (depth_ == 2 && !in_message_) || note_key(string_at(quote, place_ - 1));
  }

  bool note_key(std::string_view key) {
    if (key.find('\\') != std::string_view::npos) {
      return false;
    }
    if (depth_ == 2) {
      field_ = key == "role" ? &record_.role : nullptr;
      return true;
    }
    in_message_ = key == "message";
    if (in_message_) {
      record_.role = FieldValue();
    }
    field_ = field_of(record_, key);
    return true;
  }

  bool string() {
    const std::uint32_t quote = *place_++;
    if (field_ == nullptr) {
      return true;
    }
    const std::string_view text = string_at(quote, place_);
    *field_ = FieldValue();
    field_->kind = FieldValue::Kind::string;
    field_->text = text;
    field_ = nullptr;
    return text.find('\\') == std::string_view::npos;
  }

  // What stands between the quote at `quote` and the last one before `next`: behind that there is only white space.
  [[nodiscard]] std::string_view string_at(std::uint32_t quote, const std::uint32_t* next) const {
    if (next == end_) {
      return {};  // nothing closes the object that it stands in
    }
    std::uint32_t end = *next - 1;
    while (text_[end] != '"') {
      --end;
    }
    return {text_ + quote + 1, end - quote - 1};
  }

  bool scalar(char lead) {
    const char* const start = text_ + (place_ == end_ ? 0 : *place_);
    const char* behind = nullptr;
    switch (lead) {
      case 't':
        behind = word_end(start, "true", FieldValue::Kind::boolean);
        break;
      case 'f':
        behind = word_end(start, "false", FieldValue::Kind::boolean);
        break;
      case 'n':
        behind = word_end(start, "null", FieldValue::Kind::null);
        break;
      default:
        behind = field_ == nullptr && (lead == '-' || is_digit(lead)) ? number_end(start) : nullptr;
    }
    ++place_;
    return behind != nullptr && ends_scalar(*behind);
  }

  const char* word_end(const char* start, std::string_view word, FieldValue::Kind kind) {
    if (std::string_view(start, word.size()) != word) {
      return nullptr;
    }
    if (field_ != nullptr) {
      *field_ = FieldValue();
      field_->kind = kind;
      field_->truth = word == "true";
      field_ = nullptr;
    }
    return start + word.size();
  }

  const char* const text_;
  const std::uint32_t* place_;
  const std::uint32_t* const end_;
  RecordFields& record_;
  FieldValue* field_ = nullptr;  // where the next value belongs
  bool in_message_ = false;
  unsigned depth_ = 0;
  std::uint64_t objects_ = 0;  // a bit for each container that is open, set for objects; the innermost is the lowest
};

}  // namespace

bool PlainRecordParser::parse(std::string_view text, RecordFields& record) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const char closer = text.front() == '{' ? '}' : ']';
  if (text.back() != closer) {  // so that a number ends inside the text
    return false;
  }
  if (!make_room(text.size()) ||
      stage_one_->stage1(bytes, text.size(), simdjson::stage1_mode::regular) != simdjson::SUCCESS) {
    return false;
  }
  record = RecordFields();
  record.shape = text.front() == '{' ? RecordFields::Shape::object : RecordFields::Shape::array;
  return Walk(text, stage_one_->structural_indexes.get(), stage_one_->n_structural_indexes, record).run() &&
         json::has_valid_escapes(text);
}

// Lines vary in length; powers of two keep the buffers from being made anew for each longer one.
bool PlainRecordParser::make_room(std::size_t length) {
  if (stage_one_ != nullptr && length <= stage_one_->capacity()) {
    return true;
  }
  const std::size_t capacity = std::bit_ceil(std::max(length, kSmallestCapacity));
  if (stage_one_ != nullptr) {
    return stage_one_->set_capacity(capacity) == simdjson::SUCCESS;
  }
  return simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, stage_one_) ==
         simdjson::SUCCESS;
}

}  // namespace arborfs
