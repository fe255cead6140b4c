// A scratch agent dir for tests, removed at the end. Lines are passed without their newline.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace arborfs::testing {

/// The folder for scratch files of tests that make many: in memory, if the system has one there.
inline std::filesystem::path memory_folder() {
  const std::filesystem::path shared = "/dev/shm";
  return ::access(shared.c_str(), W_OK) == 0 ? shared : std::filesystem::temp_directory_path();
}

class TempStore {
 public:
  explicit TempStore(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
    std::string name = (in / "arborfs-test-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directories(sessions());
  }
  ~TempStore() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TempStore(const TempStore&) = delete;
  TempStore& operator=(const TempStore&) = delete;

  [[nodiscard]] std::string root() const { return root_; }
  [[nodiscard]] std::filesystem::path sessions() const { return std::filesystem::path(root_) / "sessions"; }
  [[nodiscard]] std::filesystem::path log(const std::string& folder, const std::string& name) const {
    return sessions() / folder / (name + ".jsonl");
  }

  static std::string header(const std::string& id, const std::string& cwd) {
    return R"({"type":"session","version":3,"id":")" + id + R"(","timestamp":"2026-02-16T10:20:30.000Z","cwd":")" +
           cwd + R"("})";
  }
  static std::string user(const std::string& id, const std::string& parent, const std::string& text) {
    return R"({"type":"message","id":")" + id + R"(","parentId":)" +
           (parent.empty() ? std::string("null") : "\"" + parent + "\"") +
           R"(,"timestamp":"2026-02-16T10:20:31.000Z","message":{"role":"user","content":")" + text +
           R"(","timestamp":1771237231000}})";
  }

  /// A session that ends in two entries, "e1" and "e2".
  static std::string two_entries() {
    return header("aaaa000011112222", "/work/pi") + "\n" + user("e1", "", "one") + "\n" + user("e2", "e1", "two") +
           "\n";
  }

  void write(const std::string& folder, const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories(sessions() / folder);
    std::ofstream(log(folder, name), std::ios::binary) << bytes;
  }
  void append(const std::string& folder, const std::string& name, std::string_view bytes) const {
    std::ofstream(log(folder, name), std::ios::binary | std::ios::app) << bytes;
  }
  /// As agents rewrite: a temporary file renamed over the log.
  void replace(const std::string& folder, const std::string& name, std::string_view bytes) const {
    const auto temporary = sessions() / folder / ("." + name + ".jsonl.1.tmp");
    std::ofstream(temporary, std::ios::binary) << bytes;
    std::filesystem::rename(temporary, log(folder, name));
  }

 private:
  std::string root_;
};

}  // namespace arborfs::testing
