// The locations on disk of the segments of all threads: one state of the two folders of rollouts (codex/FORMAT.md A1,
// A2). Immutable once built; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/os/file.h"

namespace arborfs::codex {

/// Rollouts are looked for so many levels of folders below Codex's two folders of rollouts.
inline constexpr std::size_t kDeepest = 20;

/// The names of Codex's files (codex/FORMAT.md A2). Pure; any thread.
struct RolloutName {
  std::string thread;          // a UUID, of a document perhaps without its dashes
  std::string segment;         // that of the thread's first segment is `thread`
  std::string time;            // local, "2026-11-21T20-56-02"; of a document the day
  bool is_compressed = false;  // .jsonl.zst
  bool is_document = false;    // .json: one object, which the first Codex wrote

  /// The segments of a thread in the order in which they were begun. Files of its first segment are equal.
  [[nodiscard]] bool comes_before(const RolloutName& other) const {
    const bool is_first = segment == thread;
    const bool is_other_first = other.segment == other.thread;
    return is_first || is_other_first ? is_first && !is_other_first
                                      : std::tie(time, segment) < std::tie(other.time, other.segment);
  }
};

/// True for what may be the id of a thread, which is part of names of files.
bool is_thread_id(std::string_view text);

/// Nothing for the name of another file.
std::optional<RolloutName> parse_rollout_name(std::string_view file_name);

/// A file with a segment.
struct SegmentFile {
  std::string folder;  // below Codex's folder: "sessions/2026/11/21"
  std::string file;
  RolloutName name;
  FileStat stat;           // when the table was made
  bool is_linked = false;  // a symbolic link leads to it
};

/// The name of its plain file, which the database has also of a compressed one (C7).
std::string plain_name(const SegmentFile& file);

/// Codex's folder of archived threads, in its own one.
inline constexpr std::string_view kArchive = "archived_sessions";
inline bool is_archived(const SegmentFile& file) {
  return std::string_view(file.folder).substr(0, file.folder.find('/')) == kArchive;
}

/// A file or folder below Codex's folder that has no segment, though its name or its place promises one.
struct LeftOutFile {
  std::string path;    // below Codex's folder
  std::string reason;  // as FoundLog::left_out
};

class ThreadTable {
 public:
  /// A directory that was listed to find directories or files.
  struct Listed {
    std::string folder;        // as SegmentFile::folder
    bool has_files = false;    // it holds rollouts, or is where Codex puts them
    bool has_folders = false;  // it holds folders, or is where Codex makes them
    std::int64_t mtime_ns = 0;
  };

  /// Lists the folders now, at any depth; links are followed, each folder is listed once. `home` is Codex's folder.
  static ThreadTable read(const std::string& home);

  /// The files of each thread, by its id, in the order of RolloutName::comes_before.
  [[nodiscard]] const std::map<std::string, std::vector<SegmentFile>, std::less<>>& threads() const { return threads_; }
  /// The file of a segment; null if there is none. If there are several, one to which no link leads counts, then one in
  /// sessions/, then the plain one.
  [[nodiscard]] const SegmentFile* find(const std::string& segment) const;
  [[nodiscard]] const std::vector<Listed>& listed() const { return listed_; }
  [[nodiscard]] const std::vector<LeftOutFile>& left_out() const { return left_out_; }
  /// False if a folder that holds folders has changed since.
  [[nodiscard]] bool has_all_folders(const std::string& home) const;

 private:
  struct Open;
  void list_all(std::vector<Open> open);
  void list(const Open& open, std::int64_t mtime_ns, std::vector<Open>& inner);
  void add(const Dir& dir, const std::string& folder, const DirEntry& entry, std::optional<RolloutName> name);
  void leave_out(const std::string& path, std::string reason);
  void leave_out_second_names();
  void settle();
  std::map<std::string, std::vector<SegmentFile>, std::less<>> threads_;
  std::unordered_map<std::string, const SegmentFile*> by_segment_;
  std::vector<Listed> listed_;
  std::vector<LeftOutFile> left_out_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;  // listed folders, by device and inode
};

/// Opens a folder below `home`, through links. Errors: those of Dir::follow.
Result<Dir> open_below(const std::string& home, std::string_view folder);

}  // namespace arborfs::codex
