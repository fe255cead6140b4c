#include "core/log/log_stretches.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace arborfs {

Result<LogStretches> LogStretches::read(const LogSource& log, std::vector<Place> places) {
  constexpr std::uint64_t kWaste = 2;  // so many times more may be read than is wanted
  LogStretches made;
  std::uint64_t start = UINT64_MAX;
  std::uint64_t end = 0;
  std::uint64_t wanted = 0;
  for (const Place& place : places) {
    start = std::min(start, place.offset);
    end = std::max(end, place.offset + place.length);
    wanted += place.length;
  }
  made.start_ = start;
  made.places_ = std::move(places);
  if (made.places_.size() > 1 && end - start <= kWaste * wanted) {
    ASSIGN_OR_RETURN(auto bytes, log.read(start, end - start));
    made.bytes_.push_back(std::move(bytes));
    return made;
  }
  for (const Place& place : made.places_) {
    ASSIGN_OR_RETURN(auto bytes, log.read(place.offset, place.length));
    made.bytes_.push_back(std::move(bytes));
  }
  return made;
}

std::string_view LogStretches::operator[](std::size_t at) const {
  const Place& place = places_[at];
  return bytes_.size() == places_.size() ? std::string_view(bytes_[at])
                                         : std::string_view(bytes_[0]).substr(place.offset - start_, place.length);
}

}  // namespace arborfs
