// The locations on disk of the segments of all threads: one state of the two folders of rollouts (codex/FORMAT.md A1,
// A2). Immutable once built; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/formats/codex/rollout_name.h"
#include "core/os/file.h"

namespace arborfs::codex {

/// A file with a segment.
struct SegmentFile {
  std::string folder;  // below Codex's folder: "sessions/2026/11/21"
  std::string file;
  RolloutName name;
  FileStat stat;  // when the table was made
};

class ThreadTable {
 public:
  /// A directory that was listed to find directories or files.
  struct Listed {
    std::string folder;  // as SegmentFile::folder
    bool has_files = false;
    std::int64_t mtime_ns = 0;
  };

  /// Lists the folders now. Folders that cannot be read are left out. `home` is Codex's folder.
  static ThreadTable read(const std::string& home);

  /// The files of each thread, by its id, in the order of RolloutName::comes_before.
  [[nodiscard]] const std::map<std::string, std::vector<SegmentFile>, std::less<>>& threads() const { return threads_; }
  /// The file of a segment; null if there is none. If there are two, the one in sessions/ counts.
  [[nodiscard]] const SegmentFile* find(const std::string& segment) const;
  [[nodiscard]] const std::vector<Listed>& listed() const { return listed_; }
  /// False if a folder that holds folders has changed since.
  [[nodiscard]] bool has_all_folders(const std::string& home) const;

 private:
  void list(const Dir& dir, const std::string& folder, int levels);
  void add(const Dir& dir, const std::string& folder, const std::string& file);
  void settle();
  std::map<std::string, std::vector<SegmentFile>, std::less<>> threads_;
  std::unordered_map<std::string, const SegmentFile*> by_segment_;
  std::vector<Listed> listed_;
};

/// Opens a folder below `home` without following links. Errors: those of Dir.
Result<Dir> open_below(const std::string& home, std::string_view folder);

}  // namespace arborfs::codex
