// The facts about threads that only Codex's database has (codex/FORMAT.md A4, A6). Only reads it. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/formats/codex/thread_facts.h"
#include "core/os/disk.h"
#include "core/sqlite/database.h"
#include "core/store/finding.h"

namespace arborfs::codex {

class ThreadDatabase {
 public:
  using Threads = std::unordered_map<std::string, ThreadFacts>;

  /// `home` is Codex's folder, in which the database may appear later. Copies are made through `disk`, which outlives
  /// this.
  ThreadDatabase(std::string home, Disk& disk) : home_(std::move(home)), disk_(disk) {}

  /// The facts by thread, at most kRemembered old. Empty if there is no database that can be read.
  [[nodiscard]] std::shared_ptr<const Threads> current() const;
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
  mutable std::shared_ptr<const Threads> threads_;  // null: not looked for yet
  mutable std::chrono::steady_clock::time_point looked_at_;
  mutable std::unique_ptr<const sqlite::Database> database_;  // null: there is none
  mutable sqlite::DatabaseState read_at_;                     // of what is in threads_
};

}  // namespace arborfs::codex
