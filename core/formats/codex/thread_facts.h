// What Codex keeps about threads outside their rollouts: the file of names and the database (codex/FORMAT.md A4, A6,
// H1). Only reads them. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/os/disk.h"
#include "core/os/file.h"
#include "core/sqlite/database.h"
#include "core/store/finding.h"

namespace arborfs::codex {

/// The names that users gave to threads, as the file of names has them.
class ThreadNames {
 public:
  /// `home` is Codex's folder, in which the file of names may appear later.
  explicit ThreadNames(std::string home) : home_(std::move(home)) {}

  /// The file of names, for the watcher.
  static constexpr std::string_view kFile = "session_index.jsonl";

  using Names = std::unordered_map<std::string, std::string>;
  /// The names by thread; reads the file again if it has changed.
  [[nodiscard]] std::shared_ptr<const Names> current() const;

 private:
  const std::string home_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Names> names_ = std::make_shared<Names>();  // guarded by mutex_
  mutable FileStat read_at_;                                                // of the file that they are from
};

/// What the database has of a thread.
struct ThreadRow {
  bool is_known = false;            // it has a row of its own, not only a parent
  bool is_paginated = false;        // then Codex takes the name from here alone (H1)
  std::optional<std::string> name;  // given by the user
  std::string parent;               // the thread that started it as a sub-agent, "" for none
  std::string segment;              // with which Codex goes on (C7), "" if the row does not say
  bool is_pinned = false;           // in the section kPinnedSection
};

/// The section of threads that are pinned (H7).
inline constexpr std::string_view kPinnedSection = "01984de2-8f74-7c91-a3b2-5c5e937cf318";

/// The rows of all threads at one time.
struct ThreadRows {
  using ByThread = std::unordered_map<std::string, ThreadRow>;
  std::shared_ptr<const ByThread> by_thread = std::make_shared<const ByThread>();
  std::int64_t looked_ns = 0;  // they were so then, since 1970
};

class ThreadDatabase {
 public:
  /// `home` is Codex's folder, in which the database may appear later. Copies are made through `disk`, which outlives
  /// this.
  ThreadDatabase(std::string home, Disk& disk) : home_(std::move(home)), disk_(disk) {}

  /// At most kRemembered old. Empty if there is no database that can be read.
  [[nodiscard]] ThreadRows current() const;
  /// The next current() looks at the database.
  void forget_look() const;
  /// The faults that SQLite finds in the newest database.
  [[nodiscard]] std::vector<FileFinding> faults() const;
  /// A running Codex writes to the database all the time, mostly nothing that counts here.
  static constexpr std::chrono::seconds kRemembered{2};

 private:
  void refresh() const;
  const std::string home_;
  Disk& disk_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  mutable ThreadRows rows_;
  mutable std::optional<std::chrono::steady_clock::time_point> looked_at_;
  mutable std::unique_ptr<const sqlite::Database> database_;  // null: there is none
  mutable sqlite::DatabaseState read_at_;                     // of what is in rows_
};

/// A database of threads. Each schema has a number of its own.
struct DatabaseFile {
  std::string name;  // "" if there is none
  std::uint64_t version = 0;
};
/// The newest one in Codex's folder.
DatabaseFile newest_database(const std::string& home);

}  // namespace arborfs::codex
