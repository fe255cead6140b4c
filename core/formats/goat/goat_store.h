// goat's sessions: one folder each in a base folder (goat/FORMAT.md A). A session's place is its folder, with the
// folder's name plus .jsonl as the file. `artifacts` of a session is its folder, with transcript and checkpoints.
// Written by GoatWriter (write/goat_writer.h). Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/formats/goat/checkpoint_files.h"
#include "core/store/read_only_store.h"

namespace arborfs::goat {

class Store : public ReadOnlyStore {
 public:
  /// `format` and `disk` outlive the store. The base folder is `paths.sessions`.
  Store(const Format& format, StorePaths paths, Disk& disk);

  [[nodiscard]] std::string file_of(const LogPlace& place) const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override;
  [[nodiscard]] bool present() const override;
  [[nodiscard]] Result<std::vector<std::string>> folders() const override;
  /// The one session of a folder, or none.
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place) const override;
  [[nodiscard]] Result<FileStat> stat_in(const Dir& folder, const LogPlace& place) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] bool is_link(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> artifacts(const LogPlace& place) const override;
  [[nodiscard]] std::unique_ptr<const LiveSigns> live_signs(bool is_running) const override;
  /// Takes goat's lock of messages.jsonl, which is created if it is missing.
  [[nodiscard]] Result<std::unique_ptr<LogWriter>> writer(const LogPlace& place) override;
  /// Unfinished checkpoints, missing contents, and the leftovers of interrupted writes in the session's folder.
  [[nodiscard]] std::vector<Finding> faults_of(const LogPlace& place) const override;
  /// The leftovers of interrupted writes in the base folder.
  [[nodiscard]] std::vector<FileFinding> faults() const override;
  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> checkpoints(const LogPlace& place) const override;
  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> native_files(const LogPlace& place) const override;

 private:
  mutable CheckpointTrees trees_;
};

}  // namespace arborfs::goat
