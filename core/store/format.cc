#include "core/store/format.h"

#include "core/log/record_reader.h"
#include "core/render/omp_renderer.h"

namespace arborfs {

Result<Header> read_header(const Format& format, const LogFile& log) {
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

}  // namespace arborfs
