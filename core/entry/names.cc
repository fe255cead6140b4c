#include "core/entry/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "core/base/hash.h"
#include "core/entry/text.h"
#include "core/json/utf8.h"

namespace arborfs::names {
namespace {

constexpr std::size_t kHashSuffix = 17;        // '~' and 16 hex digits
constexpr std::size_t kOrdinalDigits = 6;      // listed ordinals have at least this many
constexpr std::size_t kWordLimit = 64;         // for the role within a stem
constexpr std::size_t kProjectLimit = 200;     // leaves room for "~2"
constexpr std::string_view kEmpty = "%empty";  // never an encoding of other text: there, '%' is followed by hex

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_portable(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
}

std::string percent(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    out += {'%', "0123456789ABCDEF"[value >> 4U], "0123456789ABCDEF"[value & 0xFU]};
  }
  return out;
}

std::string hash_suffix(std::string_view whole) {
  std::array<char, 16> digits{};
  chars::put_hex(static_cast<char32_t>(xxh64(whole) >> 32U), 8, digits.data());
  chars::put_hex(static_cast<char32_t>(xxh64(whole) & 0xFFFFFFFFU), 8, digits.data() + 8);
  return "~" + std::string(digits.data(), digits.size());
}

/// A name made of units (a character or its encoding) and cut between them if it becomes too long.
class LimitedName {
 public:
  LimitedName(std::string_view whole, std::size_t limit) : whole_(whole), limit_(std::max(limit, kHashSuffix + 1)) {}
  /// False if the name is full: no more units are needed.
  bool add(std::string_view unit) {
    name_ += unit;
    if (name_.size() <= limit_ - kHashSuffix) {
      fits_cut_ = name_.size();
    }
    return name_.size() <= limit_;
  }
  [[nodiscard]] bool empty() const { return name_.empty(); }
  [[nodiscard]] std::string take() {
    if (name_.size() > limit_) {
      name_.resize(fits_cut_);
      name_ += hash_suffix(whole_);
    }
    return std::move(name_);
  }

 private:
  std::string_view whole_;
  std::size_t limit_;
  std::string name_;
  std::size_t fits_cut_ = 0;
};

bool label_keeps(const chars::Char& c, bool first, bool /*last*/) {
  if (!c.valid || chars::is_control(c.code) || chars::is_invisible(c.code) || c.code == 0x200D) {
    return false;
  }
  if (c.code == 0x2028 || c.code == 0x2029 || c.code == '/' || c.code == '%') {
    return false;
  }
  return !(first && (c.code == '-' || c.code == '.'));
}

bool file_keeps(const chars::Char& c, bool first, bool last) {
  const bool is_space = c.code == ' ' || chars::is_wide_space(c.code);
  return label_keeps(c, false, last) && !(first && c.code == '-') && !(last && is_space);
}

/// Of ASCII, only what is safe in a shell.
bool project_keeps(const chars::Char& c, bool first, bool last) {
  if (c.valid && c.code < 0x80) {
    return is_portable(static_cast<char>(c.code)) && !(first && (c.code == '-' || c.code == '.'));
  }
  return label_keeps(c, first, last) && !chars::is_wide_space(c.code);
}

/// The text with every character that `keeps` rejects as %XX.
std::string encoded_but(bool (*keeps)(const chars::Char&, bool first, bool last), std::string_view text,
                        std::size_t limit) {
  if (text.empty()) {
    return std::string(kEmpty);
  }
  LimitedName name(text, limit);
  for (std::size_t at = 0; at < text.size();) {
    const chars::Char c = chars::decode(text, at);
    const std::string_view bytes = text.substr(at, c.length);
    if (!name.add(keeps(c, at == 0, at + c.length == text.size()) ? std::string(bytes) : percent(bytes))) {
      break;
    }
    at += c.length;
  }
  return name.take();
}

std::string percent_decoded(std::string_view name) {
  std::string text;
  for (std::size_t at = 0; at < name.size(); ++at) {
    unsigned char byte = 0;
    const char* const digits = name.data() + at + 1;
    if (name[at] == '%' && at + 2 < name.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      text += static_cast<char>(byte);
      at += 2;
    } else {
      text += name[at];
    }
  }
  return text;
}

std::string_view without_end_slashes(std::string_view path) {
  return path.substr(0, path.find_last_not_of('/') + 1);
}

/// `-<id>`, at most as long as the name has room; "" without an id.
std::string id_part(const LogIndex& index, Ordinal ordinal, std::size_t used, std::size_t limit) {
  const EntryId id = index.id(ordinal);
  if (id.kind == EntryId::Kind::missing) {
    return "";
  }
  return "-" + encode(id.text, limit - used - 1);
}

}  // namespace

