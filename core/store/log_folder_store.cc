#include "core/store/log_folder_store.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/store/log_listing.h"

namespace arborfs {

LogFolderStore::LogFolderStore(const Format& format, StorePaths paths, std::string folder, std::string suffix,
                               Disk& disk)
    : SessionStore(format, std::move(paths), disk), folder_(std::move(folder)), suffix_(std::move(suffix)) {}

bool LogFolderStore::present() const {
  return folders().has_value();
}

Result<std::vector<std::string>> LogFolderStore::folders() const {
  RETURN_IF_ERROR(folder({folder_, ""}));
  return std::vector{folder_};
}

bool LogFolderStore::is_log_name(std::string_view file) const {
  return file.size() > suffix_.size() && file.front() != '.' && file.ends_with(suffix_);
}

Result<std::vector<FoundLog>> LogFolderStore::logs(const std::string& folder, const HeadWanted& wants_head) const {
  ASSIGN_OR_RETURN(const auto dir, this->folder({folder, ""}));
  return list_logs(
      dir, folder, format(), [this](std::string_view name) { return is_log_name(name); }, wants_head);
}

Result<Dir> LogFolderStore::folder(const LogPlace& place) const {
  return place.folder == folder_ ? Dir::follow_below_root(paths().sessions, folder_)
                                 : Result<Dir>(Errc::not_found, "no sessions folder");
}

}  // namespace arborfs
