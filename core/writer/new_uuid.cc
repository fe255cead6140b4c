#include "core/writer/new_uuid.h"

#include <sys/random.h>

#include <array>
#include <string_view>

namespace arborfs {

Result<std::string> new_uuid() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{Errc::io, "the system provides no random numbers"};
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
  std::string uuid;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    uuid += i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    uuid += kDigits[bytes[i] >> 4U];
    uuid += kDigits[bytes[i] & 15U];
  }
  return uuid;
}

}  // namespace arborfs
