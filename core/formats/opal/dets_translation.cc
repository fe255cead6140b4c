#include "core/formats/opal/dets_translation.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/log/log_source.h"

namespace arborfs::opal {
namespace {

/// The container of a DETS table, version 9 (opal/FORMAT.md D2, D3): finds the objects that are live. Used by one
/// thread.
class DetsFile {
 public:
  /// Longer objects are reported as unreadable.
  static constexpr std::uint64_t kLongestObject = std::uint64_t{64} << 20U;

  /// Reads the head of the table. `file` outlives the result. Errors: corrupt if it is no such table; io.
  static Result<DetsFile> open(const LogSource& file);

  /// False while a program has it open, and after a crash: the last writes may be missing or incomplete.
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  /// The number of objects according to the head.
  [[nodiscard]] std::uint32_t objects() const { return objects_; }

  /// Something that was found at an offset of the file: the bytes of an object's term without its version byte, or why
  /// it cannot be read.
  struct Found {
    std::uint64_t offset = 0;
    std::string_view term;
    std::string_view problem;  // "" if there is none
  };
  /// Visits the objects in the order of the table's slots, each byte of the file at most once. Errors: io, those of
  /// `visit`; interrupted once a stop is requested; corrupt if more is listed than the file has.
  Result<void> each(const std::function<Result<void>(const Found&)>& visit, const std::stop_token& stop) const;

 private:
  struct Walk;
  explicit DetsFile(const LogSource& file) : file_(file) {}
  Result<void> read_segment(std::uint64_t at, std::uint32_t slots, Walk& walk) const;
  Result<void> read_slot(std::uint64_t at, std::uint64_t size, Walk& walk) const;

  const LogSource& file_;
  bool is_closed_ = false;
  std::uint32_t slots_ = 0;
  std::uint32_t objects_ = 0;
};

// opal/FORMAT.md D2
constexpr std::uint64_t kParts = 0x138;
constexpr std::size_t kPartCount = 256;
constexpr std::size_t kSegmentsOfPart = 512;
constexpr std::size_t kSlotsOfSegment = 256;
constexpr std::size_t kSlotBytes = 8;
constexpr std::uint32_t kCookie = 0x00ABCDEF;
constexpr std::uint32_t kVersion = 9;
constexpr std::uint32_t kSet = 1;
constexpr std::uint32_t kLive = 0x12345678;
constexpr std::uint64_t kCellHead = 8;
constexpr std::uint64_t kObjectHead = 4;
constexpr char kTermVersion = static_cast<char>(131);

std::uint32_t word(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, 4)) {
    value = (value << 8U) | static_cast<unsigned char>(byte);
  }
  return value;
}

Error not_dets(const char* why) {
  return {Errc::corrupt, std::string("the file is not a DETS table that arborfs can read: ") + why};
}

/// The bytes at `from`; fewer at the end of the file.
Result<std::string> read_some(const LogSource& file, std::uint64_t from, std::uint64_t count) {
  ASSIGN_OR_RETURN(const auto size, file.size());
  std::string bytes(std::min(count, size - std::min(from, size)), '\0');
  ASSIGN_OR_RETURN(const auto got, file.read_at(from, bytes));
  bytes.resize(got);
  return bytes;
}

/// A part or a segment: pointers and sizes. Missing bytes count as zero.
Result<std::string> read_table(const LogSource& file, std::uint64_t from, std::size_t count) {
  ASSIGN_OR_RETURN(auto bytes, read_some(file, from, count));
  bytes.resize(count, '\0');
  return bytes;
}

struct DetsFile::Walk {
  const std::function<Result<void>(const Found&)>& visit;
  std::uint64_t left;  // bytes of the file that have not been listed yet

  /// Errors: corrupt. Pointers may lead to the same bytes again and again.
  Result<void> spend(std::uint64_t bytes) {
    if (bytes > left) {
      return Error{Errc::corrupt, "the DETS table lists more than the file has"};
    }
    left -= bytes;
    return {};
  }
};

Result<DetsFile> DetsFile::open(const LogSource& file) {
  ASSIGN_OR_RETURN(const auto head, read_some(file, 0, kParts));
  if (head.size() < kParts || word(head, 4) != kCookie) {
    return not_dets("it does not begin as one");
  }
  if (word(head, 16) != kVersion || word(head, 12) != kSet) {
    return not_dets("it has another version or type");
  }
  DetsFile found(file);
  found.is_closed_ = word(head, 8) == 1;
  found.slots_ = word(head, 20);
  found.objects_ = word(head, 32);
  return found;
}

