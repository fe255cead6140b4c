// Another program that has an SQLite database open, and the state of the files next to it.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

namespace arborfs::testing {

/// Names, times of the last write and of the last change, inodes and hashes of all files of a folder.
using FolderState = std::map<std::string, std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::size_t>>;

inline std::int64_t nanos(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

inline FolderState state_of(const std::filesystem::path& folder) {
  FolderState all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    struct stat st {};
    ::lstat(entry.path().c_str(), &st);
    std::ifstream in(entry.path(), std::ios::binary);
    all[entry.path().filename()] = {nanos(st.st_mtim), nanos(st.st_ctim), st.st_ino,
                                    std::hash<std::string>()({std::istreambuf_iterator<char>(in), {}})};
  }
  return all;
}

/// The program that owns the database: a process of its own, because SQLite shares locks and memory within one.
class Owner {
 public:
  explicit Owner(const std::filesystem::path& path) {
    EXPECT_EQ(::pipe(to_.data()) | ::pipe(from_.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      serve(path);
    }
    run("PRAGMA journal_mode=WAL");
  }
  ~Owner() {
    for (const int fd : {to_[1], to_[0], from_[0], from_[1]}) {
      ::close(fd);
    }
    ::waitpid(child_, nullptr, 0);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void run(const std::string& sql) {
    char answer = 'n';
    EXPECT_EQ(::write(to_[1], (sql + '\n').data(), sql.size() + 1), static_cast<ssize_t>(sql.size() + 1));
    EXPECT_EQ(::read(from_[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y') << sql;
  }

 private:
  [[noreturn]] void serve(const std::filesystem::path& path) {
    ::close(to_[1]);
    sqlite3* connection = nullptr;
    bool is_good = sqlite3_open(path.c_str(), &connection) == SQLITE_OK;
    std::string sql;
    for (char c = 0; ::read(to_[0], &c, 1) == 1;) {
      if (c != '\n') {
        sql += c;
        continue;
      }
      is_good = is_good && sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
      sql.clear();
      if (::write(from_[1], is_good ? "y" : "n", 1) != 1) {
        break;
      }
    }
    sqlite3_close(connection);
    ::_exit(0);
  }

  std::array<int, 2> to_{};
  std::array<int, 2> from_{};
  pid_t child_ = 0;
};

}  // namespace arborfs::testing
