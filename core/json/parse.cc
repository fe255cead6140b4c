// The parser behind json::parse. RapidJSON's own Reader is not used, because it rejects numbers outside the range of
// doubles and lone surrogate escapes, which the agents accept. This parser fills a Document with the same events.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "core/json/document.h"
#include "core/json/text_bytes.h"
#include "core/json/utf8.h"

namespace arborfs::json {
namespace {

// Reorders the keys of freshly parsed objects the way JavaScript does (omp/FORMAT.md A9, C23).

struct Kept {
  std::uint64_t rank;  // the number of an integer-like key; larger than all of these for any other key
  std::size_t first;   // index of the key's first occurrence
  std::size_t last;    // index of its last occurrence
};

std::vector<Kept> kept_members(const std::vector<std::string_view>& keys) {
  std::vector<std::size_t> by_key(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    by_key[i] = i;
  }
  std::sort(by_key.begin(), by_key.end(),
            [&](std::size_t a, std::size_t b) { return std::tie(keys[a], a) < std::tie(keys[b], b); });
  std::vector<Kept> kept;
  for (const std::size_t i : by_key) {
    if (!kept.empty() && keys[kept.back().first] == keys[i]) {
      kept.back().last = i;
    } else {
      const auto index = array_index(keys[i]);
      kept.push_back({index ? *index : std::numeric_limits<std::uint64_t>::max(), i, i});
    }
  }
  std::sort(kept.begin(), kept.end(),
            [](const Kept& a, const Kept& b) { return std::tie(a.rank, a.first) < std::tie(b.rank, b.first); });
  return kept;
}

void reorder_object(Value& object) {
  const std::span<Value::Member> entries = members(object);
  std::vector<std::string_view> keys;
  keys.reserve(entries.size());
  for (const auto& entry : entries) {
    keys.push_back(as_string(entry.name));
  }
  if (keys_in_order(keys)) {
    return;
  }
  std::vector<Value> names;
  std::vector<Value> values;
  const std::vector<Kept> kept = kept_members(keys);
  for (const Kept& member : kept) {
    names.push_back(std::move(entries[member.first].name));
    values.push_back(std::move(entries[member.last].value));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    entries[i].name = std::move(names[i]);
    entries[i].value = std::move(values[i]);
  }
  object.EraseMember(object.MemberBegin() + static_cast<std::ptrdiff_t>(kept.size()), object.MemberEnd());
}

/// For `root` and every object below it: a key that occurs twice keeps its first place and its last value, and
/// integer-like keys move to the front in ascending order. Does not recurse.
void reorder_keys(Value& root) {
  std::vector<Value*> todo{&root};
  while (!todo.empty()) {
    Value& value = *todo.back();
    todo.pop_back();
    if (value.IsObject()) {
      reorder_object(value);
      for (auto& entry : members(value)) {
        if (entry.value.IsObject() || entry.value.IsArray()) {
          todo.push_back(&entry.value);
        }
      }
    } else if (value.IsArray()) {
      for (auto& element : value.GetArray()) {
        if (element.IsObject() || element.IsArray()) {
          todo.push_back(&element);
        }
      }
    }
  }
}

class Parser {
 public:
  /// With `may_change`, escapes are decoded in place and the Document's strings point into `text`.
  Parser(std::string_view text, bool may_change) : p_(text.data()), end_(p_ + text.size()), may_change_(may_change) {}

  bool operator()(Document& out) {
    do {
      if (!value(out)) {
        return false;
      }
    } while (!open_.empty());
    skip_space();
    return p_ == end_;
  }

  bool must_reorder() const { return must_reorder_; }

 private:
  struct Open {
    bool is_object;
    rapidjson::SizeType count;
    std::size_t first_key;  // in keys_
  };

  // One scalar and the closers and comma after it, or the start of a container.
  bool value(Document& out) {
    if (!open_.empty()) {
      ++open_.back().count;
      if (open_.back().is_object && !key(out)) {
        return false;
      }
    }
    skip_space();
    if (p_ != end_ && (*p_ == '{' || *p_ == '[')) {
      if (!begin_container(out)) {
        return true;
      }
    } else if (!scalar(out)) {
      return false;
    }
    return end_of_value(out);
  }

  // True if the container is empty and so has already ended.
  bool begin_container(Document& out) {
    const bool is_object = *p_++ == '{';
    open_.push_back({is_object, 0, keys_.size()});
    is_object ? out.StartObject() : out.StartArray();
    skip_space();
    if (!take(is_object ? '}' : ']')) {
      return false;
    }
    end_container(out);
    return true;
  }

  void end_container(Document& out) {
    const Open container = open_.back();
    open_.pop_back();
    if (!container.is_object) {
      out.EndArray(container.count);
      return;
    }
    out.EndObject(container.count);
    must_reorder_ = must_reorder_ || !keys_in_order(std::span(keys_).subspan(container.first_key));
    keys_.resize(container.first_key);
  }

  // Consumes the closers after a value, and a comma before the next one.
  bool end_of_value(Document& out) {
    while (!open_.empty()) {
      skip_space();
      if (take(',')) {
        return true;
      }
      if (!take(open_.back().is_object ? '}' : ']')) {
        return false;
      }
      end_container(out);
    }
    return true;
  }