std::string address(std::string_view path) {
  std::string out;
  for (const char& c : path) {
    out += is_portable(c) || c == '~' || c == '/' ? std::string(1, c) : percent({&c, 1});
  }
  return out;
}

std::string encode(std::string_view text, std::size_t limit) {
  if (text.empty()) {
    return std::string(kEmpty);
  }
  const bool dots = text == "." || text == "..";
  const bool stays = !dots && text[0] != '-' && std::all_of(text.begin(), text.end(), is_portable);
  if (stays && text.size() <= limit) {
    return std::string(text);
  }
  LimitedName name(text, limit);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool keeps = is_portable(text[at]) && !dots && !(at == 0 && text[at] == '-');
    const std::string_view byte = text.substr(at, 1);
    if (!name.add(keeps ? std::string(byte) : percent(byte))) {
      break;
    }
  }
  return name.take();
}

std::string encode_label(std::string_view text, std::size_t limit) {
  return encoded_but(label_keeps, text, limit);
}

std::optional<std::string> decode_label(std::string_view name) {
  std::string text = percent_decoded(name);
  return encode_label(text) == name ? std::optional(std::move(text)) : std::nullopt;
}

std::string encode_file(std::string_view text, std::size_t limit) {
  return encoded_but(file_keeps, text, limit);
}

std::optional<std::string> decode_file(std::string_view name) {
  std::string text = percent_decoded(name);
  return encode_file(text) == name ? std::optional(std::move(text)) : std::nullopt;
}

std::string without_controls(std::string_view path) {
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    const chars::Char c = chars::decode(path, at);
    const std::string_view bytes = path.substr(at, c.length);
    out += c.valid && !chars::is_control(c.code) ? std::string(bytes) : percent(bytes);
    at += c.length;
  }
  return out;
}

std::string padded(Ordinal ordinal) {
  const std::string digits = std::to_string(ordinal);
  return std::string(kOrdinalDigits - std::min(kOrdinalDigits, digits.size()), '0') + digits;
}

std::string entry_stem(const LogIndex& index, Ordinal ordinal, std::size_t reserve) {
  std::string stem = padded(ordinal) + "-" + encode(index.role(ordinal), kWordLimit);
  stem += id_part(index, ordinal, stem.size(), 255 - reserve);
  return stem;
}

std::string branch_stem(const LogIndex& index, Ordinal ordinal) {
  std::string stem = padded(ordinal);
  stem += id_part(index, ordinal, stem.size(), 255);
  return stem;
}

std::string image_file(const LogIndex& index, const ImageRef& image) {
  const std::string rest = "-" + std::to_string(image.number) + "." + image.extension;
  std::string stem = branch_stem(index, image.ordinal);
  if (stem.size() + rest.size() > 255) {
    stem = encode(stem, 255 - rest.size());
  }
  return stem + rest;
}

std::optional<Ordinal> leading_ordinal(std::string_view name) {
  const auto digits_end = std::find_if_not(name.begin(), name.end(), is_digit);
  const auto digits = static_cast<std::size_t>(digits_end - name.begin());
  const bool is_whole = digits == name.size();
  if (digits == 0 || (!is_whole && (name[digits] != '-' || digits < kOrdinalDigits))) {
    return std::nullopt;
  }
  if (name[0] == '0' && digits != kOrdinalDigits) {
    return std::nullopt;
  }
  Ordinal ordinal = kNoEntry;
  const auto parsed = std::from_chars(name.data(), name.data() + digits, ordinal);
  return parsed.ec == std::errc() && ordinal != kNoEntry ? std::optional(ordinal) : std::nullopt;
}

std::string project_name(std::string_view cwd, std::string_view home) {
  if (cwd.empty()) {
    return "unknown";
  }
  std::string_view path = without_end_slashes(cwd);
  const std::string_view base = without_end_slashes(home);
  if (path.empty()) {
    return "root";
  }
  if (!base.empty() && path == base) {
    return "home";
  }
  if (!base.empty() && path.starts_with(base) && path[base.size()] == '/') {
    path.remove_prefix(base.size() + 1);
  }
  std::string joined;
  for (const char c : path) {
    const bool separates = c == '/';
    if (!separates || (!joined.empty() && joined.back() != '-')) {
      joined += separates ? '-' : c;
    }
  }
  return encoded_but(project_keeps, joined, kProjectLimit);
}