Result<void> DetsFile::each(const std::function<Result<void>(const Found&)>& visit, const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const auto size, file_.size());
  Walk walk{visit, size};
  ASSIGN_OR_RETURN(const auto parts, read_table(file_, kParts, kPartCount * 4));
  for (std::uint64_t slot = 0; slot < slots_; slot += kSlotsOfSegment * kSegmentsOfPart) {
    const std::uint32_t part_at = word(parts, slot / (kSlotsOfSegment * kSegmentsOfPart) % kPartCount * 4);
    if (part_at == 0) {
      continue;
    }
    RETURN_IF_ERROR(walk.spend(kSegmentsOfPart * 4));
    ASSIGN_OR_RETURN(const auto part, read_table(file_, part_at, kSegmentsOfPart * 4));
    for (std::size_t i = 0; i < kSegmentsOfPart && slot + i * kSlotsOfSegment < slots_; ++i) {
      if (stop.stop_requested()) {
        return Error{Errc::interrupted, "reading the session was cancelled"};
      }
      const std::uint64_t left = slots_ - slot - i * kSlotsOfSegment;
      const std::uint32_t segment_at = word(part, i * 4);
      if (segment_at != 0) {
        RETURN_IF_ERROR(
            read_segment(segment_at, static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kSlotsOfSegment)), walk));
      }
    }
  }
  return {};
}

Result<void> DetsFile::read_segment(std::uint64_t at, std::uint32_t slots, Walk& walk) const {
  RETURN_IF_ERROR(walk.spend(kSlotsOfSegment * kSlotBytes));
  ASSIGN_OR_RETURN(const auto segment, read_table(file_, at, kSlotsOfSegment * kSlotBytes));
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const std::uint32_t size = word(segment, slot * kSlotBytes);
    const std::uint32_t cell_at = word(segment, slot * kSlotBytes + 4);
    if (size != 0 && cell_at != 0) {
      RETURN_IF_ERROR(read_slot(cell_at, size, walk));
    }
  }
  return {};
}

Result<void> DetsFile::read_slot(std::uint64_t at, std::uint64_t size, Walk& walk) const {
  RETURN_IF_ERROR(walk.spend(size));
  ASSIGN_OR_RETURN(const auto head, read_some(file_, at, kCellHead));
  if (head.size() < kCellHead || word(head, 0) != size || word(head, 4) != kLive) {
    return walk.visit({at, {}, "the slot does not lead to live objects"});
  }
  for (std::uint64_t done = kCellHead; done < size;) {
    const std::uint64_t object_at = at + done;
    ASSIGN_OR_RETURN(const auto length_bytes, read_some(file_, object_at, kObjectHead));
    const std::uint64_t length = length_bytes.size() == kObjectHead ? word(length_bytes, 0) : 0;
    if (length <= kObjectHead || length > size - done) {
      return walk.visit({object_at, {}, "the object's length is wrong"});
    }
    if (length > kLongestObject) {
      return walk.visit({object_at, {}, "the object is too long"});
    }
    ASSIGN_OR_RETURN(const auto object, read_some(file_, object_at + kObjectHead, length - kObjectHead));
    const bool is_whole = object.size() == length - kObjectHead && object.front() == kTermVersion;
    const auto term = is_whole ? std::string_view(object).substr(1) : std::string_view();
    RETURN_IF_ERROR(walk.visit({object_at, term, is_whole ? "" : "the object is not a complete term"}));
    done += length;
  }
  return {};
}

constexpr std::uint64_t kObjectCount = 32;  // its offset (opal/FORMAT.md D2)
constexpr std::string_view kHeaderKey = "\"__session_meta__\"";

/// The members that Opal writes although they are nil (opal/FORMAT.md B3).
bool is_kept_nil(std::string_view key) {
  return key == "content" || key == "parent_id";
}

