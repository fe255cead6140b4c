// Codex's threads as a store: each is a session, whatever files its segments are in. Read only. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/formats/codex/segment_opener.h"
#include "core/formats/codex/segments_log.h"
#include "core/formats/codex/thread_database.h"
#include "core/formats/codex/thread_names.h"
#include "core/formats/codex/thread_table.h"
#include "core/store/read_only_store.h"

namespace arborfs::codex {

/// The logs have the places `sessions/<thread>.jsonl`, which are not files.
class CodexStore final : public ReadOnlyStore {
 public:
  /// `documents` is the format of threads in documents (rollout_document.h).
  CodexStore(const Format& format, const Format& documents, StorePaths paths, Disk& disk);

  /// Codex resumes no thread in a document.
  [[nodiscard]] const Format& format_of(const LogPlace& place) const override;
  [[nodiscard]] std::string path_of(const LogPlace& place) const override;
  [[nodiscard]] bool present() const override;
  [[nodiscard]] Result<std::vector<std::string>> folders() const override;
  [[nodiscard]] std::vector<WatchedDir> watched() const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override;
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place) const override;
  [[nodiscard]] Result<FileStat> stat_in(const Dir& folder, const LogPlace& place) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override;
  /// The segments of the thread's history, including those on which it is based.
  [[nodiscard]] Result<std::unique_ptr<const ShownFiles>> native_files(const LogPlace& place) const override;
  [[nodiscard]] Result<File> open_file(const Dir& folder, const LogPlace& place) const override;
  [[nodiscard]] std::unique_ptr<const LiveSigns> live_signs(bool is_running) const override;
  /// Missing segments at the beginning of its history.
  [[nodiscard]] std::vector<Finding> faults_of(const LogPlace& place) const override;
  /// Of Codex's database.
  [[nodiscard]] std::vector<FileFinding> faults() const override { return database_.faults(); }

 private:
  /// A segment of a thread's history before it is opened.
  struct Planned {
    SegmentFile file;
    SegmentHead head;
    bool is_own = true;
    std::uint64_t end = UINT64_MAX;  // bytes after it are of another thread
  };
  using Table = std::shared_ptr<const ThreadTable>;
  /// One state of the facts about all threads apart from their records.
  struct Known {
    std::shared_ptr<const ThreadNames::Names> names;
    std::shared_ptr<const ThreadDatabase::Threads> threads;
  };

  [[nodiscard]] const std::string& home() const { return paths().agent_dir; }
  [[nodiscard]] Table table() const;
  Table read_table() const;
  [[nodiscard]] Result<std::vector<Planned>> plan(const ThreadTable& table, const std::string& thread,
                                                  SegmentOpener& opener) const;
  [[nodiscard]] Result<std::vector<Planned>> plan(const ThreadTable& table, const std::string& thread) const;
  [[nodiscard]] Known known() const;
  static ThreadFacts facts_in(const Known& known, const std::string& thread);
  [[nodiscard]] ReadMarks source_marks(const ThreadTable& table, const std::string& thread,
                                       const std::vector<Planned>& planned) const;
  [[nodiscard]] SegmentHead head_of(const SegmentFile& file, SegmentOpener& opener) const;
  [[nodiscard]] Result<FileStat> stat_now(const SegmentFile& file) const;
  template <class Stat>
  [[nodiscard]] Result<FileStat> stat_of(const ThreadTable& table, const std::string& thread, const Known& known,
                                         const Stat& stat) const;
  [[nodiscard]] Result<FileStat> stat_now(const ThreadTable& table, const std::string& thread) const;
  void look(const ThreadTable& table, const Known& known, const HeadWanted& wants_head,
            std::span<std::optional<FoundLog>> logs) const;
  [[nodiscard]] bool find_head(const ThreadTable& table, const std::string& thread, const Known& known,
                               SegmentOpener& opener, FoundLog& log) const;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open_thread(const ThreadTable& table,
                                                                     const std::string& thread, const Known& known,
                                                                     SegmentOpener& opener) const;

  const Format& documents_;
  const ThreadNames names_;
  const ThreadDatabase database_;
  mutable std::mutex mutex_;
  mutable Table table_;  // guarded by mutex_; null until it is needed
  /// By segment: the first line never changes. Guarded by mutex_.
  mutable std::unordered_map<std::string, SegmentHead> heads_;
  const std::shared_ptr<MarkCache> marks_ = std::make_shared<MarkCache>();  // logs keep it
};

}  // namespace arborfs::codex
