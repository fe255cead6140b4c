// Lists the logs of one folder of a store. Any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/store.h"

namespace arborfs {

/// True for the names of logs.
using IsLogName = std::function<bool(std::string_view name)>;

/// Says of a name that is no log's why a file with it is left out nevertheless, as FoundLog::left_out; "" for the names
/// of other files.
using WhyLeftOut = std::function<std::string_view(std::string_view name)>;

/// Why a compressed copy of a log, `<name of a log>.gz`, is no session; "" for other names.
std::string_view why_not_compressed(std::string_view name, const IsLogName& is_log_name);

/// Why something that has the name of a log is no session, by the type of its directory entry (DT_FIFO).
std::string why_no_file(unsigned char type);

/// As Store::logs, for `dir`, which is `folder`. Without `why_left_out`, that is why_not_compressed().
std::vector<FoundLog> logs_among(const std::vector<DirEntry>& entries, const Dir& dir, const std::string& folder,
                                 const Format& format, const IsLogName& is_log_name, const HeadWanted& wants_head,
                                 const WhyLeftOut& why_left_out = {});
/// The same for a caller that does not need the entries of `dir`. Errors: those of listing it.
Result<std::vector<FoundLog>> list_logs(const Dir& dir, const std::string& folder, const Format& format,
                                        const IsLogName& is_log_name, const HeadWanted& wants_head,
                                        const WhyLeftOut& why_left_out = {});

/// True for an entry of a sessions folder that is a folder of logs, or a link that leads to one or to nothing that can
/// be examined: the listing of that folder says why. `dir` is the folder with the entry.
bool may_be_folder(const Dir& dir, const DirEntry& entry);

/// A store whose sessions are one file each, named `<session><suffix>`, in one folder below its root. Thread-safe.
class LogFolderStore : public Store {
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
