// The free space of the store's file system, for statfs. That file system may hang, so a separate thread queries it and
// requests wait at most kPatience: until it answers, its last answer is used. Thread-safe.
#pragma once

#include <sys/statvfs.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace arborfs {

class StoreSpace {
 public:
  /// May hang; returns all zeros if it fails.
  using Ask = std::function<struct statvfs()>;
  static constexpr std::chrono::milliseconds kPatience{100};
  static constexpr std::chrono::seconds kFresh{1};

  explicit StoreSpace(Ask ask);
  /// All zeros before the first answer.
  struct statvfs now();

 private:
  struct State;
  static void ask(const Ask& how, const std::shared_ptr<State>& state) noexcept;
  const Ask ask_;
  const std::shared_ptr<State> state_;  // shared with a thread that may outlive this
};

/// The file system of `folder`, or of the nearest folder above it that exists.
struct statvfs space_of(std::string folder);

}  // namespace arborfs
