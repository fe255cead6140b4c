#include "core/formats/omp/edit/header_text.h"

#include <sys/random.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>

#include "core/json/date.h"
#include "core/json/document.h"

namespace arborfs::omp {
namespace {

constexpr std::size_t kSlotBytes = 256;  // with the line feed (omp/FORMAT.md E2)

void put_member(std::string_view key, std::string_view value, std::string& out) {
  out.append(",\"").append(key).append("\":");
  json::stringify_string(value, out);
}

void put_if_any(std::string_view key, std::string_view value, std::string& out) {
  if (!value.empty()) {
    put_member(key, value, out);
  }
}

void put_title(const NewHeader& header, std::string& out) {
  put_if_any("title", header.title, out);
  if (header.dialect == Dialect::omp18) {
    put_if_any("titleSource", header.title_source, out);
  }
}

// The length of the code point that starts at `at`; text is WTF-8.
std::size_t code_point_length(std::string_view text, std::size_t at) {
  std::size_t length = 1;
  while (at + length < text.size() && (static_cast<unsigned char>(text[at + length]) & 0xC0) == 0x80) {
    ++length;
  }
  return length;
}

// The longest beginning of a title whose JSON spelling, without quotes, has at most `room` bytes.
struct Fitting {
  std::size_t bytes = 0;
  std::string spelling;
};

Fitting fitting_title(std::string_view title, std::size_t room) {
  Fitting fitting;
  while (fitting.bytes < title.size()) {
    const std::size_t length = code_point_length(title, fitting.bytes);
    std::string literal;
    json::stringify_string(title.substr(fitting.bytes, length), literal);
    if (fitting.spelling.size() + literal.size() - 2 > room) {
      break;
    }
    fitting.spelling.append(literal, 1, literal.size() - 2);
    fitting.bytes += length;
  }
  return fitting;
}

constexpr std::int64_t kSnowflakeEpoch = 1'420'070'400'000;  // 2015-01-01 (omp/FORMAT.md F2)
constexpr int kSequenceBits = 22;
constexpr int kIdDraws = 100;

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  while (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
  }
  return bits;
}

void put_hex(std::uint64_t number, int digits, std::string& out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[number >> shift & 0xF];
  }
}

std::uint32_t next_sequence() {
  static std::atomic<std::uint32_t> sequence(static_cast<std::uint32_t>(random_bits()));
  return sequence.fetch_add(1, std::memory_order_relaxed);
}

/// `front`: the first 12 of its hex digits.
std::string make_uuid(std::uint64_t front, char version) {
  const std::uint64_t random = random_bits();
  std::string uuid;
  put_hex(front >> 16, 8, uuid);
  uuid += '-';
  put_hex(front, 4, uuid);
  uuid += '-';
  uuid += version;
  put_hex(random, 3, uuid);
  uuid += '-';
  put_hex(0x8000U | (random >> 16 & 0x3FFFU), 4, uuid);
  uuid += '-';
  put_hex(random_bits(), 12, uuid);
  return uuid;
}

// The part of `path` below `root`, "" for the root itself; nothing if it is outside or starts with ".."
// (omp/FORMAT.md F4).
std::optional<std::string_view> relative_to(std::string_view root, std::string_view path) {
  if (root.empty() || !path.starts_with(root)) {
    return std::nullopt;
  }
  std::string_view rest = path.substr(root.size());
  if (!root.ends_with('/')) {
    if (!rest.empty() && rest.front() != '/') {
      return std::nullopt;
    }
    rest.remove_prefix(rest.empty() ? 0 : 1);
  }
  return rest.starts_with("..") ? std::nullopt : std::optional(rest);
}

std::string dashed(std::string_view path) {
  std::string out(path);
  for (char& c : out) {
    c = c == '/' || c == '\\' || c == ':' ? '-' : c;
  }
  return out;
}

}  // namespace

std::string new_header_lines(const NewHeader& header) {
  const bool is_18 = header.dialect == Dialect::omp18;
  std::string out = is_18 ? title_slot_line(header.title, header.title_source, header.timestamp_ms) : std::string();
  out += R"({"type":"session","version":3)";
  put_member("id", header.id, out);
  if (header.is_fork) {
    put_title(header, out);
  }
  put_member("timestamp", json::iso_time(header.timestamp_ms), out);
  put_member("cwd", header.cwd, out);
  put_if_any("parentSession", header.parent_session, out);
  if (is_18) {
    put_if_any("providerPromptCacheKey", header.prompt_cache_key, out);
  }
  if (!header.is_fork) {
    put_title(header, out);
  }
  return out.append("}\n");
}