/// Appends a map without the members that Opal leaves out of its JSON.
void append_message(std::string_view map, std::string& out) {
  std::string_view before = "{";
  for (skim::Cursor members(map); members.next();) {
    const std::string_view key = members.key();
    const std::string_view value = members.value();
    const bool is_left_out =
        key == "__struct__" || (value == "null" && !is_kept_nil(key)) || (key == "tool_calls" && value == "[]");
    if (!is_left_out) {
      out.append(before).append("\"").append(key).append("\":").append(value);
      before = ",";
    }
  }
  out += before == "{" ? "{}" : "}";
}

/// The members of a header, in the order in which Opal wrote them.
std::string header_from(std::string_view map) {
  std::string out;
  for (const std::string_view key : {"current_id", "metadata", "session_id"}) {
    if (const std::string_view value = skim::member(map, key); !value.empty()) {
      out.append(out.empty() ? "{\"" : ",\"").append(key).append("\":").append(value);
    }
  }
  return out.empty() ? "{}" : out + "}";
}

class Lines {
 public:
  Result<void> take(const DetsFile::Found& found) {
    object_.clear();
    if (!found.problem.empty()) {
      return note(found.offset, found.problem);
    }
    if (!append_term(found.term, object_)) {
      return note(found.offset, "the object has a term that JSON cannot hold, or its bytes are damaged");
    }
    skim::Cursor pair(object_);
    const std::string_view key = object_.front() == '[' && pair.next() ? pair.value() : std::string_view();
    const std::string_view value = pair.next() ? pair.value() : std::string_view();
    if (key.empty() || !value.starts_with('{')) {
      return note(found.offset, "the object is not a message");
    }
    if (key == kHeaderKey) {
      header_ = header_from(value);
      return check();
    }
    append_message(value, messages_);
    messages_ += '\n';
    return check();
  }

  Result<void> note(std::uint64_t offset, std::string_view problem) {
    messages_.append("at byte ").append(std::to_string(offset)).append(": ").append(problem).append("\n");
    return check();
  }

  [[nodiscard]] std::string all() const { return header_ + "\n" + messages_; }

 private:
  [[nodiscard]] Result<void> check() const {
    if (messages_.size() + header_.size() > kLongestTranslation) {
      return Error{Errc::too_large, "the session is too long to be translated"};
    }
    return {};
  }

  std::string header_ = "{}";
  std::string messages_;
  std::string object_;  // as JSON
};

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostKeys = std::size_t{1} << 16U;  // of one map
constexpr std::size_t kLongestInteger = 256;              // bytes

enum Tag : std::uint8_t {
  kNewFloat = 70,
  kSmallInteger = 97,
  kInteger = 98,
  kAtom = 100,
  kSmallTuple = 104,
  kLargeTuple = 105,
  kNil = 106,
  kString = 107,
  kList = 108,
  kBinary = 109,
  kSmallBig = 110,
  kLargeBig = 111,
  kSmallAtom = 115,
  kMap = 116,
  kAtomUtf8 = 118,
  kSmallAtomUtf8 = 119,
};

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] bool is_empty() const { return left_.empty(); }
  [[nodiscard]] std::size_t size() const { return left_.size(); }
  /// A big-endian number.
  std::optional<std::uint64_t> number(std::size_t width) {
    const auto bytes = take(width);
    if (!bytes) {
      return std::nullopt;
    }
    std::uint64_t value = 0;
    for (const char byte : *bytes) {
      value = (value << 8U) | static_cast<unsigned char>(byte);
    }
    return value;
  }
  std::optional<std::string_view> take(std::uint64_t count) {
    if (count > left_.size()) {
      return std::nullopt;
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  /// Bytes preceded by their length, which is `width` bytes long.
  std::optional<std::string_view> counted(std::size_t width) {
    const auto count = number(width);
    return count ? take(*count) : std::nullopt;
  }

 private:
  std::string_view left_;
};

/// Latin-1 as UTF-8.
std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xC0U | (code >> 6U));
      text += static_cast<char>(0x80U | (code & 0x3FU));
    }
  }
  return text;
}

/// The decimal digits of a little-endian number.
std::string digits_of(std::string_view magnitude) {
  std::vector<std::uint32_t> number(magnitude.rbegin(), magnitude.rend());
  for (std::uint32_t& byte : number) {
    byte &= 0xFFU;
  }
  std::string digits;
  while (!number.empty()) {
    std::uint32_t rest = 0;
    for (std::uint32_t& byte : number) {
      const std::uint32_t value = rest * 256 + byte;
      byte = value / 10;
      rest = value % 10;
    }
    digits += static_cast<char>('0' + rest);
    const auto first = std::find_if(number.begin(), number.end(), [](std::uint32_t byte) { return byte != 0; });
    number.erase(number.begin(), first);
  }
  return digits.empty() ? "0" : std::string(digits.rbegin(), digits.rend());
}

