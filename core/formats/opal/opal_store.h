// Opal's sessions, in `sessions/` of its data folder: JSON lines and DETS tables (opal/FORMAT.md A1, D1). If a table
// and a log have the same id, the table is shown. Read only. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/store/read_only_store.h"

namespace arborfs::opal {

class Store : public LogFolderStore {
 public:
  /// The formats and `disk` outlive the store.
  Store(const Format& json_lines, const Format& dets, StorePaths paths, Disk& disk);

  [[nodiscard]] const Format& format_of(const LogPlace& place) const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override;
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  /// A table as its translation; read_raw_at() of it reads the table. Errors also: corrupt, too_large.
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> native_files(const LogPlace& place) const override;
  /// Logs hidden by a table with the same id, and files of interrupted rewrites by arborfs.
  [[nodiscard]] std::vector<FileFinding> faults() const override;

 private:
  const Format& dets_;
};

}  // namespace arborfs::opal
