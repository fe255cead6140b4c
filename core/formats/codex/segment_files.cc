#include "core/formats/codex/segment_files.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/store/session_store.h"

namespace arborfs::codex {

Result<SegmentFile> SegmentFiles::segment_of(const std::string& path) const {
  const auto found =
      std::find_if(segments_.begin(), segments_.end(), [&](const SegmentFile& each) { return each.file == path; });
  return found != segments_.end() ? Result<SegmentFile>(*found)
                                  : Error{Errc::not_found, "the thread has no such segment"};
}

Result<ShownFiles::Stat> SegmentFiles::stat(const std::string& path) const {
  if (path.empty()) {
    std::int64_t newest = 0;
    for (const SegmentFile& segment : segments_) {
      newest = std::max(newest, segment.stat.mtime_ns);
    }
    return Stat{true, 0, newest};
  }
  ASSIGN_OR_RETURN(const auto segment, segment_of(path));
  ASSIGN_OR_RETURN(const auto dir, open_below(home_, segment.folder));
  ASSIGN_OR_RETURN(const auto st, stat_log(dir, segment.file));
  return Stat{false, st.size, st.mtime_ns};
}

Result<std::vector<ShownFiles::Item>> SegmentFiles::list(const std::string& path) const {
  if (!path.empty()) {
    return Error{Errc::not_found, "a segment is not a folder"};
  }
  std::vector<Item> items;
  for (const SegmentFile& segment : segments_) {
    if (stat(segment.file)) {
      items.push_back({segment.file, false});
    }
  }
  return items;
}

Result<ShownFiles::Content> SegmentFiles::open(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto segment, segment_of(path));
  ASSIGN_OR_RETURN(const auto dir, open_below(home_, segment.folder));
  ASSIGN_OR_RETURN(auto file, File::follow_in(dir, segment.file));
  return Content(std::move(file));
}

}  // namespace arborfs::codex
