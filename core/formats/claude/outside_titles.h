// Titles that are not in a transcript itself: in the file beside it, or in a row of another transcript
// (claude/FORMAT.md D1). Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/os/file.h"
#include "core/store/session_store.h"

namespace arborfs::claude {

class OutsideTitles {
 public:
  /// Gives the sessions among `found`, the logs of a project, whose heads were read and have no title the one that
  /// stands elsewhere. Reads a few KiB of each log, and, if some have summaries, up to 64 MiB of those without a title.
  void find(const Dir& project, std::vector<FoundLog>& found);
  /// The log with the title that find() found for it, which is then its metadata().
  [[nodiscard]] std::shared_ptr<const LogSource> with_title(const LogPlace& place,
                                                            std::shared_ptr<const LogSource> log) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> titles_;  // by folder and file; guarded by mutex_
};

}  // namespace arborfs::claude
