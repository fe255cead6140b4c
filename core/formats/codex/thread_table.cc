#include "core/formats/codex/thread_table.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/result_macros.h"

namespace arborfs::codex {
namespace {

struct Root {
  std::string_view folder;
  int levels;  // of folders between it and the files
};

constexpr std::array kRoots = {Root{"sessions", 3}, Root{"archived_sessions", 0}};

/// A year, a month or a day.
bool is_date_part(std::string_view name) {
  return !name.empty() && name.size() <= 4 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Result<Dir> open_below(const std::string& home, std::string_view folder) {
  std::size_t slash = folder.find('/');
  ASSIGN_OR_RETURN(auto dir, Dir::open_below_root(home, std::string(folder.substr(0, slash))));
  while (slash != std::string_view::npos) {
    folder.remove_prefix(slash + 1);
    slash = folder.find('/');
    ASSIGN_OR_RETURN(dir, dir.open_in(std::string(folder.substr(0, slash))));
  }
  return dir;
}

ThreadTable ThreadTable::read(const std::string& home) {
  ThreadTable table;
  for (const Root& root : kRoots) {
    if (const auto dir = open_below(home, root.folder)) {
      table.list(*dir, std::string(root.folder), root.levels);
    }
  }
  table.settle();
  return table;
}

/// The tree has at most the given number of levels, so this recursion ends.
void ThreadTable::list(const Dir& dir, const std::string& folder, int levels) {
  const auto st = dir.stat();
  const auto entries = dir.list();
  if (!st || !entries) {
    return;
  }
  listed_.push_back({folder, levels == 0, st->mtime_ns});
  for (const DirEntry& entry : *entries) {
    if (levels == 0 && entry.type == DT_REG) {
      add(dir, folder, entry.name);
    } else if (levels > 0 && entry.type == DT_DIR && is_date_part(entry.name)) {
      if (const auto inner = dir.open_in(entry.name)) {
        list(*inner, folder + "/" + entry.name, levels - 1);
      }
    }
  }
}

void ThreadTable::add(const Dir& dir, const std::string& folder, const std::string& file) {
  auto name = parse_rollout_name(file);
  if (!name) {
    return;
  }
  if (const auto st = dir.stat(file)) {
    std::vector<SegmentFile>& files = threads_[name->thread];
    files.push_back({folder, file, *std::move(name), *st});
  }
}

/// Sorts each thread's files and drops further files of one segment.
void ThreadTable::settle() {
  for (auto& [id, files] : threads_) {
    std::stable_sort(files.begin(), files.end(),
                     [](const SegmentFile& a, const SegmentFile& b) { return a.name.comes_before(b.name); });
    const auto same = [](const SegmentFile& a, const SegmentFile& b) { return a.name.segment == b.name.segment; };
    files.erase(std::unique(files.begin(), files.end(), same), files.end());
    for (const SegmentFile& file : files) {
      by_segment_.emplace(file.name.segment, &file);
    }
  }
}

const SegmentFile* ThreadTable::find(const std::string& segment) const {
  const auto found = by_segment_.find(segment);
  return found == by_segment_.end() ? nullptr : found->second;
}

bool ThreadTable::has_all_folders(const std::string& home) const {
  std::size_t roots = 0;
  for (const Root& root : kRoots) {
    roots += open_below(home, root.folder) ? 1 : 0;
  }
  for (const Listed& listed : listed_) {
    const bool is_root = listed.folder.find('/') == std::string::npos;
    roots -= is_root && roots > 0 ? 1 : 0;
    if (listed.has_files && !is_root) {
      continue;
    }
    const auto dir = open_below(home, listed.folder);
    const auto st = dir ? dir->stat() : Result<FileStat>(dir.error());
    if (!st || (!listed.has_files && st->mtime_ns != listed.mtime_ns)) {
      return false;
    }
  }
  return roots == 0;
}

}  // namespace arborfs::codex
