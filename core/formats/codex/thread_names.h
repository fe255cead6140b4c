// The names that users gave to threads (codex/FORMAT.md A4). Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "core/os/file.h"

namespace arborfs::codex {

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

}  // namespace arborfs::codex
