// The base of stores that arborfs only reads: every call that would change one fails with read_only. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/session_store.h"

namespace arborfs {

class ReadOnlyStore : public SessionStore {
 public:
  /// `format` and `disk` outlive the store.
  ReadOnlyStore(const Format& format, StorePaths paths, Disk& disk);

  [[nodiscard]] const Format& format() const override { return format_; }
  [[nodiscard]] const StorePaths& paths() const override { return paths_; }
  [[nodiscard]] Disk& disk() const override { return disk_; }
  [[nodiscard]] Result<Dir> artifacts(const LogPlace& place) const override;
  [[nodiscard]] std::vector<Breadcrumb> breadcrumbs() const override { return {}; }
  [[nodiscard]] const std::shared_ptr<BlobStore>& blobs() const override { return blobs_; }

  [[nodiscard]] Result<std::unique_ptr<LogWriter>> writer(const LogPlace& place) override;
  [[nodiscard]] Result<std::unique_ptr<LogDraft>> draft(const LogPlace& place, mode_t permissions) override;
  [[nodiscard]] Result<std::unique_ptr<LogDraft>> redraft(const LogPlace& place, const LogPlace& to) override;
  Result<void> publish(LogDraft& draft, const LogPlace& place, Disk::Existing existing, bool sync) override;
  Result<void> move(const LogPlace& from, const LogPlace& to) override;

 private:
  [[nodiscard]] Error refusal() const;
  const Format& format_;
  const StorePaths paths_;
  Disk& disk_;
  const std::shared_ptr<BlobStore> blobs_;  // empty
};

/// A store whose sessions are one file each, named `<session><suffix>`, in one folder below its root.
class LogFolderStore : public ReadOnlyStore {
 public:
  /// The logs are in `folder` below `paths.sessions`.
  LogFolderStore(const Format& format, StorePaths paths, std::string folder, std::string suffix, Disk& disk);

  [[nodiscard]] bool present() const override;
  [[nodiscard]] Result<std::vector<std::string>> folders() const override;
  [[nodiscard]] bool may_have_logs(std::string_view folder) const override { return folder == folder_; }
  [[nodiscard]] bool is_log_name(std::string_view file) const override;
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override;

 private:
  [[nodiscard]] Result<Dir> open_folder(const std::string& folder) const;
  const std::string folder_;
  const std::string suffix_;
};

}  // namespace arborfs