/// A list, tuple or map whose end has not been read.
struct Open {
  enum class Kind : std::uint8_t { list, tuple, map };
  struct Member {
    std::string key;
    std::size_t from = 0;  // of the value in the JSON text
    std::size_t to = 0;
  };
  Kind kind = Kind::list;
  std::uint64_t left = 0;  // terms to come: of a map keys and values, of a list also its tail
  std::size_t begin = 0;   // of the JSON text after the bracket
  std::string key = {};    // of a map: of the value that is being read
  std::vector<Member> members = {};
};

class Translation {
 public:
  Translation(std::string_view bytes, std::string& json) : bytes_(bytes), json_(json) {}

  bool run() {
    do {
      if (!is_list_end() && !term()) {
        return false;
      }
      while (!open_.empty() && open_.back().left == 0) {
        close();
      }
    } while (!open_.empty());
    return bytes_.is_empty();
  }

 private:
  /// Takes the empty list that ends a proper list; any other tail becomes its last element.
  bool is_list_end() {
    if (open_.empty() || open_.back().kind != Open::Kind::list || open_.back().left != 1) {
      return false;
    }
    Bytes ahead = bytes_;
    const auto tag = ahead.number(1);
    if (!tag || *tag != kNil) {
      return false;
    }
    bytes_ = ahead;
    --open_.back().left;
    return true;
  }

  bool term() {
    const auto tag = bytes_.number(1);
    if (!tag) {
      return false;
    }
    const bool is_key = !open_.empty() && open_.back().kind == Open::Kind::map && open_.back().left % 2 == 0;
    if (is_key) {
      return take_key(*tag);
    }
    begin_value();
    switch (*tag) {
      case kSmallTuple:
        return begin(Open::Kind::tuple, bytes_.number(1));
      case kLargeTuple:
        return begin(Open::Kind::tuple, bytes_.number(4));
      case kList:
        return begin(Open::Kind::list, bytes_.number(4));
      case kMap:
        return begin(Open::Kind::map, bytes_.number(4));
      case kNil:
        json_ += "[]";
        break;
      case kString:
        if (!put_bytes()) {
          return false;
        }
        break;
      default:
        if (!put_scalar(*tag)) {
          return false;
        }
    }
    end_value();
    return true;
  }

  void begin_value() {
    if (!open_.empty() && open_.back().kind != Open::Kind::map && json_.size() > open_.back().begin) {
      json_ += ',';
    }
    value_ = json_.size();
  }

  /// A value inside `open_.back()` is complete.
  void end_value() {
    if (open_.empty()) {
      return;
    }
    Open& within = open_.back();
    --within.left;
    if (within.kind == Open::Kind::map) {
      within.members.push_back({std::move(within.key), value_, json_.size()});
    }
  }

