// The folders of Claude Code's transcripts (claude/FORMAT.md A). Opens only transcripts, the files next to them for
// native_files(), and the files in which running programs name their sessions. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/claude/outside_titles.h"
#include "core/store/read_only_store.h"

namespace arborfs::claude {

/// A folder of logs is `<project>`, or `<project>/<session>/subagents` and each folder below it for the sub-agents of
/// one session.
class Store : public ReadOnlyStore {
 public:
  using ReadOnlyStore::ReadOnlyStore;

  [[nodiscard]] bool is_log_name(std::string_view file) const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override;
  [[nodiscard]] bool present() const override;
  [[nodiscard]] Result<std::vector<std::string>> folders() const override;
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override;
  /// The transcript; for a session also its folder, for a sub-agent also its description.
  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> native_files(const LogPlace& place) const override;
  [[nodiscard]] std::unique_ptr<const LiveSigns> live_signs(bool is_running) const override;
  /// What a killed fork to Claude Code left.
  [[nodiscard]] std::vector<FileFinding> faults() const override;

 private:
  mutable OutsideTitles titles_;
};

}  // namespace arborfs::claude
