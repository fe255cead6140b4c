#include "core/store/log_listing.h"

#include <dirent.h>

#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/log/log_file.h"
#include "core/log/log_reader.h"

namespace arborfs {
namespace {

/// False if it cannot be read.
bool read_head(const Dir& dir, const Format& format, FoundLog& log) {
  const std::int64_t started = now_ns();
  const auto file = LogFile::open(dir, log.place.file, {}, log.place.folder);
  auto header = file ? format.reader->read_header(**file) : Result<Header>(file.error());
  if (!header) {
    return false;
  }
  log.stat = (*file)->opened();
  log.head = FoundHead{std::move(header).value(), started};
  return true;
}

}  // namespace

Result<std::vector<FoundLog>> list_logs(const Dir& dir, const std::string& folder, const Format& format,
                                        const IsLogName& is_log_name, const HeadWanted& wants_head) {
  ASSIGN_OR_RETURN(auto entries, dir.list());
  std::vector<FoundLog> found;
  for (auto& entry : entries) {
    if (entry.type != DT_REG || !is_log_name(entry.name)) {
      continue;
    }
    FoundLog log{LogPlace{folder, std::move(entry.name)}, {}, {}};
    if (wants_head && wants_head(log.place) && read_head(dir, format, log)) {
      found.push_back(std::move(log));
    } else if (auto st = dir.stat(log.place.file)) {
      log.stat = *st;
      found.push_back(std::move(log));
    }
  }
  return found;
}

}  // namespace arborfs
