#include "core/formats/omp/write/ids.h"

#include <sys/random.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>

#include "core/json/date.h"

namespace arborfs {
namespace {

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

std::string temp_file_name(std::string_view log_name, std::int64_t now_ms) {
  return std::string(".").append(log_name).append(".").append(snowflake(now_ms, next_sequence())).append(".tmp");
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

}  // namespace arborfs
