// A store whose sessions are one file each, named `<session><suffix>`, in one folder below its root. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/store/session_store.h"

namespace arborfs {

class LogFolderStore : public SessionStore {
 public:
  /// The logs are in `folder` below `paths.sessions`. `format` and `disk` outlive the store.
  LogFolderStore(const Format& format, StorePaths paths, std::string folder, std::string suffix, Disk& disk);

  [[nodiscard]] bool present() const override;
  [[nodiscard]] Result<std::vector<std::string>> folders() const override;
  [[nodiscard]] bool may_have_logs(std::string_view folder) const override { return folder == folder_; }
  [[nodiscard]] bool is_log_name(std::string_view file) const override;
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  /// Other folders of the agent never belong to the store.
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override;

 private:
  const std::string folder_;
  const std::string suffix_;
};

}  // namespace arborfs