  bool begin(Open::Kind kind, std::optional<std::uint64_t> count) {
    if (!count || open_.size() >= kDeepest || *count > bytes_.size() ||
        (kind == Open::Kind::map && *count > kMostKeys)) {
      return false;
    }
    const bool is_map = kind == Open::Kind::map;
    json_ += is_map ? '{' : '[';
    const std::uint64_t terms = is_map ? *count * 2 : *count + (kind == Open::Kind::list ? 1 : 0);
    open_.push_back({kind, terms, json_.size()});
    return true;
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.kind == Open::Kind::map) {
      put_members(done);
    }
    json_ += done.kind == Open::Kind::map ? '}' : ']';
    value_ = done.begin - 1;
    end_value();
  }

  void put_members(Open& map) {
    std::sort(map.members.begin(), map.members.end(),
              [](const Open::Member& a, const Open::Member& b) { return a.key < b.key; });
    std::string text;
    text.reserve(json_.size() - map.begin);
    for (const Open::Member& member : map.members) {
      text += text.empty() ? "" : ",";
      json::stringify_string(member.key, text);
      text += ':';
      text.append(json_, member.from, member.to - member.from);
    }
    json_.replace(map.begin, std::string::npos, text);
  }

  /// Opal's encoder accepts atoms, binaries and numbers as keys.
  bool take_key(std::uint64_t tag) {
    Open& map = open_.back();
    --map.left;
    if (auto text = text_of(tag)) {
      map.key = *std::move(text);
      return true;
    }
    if (auto digits = number_of(tag)) {
      map.key = *std::move(digits);
      return true;
    }
    return false;
  }

  bool put_scalar(std::uint64_t tag) {
    const bool is_binary = tag == kBinary;
    if (const auto text = text_of(tag)) {
      if (!is_binary && *text == "nil") {
        json_ += "null";
      } else if (!is_binary && (*text == "true" || *text == "false")) {
        json_ += *text;
      } else {
        json::stringify_string(*text, json_);
      }
      return true;
    }
    const auto number = number_of(tag);
    json_ += number.value_or("");
    return number.has_value();
  }

  /// A list of small integers.
  bool put_bytes() {
    const auto bytes = bytes_.counted(2);
    if (!bytes) {
      return false;
    }
    json_ += '[';
    for (const char byte : *bytes) {
      json_ += json_.back() == '[' ? "" : ",";
      json_ += std::to_string(static_cast<unsigned char>(byte));
    }
    json_ += ']';
    return true;
  }

  /// The text of an atom or a binary.
  std::optional<std::string> text_of(std::uint64_t tag) {
    const bool is_latin1 = tag == kAtom || tag == kSmallAtom;
    const bool is_small = tag == kSmallAtom || tag == kSmallAtomUtf8;
    if (!is_latin1 && !is_small && tag != kAtomUtf8 && tag != kBinary) {
      return std::nullopt;
    }
    const auto bytes = bytes_.counted(tag == kBinary ? 4 : is_small ? 1 : 2);
    if (!bytes) {
      return std::nullopt;
    }
    return is_latin1 ? from_latin1(*bytes) : json::decode_utf8(*bytes);
  }

  std::optional<std::string> number_of(std::uint64_t tag) {
    switch (tag) {
      case kSmallInteger: {
        const auto value = bytes_.number(1);
        return value ? std::optional(std::to_string(*value)) : std::nullopt;
      }
      case kInteger: {
        const auto value = bytes_.number(4);
        return value ? std::optional(std::to_string(static_cast<std::int32_t>(*value))) : std::nullopt;
      }
      case kNewFloat: {
        const auto bits = bytes_.number(8);
        const double value = std::bit_cast<double>(bits.value_or(0));
        return bits && std::isfinite(value) ? std::optional(json::number_text(value)) : std::nullopt;
      }
      case kSmallBig:
        return big(bytes_.number(1));
      case kLargeBig:
        return big(bytes_.number(4));
      default:
        return std::nullopt;
    }
  }

  std::optional<std::string> big(std::optional<std::uint64_t> count) {
    const auto sign = bytes_.number(1);
    const auto magnitude = count && *count <= kLongestInteger ? bytes_.take(*count) : std::nullopt;
    if (!sign || !magnitude) {
      return std::nullopt;
    }
    return (*sign == 0 ? "" : "-") + digits_of(*magnitude);
  }

  Bytes bytes_;
  std::string& json_;
  std::size_t value_ = 0;  // where the value that ends next begins
  std::vector<Open> open_;
};

}  // namespace

Result<std::string> translate_dets(const LogSource& file, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const auto table, DetsFile::open(file));
  Lines lines;
  std::uint64_t objects = 0;
  const auto take = [&](const DetsFile::Found& found) {
    objects += found.problem.empty() ? 1 : 0;
    return lines.take(found);
  };
  RETURN_IF_ERROR(table.each(take, stop));
  if (!table.is_closed()) {
    RETURN_IF_ERROR(lines.note(0,
                               "a program has the table open, or ended without closing it; its last changes may be "
                               "missing"));
  } else if (objects < table.objects()) {
    RETURN_IF_ERROR(lines.note(kObjectCount, "the table says that it has " + std::to_string(table.objects()) +
                                                 " objects, but only " + std::to_string(objects) + " can be read"));
  }
  return lines.all();
}

bool append_term(std::string_view bytes, std::string& json) {
  return Translation(bytes, json).run();
}

}  // namespace arborfs::opal
