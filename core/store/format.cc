#include "core/store/format.h"

#include <algorithm>
#include <string>

namespace arborfs {

bool Format::takes(std::string_view verb) const {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

Error only_reads(const Format& format) {
  return {Errc::read_only, "sessions of " + std::string(format.agent) + " can be read but not changed"};
}

Result<void> check_writable(const Format& format) {
  return format.is_writable() ? Result<void>() : Result<void>(only_reads(format));
}

Error does_not_take(const Format& format, std::string_view verb) {
  if (!format.is_writable()) {
    return only_reads(format);
  }
  return {Errc::unsupported, "sessions of " + std::string(format.agent) + " do not take '" + std::string(verb) + "'"};
}

}  // namespace arborfs
