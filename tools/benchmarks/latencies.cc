// arborfs-latencies: measures single calls, for tools/bench. Prints {"p50":µs,"p99":µs,"calls":n}; exits with 1 at the
// first call that fails.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Times = std::vector<std::int64_t>;  // nanoseconds

constexpr const char* kUsage =
    "usage: arborfs-latencies reads FOLDER LEAST MOST       open, read, close each file of so many bytes, a second "
    "time\n"
    "       arborfs-latencies visible LOG SESSION COUNT     append to the log until the session's leaf is what was "
    "appended\n"
    "       arborfs-latencies tail SESSION COUNT            find and read the leaf, after an append each time\n";
constexpr auto kPatience = std::chrono::seconds(10);

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "arborfs-latencies: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

std::int64_t since(Clock::time_point start) {
  return std::chrono::nanoseconds(Clock::now() - start).count();
}

void read_once(const std::string& path) {
  std::array<char, 1 << 16> buffer;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fail(path);
  }
  ssize_t got = 0;
  while ((got = ::read(fd, buffer.data(), buffer.size())) == static_cast<ssize_t>(buffer.size())) {
  }
  if (got < 0 || ::close(fd) != 0) {
    fail(path);
  }
}

std::vector<std::string> files_of(const std::string& folder, off_t least, off_t most) {
  std::vector<std::string> found;
  DIR* const listing = ::opendir(folder.c_str());
  if (listing == nullptr) {
    fail(folder);
  }
  while (const dirent* const entry = ::readdir(listing)) {
    const std::string path = folder + "/" + entry->d_name;
    struct stat st {};
    if (::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= least && st.st_size <= most) {
      found.push_back(path);
    }
  }
  ::closedir(listing);
  return found;
}

Times time_reads(const std::string& folder, off_t least, off_t most) {
  const auto paths = files_of(folder, least, most);
  for (const auto& path : paths) {
    read_once(path);
  }
  Times times;
  for (const auto& path : paths) {
    const auto start = Clock::now();
    read_once(path);
    times.push_back(since(start));
  }
  return times;
}

/// The target of the link SESSION/leaf.
std::string leaf_of(const std::string& session) {
  std::array<char, 512> target;
  const ssize_t size = ::readlink((session + "/leaf").c_str(), target.data(), target.size());
  if (size < 0) {
    fail(session + "/leaf");
  }
  return {target.data(), static_cast<std::size_t>(size)};
}

/// The id in a leaf's target, `entries/000012-user-0123abcd.json`.
std::string id_in(const std::string& target) {
  const auto dash = target.rfind('-');
  return target.substr(dash + 1, target.rfind('.') - dash - 1);
}

void write_all(int fd, const std::string& bytes, const std::string& path) {
  if (::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    fail(path);
  }
}

std::string line_of(const std::string& id, const std::string& parent) {
  return R"({"type":"message","id":")" + id + R"(","parentId":")" + parent +
         R"(","timestamp":"2026-01-05T08:00:00.000Z","message":{"role":"user","content":"seen?","timestamp":1767600000000}})"
         "\n";
}

Times time_visible(const std::string& log, const std::string& session, std::size_t count) {
  const int fd = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) {
    fail(log);
  }
  std::mt19937 random(1);
  std::string parent = id_in(leaf_of(session));
  Times times;
  for (std::size_t i = 0; i < count; ++i) {
    // A random pause keeps entries apart from each other and from the daemon's periodic work.
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 5000));
    std::array<char, 9> id;
    std::snprintf(id.data(), id.size(), "%08x", static_cast<unsigned>(random()));
    const std::string line = line_of(id.data(), parent);
    const auto start = Clock::now();
    write_all(fd, line, log);
    while (id_in(leaf_of(session)) != id.data()) {
      if (Clock::now() - start > kPatience) {
        errno = ETIMEDOUT;
        fail(session + "/leaf");
      }
    }
    times.push_back(since(start));
    parent = id.data();
  }
  ::close(fd);
  return times;
}

Times time_tail(const std::string& session, std::size_t count) {
  const std::string control = session + "/append";
  Times times;
  for (std::size_t i = 0; i < count; ++i) {
    const int fd = ::open(control.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) {
      fail(control);
    }
    write_all(fd,
              R"({"role":"user","content":"one more"})"
              "\n",
              control);
    if (::close(fd) != 0) {
      fail(control);
    }
    const auto start = Clock::now();
    const std::string target = leaf_of(session);
    read_once(session + "/" + target);
    times.push_back(since(start));
  }
  return times;
}

std::optional<std::size_t> number(std::string_view word) {
  std::size_t value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  return failed == std::errc() && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

std::optional<Times> run(const std::vector<std::string>& words) {
  const auto count = words.empty() ? std::nullopt : number(words.back());
  if (!count) {
    return std::nullopt;
  }
  if (words.size() == 4 && words[0] == "reads" && number(words[2])) {
    return time_reads(words[1], static_cast<off_t>(*number(words[2])), static_cast<off_t>(*count));
  }
  if (words.size() == 4 && words[0] == "visible") {
    return time_visible(words[1], words[2], *count);
  }
  if (words.size() == 3 && words[0] == "tail") {
    return time_tail(words[1], *count);
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  auto times = run({argv + 1, argv + argc});
  if (!times) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (times->empty()) {
    std::fputs("arborfs-latencies: nothing to measure\n", stderr);
    return 1;
  }
  std::sort(times->begin(), times->end());
  std::printf("{\"p50\":%.3f,\"p99\":%.3f,\"calls\":%zu}\n", static_cast<double>((*times)[times->size() / 2]) / 1000,
              static_cast<double>((*times)[times->size() * 99 / 100]) / 1000, times->size());
  return 0;
}
