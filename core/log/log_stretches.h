// Several stretches of a log, which are read at once if they stand close together. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_source.h"

namespace arborfs {

class LogStretches {
 public:
  struct Place {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };
  /// Errors: those of LogSource::read().
  static Result<LogStretches> read(const LogSource& log, std::vector<Place> places);
  /// Valid as long as this object stays where it is.
  [[nodiscard]] std::string_view operator[](std::size_t at) const;

 private:
  std::vector<Place> places_;
  std::uint64_t start_ = 0;         // of the only element of `bytes_`
  std::vector<std::string> bytes_;  // all of them, or one for each place
};

}  // namespace arborfs