std::string title_slot_line(std::string_view title, std::string_view source, std::int64_t updated_ms) {
  constexpr std::string_view kFront = R"({"type":"title","v":1,"title":")";
  constexpr std::string_view kEnd = "\"}\n";
  std::string behind = "\"";
  put_if_any("source", source, behind);
  put_member("updatedAt", json::iso_time(updated_ms), behind);
  behind += R"(,"pad":")";
  const std::size_t taken = kFront.size() + behind.size() + kEnd.size();
  std::string line(kFront);
  line += fitting_title(title, kSlotBytes - taken).spelling;
  line += behind;
  line.append(kSlotBytes - kEnd.size() - line.size(), ' ');
  return line.append(kEnd);
}

std::string title_of_fork(std::string_view title, Dialect dialect) {
  constexpr std::string_view kMark = " (fork)";
  constexpr std::string_view kCut = "…";
  constexpr std::size_t kRoom = 150;  // a slot has room for this much of a title, whatever its source
  if (title.empty() || title.ends_with(kMark)) {
    return std::string(title);
  }
  const bool fits = dialect != Dialect::omp18 || fitting_title(title, kRoom - kMark.size()).bytes == title.size();
  const std::size_t room = kRoom - kMark.size() - kCut.size();
  const std::string kept =
      fits ? std::string(title) : std::string(title.substr(0, fitting_title(title, room).bytes)) + std::string(kCut);
  return kept + std::string(kMark);
}

std::string clean_title(std::string_view title) {
  std::string clean;
  for (std::size_t i = 0; i < title.size(); ++i) {
    const auto byte = static_cast<unsigned char>(title[i]);
    const bool is_c1 = byte == 0xC2 && i + 1 < title.size() && static_cast<unsigned char>(title[i + 1]) < 0xA0;
    if (is_c1 || byte <= 0x20 || byte == 0x7F) {
      i += is_c1 ? 1 : 0;
      if (!clean.empty() && clean.back() != ' ') {
        clean += ' ';
      }
    } else {
      clean += title[i];
    }
  }
  if (clean.ends_with(' ')) {
    clean.pop_back();
  }
  return clean;
}

std::string new_entry_id(const std::function<bool(std::string_view)>& taken, Dialect dialect) {
  for (int i = 0; i < kIdDraws; ++i) {
    std::string id;
    put_hex(random_bits(), 8, id);
    if (!taken(id)) {
      return id;
    }
  }
  if (dialect == Dialect::pi) {
    return make_uuid(random_bits(), '4');
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return snowflake(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), next_sequence());
}

std::string new_session_id(Dialect dialect, std::int64_t now_ms) {
  return dialect == Dialect::omp13 ? snowflake(now_ms, next_sequence())
                                   : make_uuid(static_cast<std::uint64_t>(now_ms), '7');
}

std::string snowflake(std::int64_t ms, std::uint32_t sequence) {
  constexpr std::uint64_t kMask = (1U << kSequenceBits) - 1;
  std::string id;
  put_hex(static_cast<std::uint64_t>(ms - kSnowflakeEpoch) << kSequenceBits | (sequence & kMask), 16, id);
  return id;
}

std::string log_file_name(std::int64_t now_ms, std::string_view session_id) {
  std::string name = json::iso_time(now_ms);
  for (char& c : name) {
    c = c == ':' || c == '.' ? '-' : c;
  }
  return name.append("_").append(session_id).append(".jsonl");
}

std::string session_folder_name(std::string_view cwd, std::string_view home, std::string_view tmpdir) {
  if (const auto rest = relative_to(home, cwd)) {
    return "-" + dashed(*rest);
  }
  if (const auto rest = relative_to(tmpdir, cwd)) {
    return rest->empty() ? "-tmp" : "-tmp-" + dashed(*rest);
  }
  return "--" + dashed(cwd.substr(cwd.starts_with('/') ? 1 : 0)) + "--";
}

}  // namespace arborfs::omp
