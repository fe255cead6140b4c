#include "core/base/clock.h"

#include <array>
#include <ctime>

namespace arborfs {

std::string local_time(std::int64_t time_ms, const char* format) {
  const auto seconds = static_cast<std::time_t>(time_ms / 1000 - (time_ms % 1000 < 0 ? 1 : 0));
  std::tm parts{};
  std::array<char, 64> text{};
  if (::localtime_r(&seconds, &parts) == nullptr) {
    return "";
  }
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace arborfs
