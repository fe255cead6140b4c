#include "core/formats/codex/segment_opener.h"

#include <utility>

#include "core/base/cancellation.h"
#include "core/base/result_macros.h"
#include "core/formats/codex/segments_log.h"
#include "core/log/log_file.h"
#include "core/log/zstd_log.h"

namespace arborfs::codex {

SegmentOpener::SegmentOpener(std::string home, Use use) : home_(std::move(home)), use_(use) {}

Result<void> SegmentOpener::go_to(const std::string& folder) {
  if (dir_ && folder == folder_) {
    return {};
  }
  dir_.reset();
  ASSIGN_OR_RETURN(auto dir, open_below(home_, folder));
  dir_ = std::move(dir);
  folder_ = folder;
  return {};
}

Result<std::shared_ptr<const LogSource>> SegmentOpener::open(const SegmentFile& file) {
  if (const auto known = files_.find(file.name.segment); known != files_.end()) {
    return known->second;
  }
  RETURN_IF_ERROR(go_to(file.folder));
  PooledFile::Opener reopen;
  if (use_ == Use::lasting) {
    reopen = [home = home_, folder = file.folder, name = file.file]() -> Result<File> {
      ASSIGN_OR_RETURN(const auto again, open_below(home, folder));
      return File::follow_in(again, name);
    };
  }
  ASSIGN_OR_RETURN(auto log, LogFile::open(*dir_, file.file, std::move(reopen)));
  if (file.name.is_compressed) {
    ASSIGN_OR_RETURN(log, use_ == Use::lasting ? ZstdLog::open(std::move(log), Cancellation::current())
                                               : ZstdLog::open_start(*log, kLongestHead));
  }
  files_.emplace(file.name.segment, log);
  return log;
}

}  // namespace arborfs::codex
