// The sessions of an archive as logs: finds changes, and gives each session a stat of its own. Read only. Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/opencode/session_archive.h"
#include "core/log/log_source.h"
#include "core/store/store_parts.h"

namespace arborfs::opencode {

/// The texts that were read last, of all sessions of a store. Thread-safe.
class TextCache {
 public:
  /// Texts of neighbouring messages.
  struct Chunk {
    std::uint64_t log = 0;    // the number of the log
    std::uint64_t start = 0;  // the offset of the first byte
    std::string text;
  };
  using ChunkPtr = std::shared_ptr<const Chunk>;
  /// The chunk that holds the byte at `offset`; null if there is none.
  [[nodiscard]] ChunkPtr find(std::uint64_t log, std::uint64_t offset);
  void put(ChunkPtr chunk);
  /// Drops a chunk that is too large to be kept when it is not needed.
  void drop_if_large(const ChunkPtr& chunk);

 private:
  static constexpr std::size_t kMost = std::size_t{4} << 20U;
  std::mutex mutex_;
  std::list<ChunkPtr> chunks_;  // the last one used is the first
  std::size_t bytes_ = 0;
};

/// LogPlace::file is a session's id and this.
inline constexpr std::string_view kPlaceSuffix = ".json";

/// A session has no file, so its stat is synthetic: each state has a new inode, as if the program had written and
/// renamed a new file. Its size is 0 until the session was opened in that state.
class Store final : public arborfs::Store, public HasNativeFiles, public HasLiveSigns, public HasFaults {
 public:
  Store(const Format& format, StorePaths paths, std::unique_ptr<SessionArchive> archive, Disk& disk);

  [[nodiscard]] bool present() const override { return archive_->folders().has_value(); }
  [[nodiscard]] Result<std::vector<std::string>> folders() const override { return archive_->folders(); }
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place, const Dir* in) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] Result<Header> header(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override { return archive_->dir_of(place.folder); }
  [[nodiscard]] Result<ShownFilesPtr> native_files(const LogPlace& place) const override;
  [[nodiscard]] std::string path_of(const LogPlace& place) const override;
  [[nodiscard]] std::unique_ptr<const LiveSigns> live_signs(bool is_running) const override;
  [[nodiscard]] std::vector<Finding> faults_of(const LogPlace& place) const override;
  [[nodiscard]] std::vector<FileFinding> faults() const override { return archive_->faults(); }
  [[nodiscard]] std::vector<WatchedDir> watched() const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override {
    return archive_->log_of(folder, file);
  }

 private:
  /// The known facts about a session.
  struct Known {
    std::uint64_t changes = 0;  // SessionArchive::changes when it was looked at
    Stamps stamps;              // `whole` is valid once it was opened
    std::uint64_t size = 0;     // in the state `stamps.whole`; 0 if it was not opened in it
    bool was_opened = false;
  };
  [[nodiscard]] FileStat stat_of(const SessionName& session, const Known& known) const;
  FileStat note_opened(const SessionName& session, const WholeSession& whole, std::uint64_t changes) const;
  [[nodiscard]] Result<FileStat> look(const SessionName& session) const;
  [[nodiscard]] std::vector<std::string> note_heads(const std::string& folder, const std::vector<SessionHead>& heads,
                                                    std::uint64_t changes) const;
  FileStat note(const SessionName& session, const Stamps& stamps, Covers covers, std::uint64_t changes) const;

  const std::unique_ptr<SessionArchive> archive_;
  mutable TextCache cache_;
  mutable std::mutex mutex_;
  mutable std::map<SessionName, Known> known_;  // guarded by mutex_
  mutable std::list<SessionName> hot_;          // opened lately, the last one first; guarded by mutex_
};

}  // namespace arborfs::opencode