bool is_in_project_name(std::string_view word, std::string_view name) {
  std::string spelled;
  for (const char c : word) {
    spelled += c == ' ' ? "%20" : std::string(1, c);
  }
  return name.find(word) != std::string_view::npos || name.find(spelled) != std::string_view::npos;
}

namespace {

/// Of several types of one extension, the first is the registered one.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kExtensions{{
    {"image/png", "png"},
    {"image/jpeg", "jpg"},
    {"image/jpg", "jpg"},
    {"image/gif", "gif"},
    {"image/webp", "webp"},
    {"image/svg+xml", "svg"},
    {"image/svg", "svg"},
    {"image/bmp", "bmp"},
    {"image/x-ms-bmp", "bmp"},
    {"image/avif", "avif"},
}};

}  // namespace

std::string_view image_extension(std::string_view mime_type) {
  std::string type(mime_type.substr(0, mime_type.find(';')));
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c | 32) : c; });
  const auto* found =
      std::find_if(kExtensions.begin(), kExtensions.end(), [&](const auto& row) { return row.first == type; });
  return found == kExtensions.end() ? "bin" : found->second;
}

std::string_view image_media_type(std::string_view extension) {
  const auto* found =
      std::find_if(kExtensions.begin(), kExtensions.end(), [&](const auto& row) { return row.second == extension; });
  return found == kExtensions.end() ? "" : found->first;
}

// The names of names.h that are for reading rather than for distinguishing items: those made from titles.

namespace {

constexpr std::size_t kSlugLimit = 60;

bool is_ascii_word(char32_t code) {
  return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || (code >= '0' && code <= '9');
}

struct CodeRange {
  char32_t first;
  char32_t last;
};
/// Characters beyond ASCII that a slug leaves out: punctuation, symbols, emoji and private characters.
constexpr CodeRange kNoLetters[] = {
    {0x80, 0xA9},     {0xAB, 0xB4},       {0xB6, 0xB9},        {0xBB, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},
    {0x2000, 0x206F}, {0x20A0, 0x20CF},   {0x2100, 0x2BFF},    {0x3000, 0x3004}, {0x3008, 0x3020}, {0x3030, 0x3030},
    {0xE000, 0xF8FF}, {0xFE00, 0xFE6F},   {0xFF00, 0xFF0F},    {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65},
    {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF}, {0xE0000, 0x10FFFF},
};

bool slug_keeps(const chars::Char& c) {
  if (c.code < 0x80) {
    return c.valid && is_ascii_word(c.code);
  }
  if (!c.valid || chars::is_invisible(c.code) || chars::is_wide_space(c.code)) {
    return false;
  }
  return std::none_of(std::begin(kNoLetters), std::end(kNoLetters),
                      [&](const CodeRange& range) { return c.code >= range.first && c.code <= range.last; });
}

/// Lower case of ASCII, Latin-1, Greek and Cyrillic, the scripts that titles have.
char32_t to_lower(char32_t code) {
  const bool plus_32 = (code >= 'A' && code <= 'Z') || (code >= 0xC0 && code <= 0xDE && code != 0xD7) ||
                       (code >= 0x391 && code <= 0x3A9) || (code >= 0x410 && code <= 0x42F);
  if (plus_32) {
    return code + 32;
  }
  return code >= 0x400 && code <= 0x40F ? code + 80 : code;
}

/// Appends the lower-case spelling of a kept character; only one- and two-byte characters change.
void append_lower(const chars::Char& c, std::string_view bytes, std::string& out) {
  const char32_t lower = to_lower(c.code);
  if (lower == c.code) {
    out += bytes;
  } else if (lower < 0x80) {
    out += static_cast<char>(lower);
  } else {
    out += static_cast<char>(0xC0U | (lower >> 6U));
    out += static_cast<char>(0x80U | (lower & 0x3FU));
  }
}

}  // namespace

std::string slug(std::string_view title) {
  std::string name;
  name.reserve(std::min(kSlugLimit, title.size()));
  for (std::size_t at = 0; at < title.size();) {
    const auto byte = static_cast<unsigned char>(title[at]);
    const chars::Char c = byte < 0x80 ? chars::Char{byte, 1, true} : chars::decode(title, at);
    const std::size_t before = name.size();
    if (slug_keeps(c)) {
      append_lower(c, title.substr(at, c.length), name);
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
    if (name.size() > kSlugLimit) {
      name.resize(before);
      break;
    }
    at += c.length;
  }
  name.resize(name.find_last_not_of('-') + 1);
  return name.empty() ? "untitled" : name;
}

}  // namespace arborfs::names
