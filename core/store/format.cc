#include "core/store/format.h"

#include <string>

#include "core/log/record_reader.h"
#include "core/render/omp_renderer.h"

namespace arborfs {

Result<Header> read_header(const Format& format, const LogSource& log) {
  return format.reader != nullptr ? format.reader->read_header(log) : read_header(log);
}

const Format& omp_format() {
  static const Format format{"omp", "omp-jsonl", nullptr, &omp_renderer(), true};
  return format;
}

const Format& pi_format() {
  static const Format format{"pi", "pi-jsonl", nullptr, &omp_renderer(), true};
  return format;
}

bool is_of_omp_or_pi(const Format& format) {
  return &format == &omp_format() || &format == &pi_format();
}

Error only_reads(const Format& format) {
  return {Errc::read_only, "arborfs only reads sessions of " + std::string(format.agent)};
}

Result<void> check_writable(const Format& format) {
  return format.is_writable ? Result<void>() : Result<void>(only_reads(format));
}

}  // namespace arborfs
