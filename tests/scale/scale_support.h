// Shared by the scale tests: makes big files quickly, and measures time and memory so that a busy machine does not make
// a test fail. Time is this process's CPU time, compared with other work of the same run.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/omp/log/reader.h"
#include "core/log/log_file.h"
#include "core/log/log_index.h"
#include "tests/support/sanitized.h"

namespace arborfs::scale {

#ifdef ARBORFS_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Sizes shrink and limits widen under a sanitizer.
inline constexpr std::uint64_t kShrink = kSanitized ? 10 : 1;
inline constexpr double kPatience = kSanitized ? 30 : 1;

inline constexpr std::string_view kHeaderLine =
    R"({"type":"session","version":3,"id":"1470cb256c2cc736","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/srv/x"})"
    "\n";

/// One small user message. `parent` is the JSON text of parentId.
inline std::string entry_line(std::string_view id, std::string_view parent, std::string_view text = "x",
                              std::string_view timestamp = "2026-02-16T10:20:31.000Z") {
  std::string line = R"({"type":"message","id":")";
  ((line += id) += R"(","parentId":)") += parent;
  ((line += R"(,"timestamp":")") += timestamp) += R"(","message":{"role":"user","content":")";
  return (line += text) += "\"}}\n";
}

inline std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

inline std::string hex_id(std::uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%08llx", static_cast<unsigned long long>(number));
  return text;
}

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "arborfs-scale-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data()) == nullptr ? "" : pattern;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  [[nodiscard]] std::uint64_t free_bytes() const {
    struct statvfs room {};
    return ::statvfs(path_.c_str(), &room) == 0 ? room.f_bavail * room.f_frsize : 0;
  }

 private:
  std::string path_;
};

inline void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// A value that a /proc/self file gives in kB, in bytes.
inline std::uint64_t proc_status_bytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) {
      return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024;
    }
  }
  return 0;
}

/// The anonymous memory in use, after returning freed pages.
inline std::uint64_t anonymous_bytes() {
  ::malloc_trim(0);
  return proc_status_bytes("RssAnon:");
}

/// How far resident memory rose while `work` ran.
inline std::uint64_t peak_growth(const std::function<void()>& work) {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5" << std::flush;
  const std::uint64_t before = proc_status_bytes("VmRSS:");
  work();
  const std::uint64_t peak = proc_status_bytes("VmHWM:");
  return peak > before ? peak - before : 0;
}

/// CPU seconds of this process, all threads together.
inline double cpu_seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

inline double least_cpu_seconds(int times, const std::function<void()>& work) {
  double least = cpu_seconds(work);
  for (int i = 1; i < times; ++i) {
    least = std::min(least, cpu_seconds(work));
  }
  return least;
}

/// Reads every byte of the log once, looking for line feeds: the minimum for any reader.
inline std::uint64_t count_lines(const LogSource& log) {
  std::vector<char> piece(1 << 20);
  std::uint64_t offset = 0;
  std::uint64_t lines = 0;
  for (;;) {
    const auto got = log.read_at(offset, piece);
    if (!got || *got == 0) {
      return lines;
    }
    offset += *got;
    const char* end = piece.data() + *got;
    for (const char* p = piece.data(); (p = static_cast<const char*>(std::memchr(p, '\n', end - p))) != nullptr; ++p) {
      ++lines;
    }
  }
}

inline double scan_seconds(const LogSource& log) {
  return least_cpu_seconds(3, [&] { count_lines(log); });
}

inline std::shared_ptr<const LogSource> open_log(const TempDir& dir, const std::string& name) {
  const auto opened = Dir::open_root(dir.path());
  if (!opened) {
    return nullptr;
  }
  auto log = LogFile::open(*opened, name);
  return log ? *log : nullptr;
}

inline std::unique_ptr<LogIndex> index_of(const LogSource& log) {
  auto built = omp::reader().index(log, {});
  EXPECT_TRUE(built.has_value()) << (built ? "" : built.error().message);
  return built ? std::move(*built) : nullptr;
}

}  // namespace arborfs::scale
