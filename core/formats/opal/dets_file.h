// The container of a DETS table, version 9 (opal/FORMAT.md D2, D3): finds the objects that are live. Used by one
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/log/log_source.h"

namespace arborfs::opal {

class DetsFile {
 public:
  /// Longer objects are reported as unreadable.
  static constexpr std::uint64_t kLongestObject = std::uint64_t{64} << 20U;

  /// Reads the head of the table. `file` outlives the result. Errors: corrupt if it is no such table; io.
  static Result<DetsFile> open(const LogSource& file);

  /// False while a program has it open, and after a crash: the last writes may be missing or incomplete.
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  /// The number of objects according to the head.
  [[nodiscard]] std::uint32_t objects() const { return objects_; }

  /// Something that was found at an offset of the file: the bytes of an object's term without its version byte, or why
  /// it cannot be read.
  struct Found {
    std::uint64_t offset = 0;
    std::string_view term;
    std::string_view problem;  // "" if there is none
  };
  /// Visits the objects in the order of the table's slots, each byte of the file at most once. Errors: io, those of
  /// `visit`; interrupted once `cancelled`, which may be null, is true; corrupt if more is listed than the file has.
  Result<void> each(const std::function<Result<void>(const Found&)>& visit, const std::atomic<bool>* cancelled) const;

 private:
  struct Walk;
  explicit DetsFile(const LogSource& file) : file_(file) {}
  Result<void> read_segment(std::uint64_t at, std::uint32_t slots, Walk& walk) const;
  Result<void> read_slot(std::uint64_t at, std::uint64_t size, Walk& walk) const;

  const LogSource& file_;
  bool is_closed_ = false;
  std::uint32_t slots_ = 0;
  std::uint32_t objects_ = 0;
};

}  // namespace arborfs::opal
