#include "core/json/places.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/json/text_bytes.h"

namespace arborfs::json {

namespace {

constexpr std::size_t kSmallestCapacity = 4 * 1024;
static_assert(simdjson::SIMDJSON_PADDING <= Places::kPadding);

const char* word_end(const char* at, std::string_view word) {
  return std::string_view(at, word.size()) == word ? at + word.size() : nullptr;
}

// True for a byte that may follow a number or a literal in an array or an object.
bool ends_scalar(char c) {
  return c == ',' || c == '}' || c == ']' || is_space(c);
}

// Checks the grammar over the places that stage 1 found. Stage 1 has already checked that the text is UTF-8, that
// strings are terminated, and that they contain no control characters.
class Walk {
 public:
  using Place = Places::Place;

  Walk(std::string_view text, const std::uint32_t* offsets, Place count, Place* behind)
      : text_(text.data()), end_(text.data() + text.size()), offsets_(offsets), count_(count), behind_(behind) {}

  bool run() {
    for (;;) {
      if (!value() || !behind_value()) {
        return false;
      }
      if (depth_ == 0) {
        return at_ == count_;
      }
    }
  }

 private:
  [[nodiscard]] char peek() const { return at_ == count_ ? '\0' : text_[offsets_[at_]]; }
  [[nodiscard]] bool in_object() const { return (objects_ & 1U) != 0; }

  // Steps over a value; for a non-empty container, steps into its first value, down to a scalar or an empty container.
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
      if (lead == '"') {
        behind_[at_] = at_ + 1;
        ++at_;
        return true;
      }
      return scalar(lead);
    }
  }

  bool enter(bool object) {
    if (depth_ == Places::kMaxDepth) {
      return false;
    }
    open_[depth_++] = at_++;
    objects_ = objects_ << 1U | static_cast<std::uint64_t>(object);
    return true;
  }

  // Steps over closing brackets and to the next value, if any.
  bool behind_value() {
    while (depth_ != 0) {
      const char next = peek();
      if (next == ',') {
        ++at_;
        return !in_object() || key();
      }
      if (next != (in_object() ? '}' : ']')) {
        return false;
      }
      behind_[open_[--depth_]] = ++at_;
      objects_ >>= 1U;
    }
    return true;
  }

  // Steps over a key and its colon.
  bool key() {
    if (peek() != '"') {
      return false;
    }
    ++at_;
    if (peek() != ':') {
      return false;
    }
    ++at_;
    return true;
  }

  bool scalar(char lead) {
    const char* const start = text_ + (at_ == count_ ? 0 : offsets_[at_]);
    const char* const behind = lead == 't'   ? word_end(start, "true")
                               : lead == 'f' ? word_end(start, "false")
                               : lead == 'n' ? word_end(start, "null")
                                             : skip_number(start, end_);
    behind_[at_] = at_ + 1;
    ++at_;
    return behind != nullptr && ends_scalar(*behind);
  }

  const char* const text_;
  const char* const end_;
  const std::uint32_t* const offsets_;
  const Place count_;
  Place* const behind_;
  Place at_ = 0;
  unsigned depth_ = 0;
  std::uint64_t objects_ = 0;  // one bit per open container, set for objects; the innermost is the lowest bit
  std::array<Place, Places::kMaxDepth> open_;  // where each open container starts
};

static_assert(Places::kMaxDepth <= 64);  // bits of Walk::objects_

}  // namespace

struct Places::Parser {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stages;
};

Places::Places() = default;
Places::~Places() = default;
Places::Places(Places&&) noexcept = default;
Places& Places::operator=(Places&&) noexcept = default;

bool Places::find(std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const char closer = text.front() == '{' ? '}' : ']';
  if (text.back() != closer || !make_room(text.size()) ||  // thanks to the closer, every number ends inside the text
      parser_->stages->stage1(bytes, text.size(), simdjson::stage1_mode::regular) != simdjson::SUCCESS) {
    return false;
  }
  text_ = text.data();
  const Place count = parser_->stages->n_structural_indexes;
  offsets_ = parser_->stages->structural_indexes.get();
  if (behind_.size() <= count) {  // if the text ends too early, the walk sets one place past the last
    behind_.resize(std::bit_ceil(count + 1));
  }
  return Walk(text, offsets_, count, behind_.data()).run();
}

// Rounds up to a power of two, so that the buffers are not reallocated for each longer line.
bool Places::make_room(std::size_t length) {
  if (parser_ != nullptr && length <= parser_->stages->capacity()) {
    return true;
  }
  const std::size_t capacity = std::bit_ceil(std::max(length, kSmallestCapacity));
  if (parser_ != nullptr) {
    return parser_->stages->set_capacity(capacity) == simdjson::SUCCESS;
  }
  auto made = std::make_unique<Parser>();
  if (simdjson::get_active_implementation()->create_dom_parser_implementation(capacity, 1, made->stages) !=
      simdjson::SUCCESS) {
    return false;
  }
  parser_ = std::move(made);
  return true;
}

}  // namespace arborfs::json
