// The free space of the store's file system, for statfs. That file system may hang: requests wait at most kPatience,
// and until it answers, its last answer is used. Thread-safe.
#pragma once

#include <sys/statvfs.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "core/base/patient_ask.h"

namespace arborfs {

class StoreSpace {
 public:
  /// May hang; returns all zeros if it fails.
  using Ask = std::function<struct statvfs()>;
  static constexpr std::chrono::milliseconds kPatience{100};
  static constexpr std::chrono::seconds kFresh{1};

  explicit StoreSpace(Ask ask) : asked_(std::move(ask), kPatience, kFresh) {}
  /// All zeros before the first answer.
  struct statvfs now() {
    return asked_.now().value;
  }

 private:
  PatientAsk<struct statvfs> asked_;
};

/// The file system of `folder`, or of the nearest folder above it that exists.
struct statvfs space_of(std::string folder);

}  // namespace arborfs