  bool key(Document& out) {
    std::string_view name;
    bool escaped = false;
    skip_space();
    if (!take('"') || !string(name, escaped)) {
      return false;
    }
    out.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()), !may_change_);
    if (escaped) {
      must_reorder_ = true;  // the name may equal another key, and its unescaped text is not kept to compare
    } else {
      keys_.push_back(name);
    }
    skip_space();
    return take(':');
  }

  bool scalar(Document& out) {
    if (p_ == end_) {
      return false;
    }
    switch (*p_) {
      case '"': {
        std::string_view content;
        bool escaped = false;
        ++p_;
        return string(content, escaped) &&
               out.String(content.data(), static_cast<rapidjson::SizeType>(content.size()), !may_change_);
      }
      case 't':
        return literal("true") && out.Bool(true);
      case 'f':
        return literal("false") && out.Bool(false);
      case 'n':
        return literal("null") && out.Null();
      default: {
        const char* number = p_;
        p_ = skip_number(p_, end_);
        return p_ != nullptr && out.Double(number_value({number, static_cast<std::size_t>(p_ - number)}));
      }
    }
  }

  bool literal(std::string_view word) {
    if (!std::string_view(p_, static_cast<std::size_t>(end_ - p_)).starts_with(word)) {
      return false;
    }
    p_ += word.size();
    return true;
  }

  // Reads a string from just after its opening quote. `content` is valid until the next string is read, or permanently
  // if nothing in it was escaped.
  bool string(std::string_view& content, bool& escaped) {
    const char* from = p_;
    p_ = find_string_special(p_, end_);
    if (p_ == end_) {
      return false;
    }
    escaped = *p_ != '"';
    if (escaped) {
      return unescape(from, content);
    }
    content = {from, static_cast<std::size_t>(p_++ - from)};
    return true;
  }

  // Can run in place, because no escape is shorter than the bytes that it stands for.
  bool unescape(const char* from, std::string_view& content) {
    unescaped_.clear();
    to_ = const_cast<char*>(from);
    put(from, static_cast<std::size_t>(p_ - from));
    while (p_ != end_ && *p_ != '"') {
      if (*p_ != '\\' || ++p_ == end_) {
        return false;
      }
      const char letter = *p_++;
      constexpr std::string_view kLetters = "\"\\/bfnrt";
      constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
      if (const std::size_t known = kLetters.find(letter); known != std::string_view::npos) {
        put(&kMeanings[known], 1);
      } else if (letter != 'u' || !unicode_escape()) {
        return false;
      }
      const char* run = p_;
      p_ = find_string_special(p_, end_);
      put(run, static_cast<std::size_t>(p_ - run));
    }
    content = may_change_ ? std::string_view(from, static_cast<std::size_t>(to_ - from)) : std::string_view(unescaped_);
    return take('"');
  }

  void put(const char* bytes, std::size_t count) {
    if (may_change_) {
      std::memmove(to_, bytes, count);
      to_ += count;
    } else {
      unescaped_.append(bytes, count);
    }
  }

  bool unicode_escape() {
    char32_t c = 0;
    if (!hex4(c)) {
      return false;
    }
    if (is_high_surrogate(c) && end_ - p_ >= 6 && p_[0] == '\\' && p_[1] == 'u') {
      const char* const behind_high = p_;
      char32_t low = 0;
      p_ += 2;
      if (!hex4(low)) {
        return false;
      }
      if (is_low_surrogate(low)) {
        c = join_surrogates(c, low);
      } else {
        p_ = behind_high;
      }
    }
    std::string bytes;
    append_code_point(bytes, c);
    put(bytes.data(), bytes.size());
    return true;
  }

  bool hex4(char32_t& unit) {
    if (end_ - p_ < 4) {
      return false;
    }
    unit = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = hex_value(*p_++);
      if (digit < 0) {
        return false;
      }
      unit = unit << 4 | static_cast<char32_t>(digit);
    }
    return true;
  }

  bool take(char c) {
    if (p_ == end_ || *p_ != c) {
      return false;
    }
    ++p_;
    return true;
  }

  void skip_space() {
    while (p_ != end_ && is_space(*p_)) {
      ++p_;
    }
  }

  const char* p_;
  const char* end_;
  const bool may_change_;
  char* to_ = nullptr;  // with may_change_: where to write the next byte of the string being unescaped
  std::vector<Open> open_;
  std::vector<std::string_view> keys_;  // of all open objects
  std::string unescaped_;
  bool must_reorder_ = false;
};

bool parse_with(Parser parser, Document& out) {
  bool ok = false;
  auto generate = [&](Document& document) { return ok = parser(document); };
  out.Populate(generate);
  if (!ok) {
    out.SetNull();
    return false;
  }
  if (parser.must_reorder()) {
    reorder_keys(out);
  }
  return true;
}

}  // namespace

bool parse_in_place(std::span<char> text, Document& out) {
  if (text.size() > std::numeric_limits<rapidjson::SizeType>::max()) {
    out.SetNull();
    return false;
  }
  return parse_with(Parser({text.data(), text.size()}, true), out);
}

bool parse(std::string_view text, Document& out) {
  if (text.size() > std::numeric_limits<rapidjson::SizeType>::max()) {
    out.SetNull();
    return false;
  }
  std::string decoded;
  if (!is_valid_utf8(text)) {
    decoded = decode_utf8(text);
    text = decoded;
  }
  return parse_with(Parser(text, false), out);
}

}  // namespace arborfs::json
