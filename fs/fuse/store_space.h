// How much room the file system of the store has, as statfs answers it. That file system may hang, so a thread of its
// own asks it and no request waits for long: until it answers, its last answer holds. Thread-safe.
#pragma once

#include <sys/statvfs.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace arborfs {

class StoreSpace {
 public:
  /// May hang; all zero when it fails.
  using Ask = std::function<struct statvfs()>;
  static constexpr std::chrono::milliseconds kPatience{100};
  static constexpr std::chrono::seconds kFresh{1};

  explicit StoreSpace(Ask ask);
  /// All zero before the first answer.
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
