#include "core/store/format.h"

#include <string>

namespace arborfs {

Error only_reads(const Format& format) {
  return {Errc::read_only, "arborfs only reads sessions of " + std::string(format.agent)};
}

Result<void> check_writable(const Format& format) {
  return format.is_writable ? Result<void>() : Result<void>(only_reads(format));
}

}  // namespace arborfs
