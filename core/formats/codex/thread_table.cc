#include "core/formats/codex/thread_table.h"

#include <dirent.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/store/log_listing.h"

namespace arborfs::codex {
namespace {

struct Root {
  std::string_view folder;
  std::size_t dated_levels;  // of folders that Codex makes between it and the files
};

constexpr std::array kRoots = {Root{"sessions", 3}, Root{"archived_sessions", 0}};
constexpr std::size_t kMostFolders = 100'000;  // a link may lead to any folder

/// Why a file below a root that is no rollout is left out; "" for files that nobody expects to be one.
std::string_view why_no_rollout(std::string_view name) {
  if (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst") ||
      (name.starts_with("rollout-") && name.ends_with(".json"))) {
    return "its name is not that of a rollout";
  }
  return why_not_compressed(name, [](std::string_view log) { return log.ends_with(".jsonl"); });
}

/// A preferred file of a segment comes first. Of documents the last has all that the earlier ones have.
bool is_preferred(const SegmentFile& a, const SegmentFile& b) {
  const auto rank = [](const SegmentFile& file) {
    return std::tuple(file.name.is_document, file.is_linked, !file.folder.starts_with(kRoots.front().folder),
                      file.name.is_compressed);
  };
  return rank(a) != rank(b) ? rank(a) < rank(b) : a.name.is_document && a.name.time > b.name.time;
}

constexpr std::string_view kPrefix = "rollout-";
constexpr std::string_view kEnding = ".jsonl";
constexpr std::string_view kCompressed = ".zst";
constexpr std::string_view kDocument = ".json";
constexpr std::size_t kUuid = 36;
constexpr std::size_t kLongestTime = 32;

bool is_uuid_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash ? c != '-' : !is_hex) {
      return false;
    }
  }
  return text.size() == kUuid;
}

}  // namespace

bool is_thread_id(std::string_view text) {
  return !text.empty() && text.size() <= kUuid && text.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
}

namespace {

/// Removes a UUID, and the character before it, from the end of `text`; "" if there is none.
std::string take_uuid(std::string_view& text, char before) {
  if (text.size() <= kUuid || text[text.size() - kUuid - 1] != before ||
      !is_uuid_text(text.substr(text.size() - kUuid))) {
    return "";
  }
  std::string taken(text.substr(text.size() - kUuid));
  text.remove_suffix(kUuid + 1);
  return taken;
}

/// `rollout-<day>-<id>.json` without its ends (codex/FORMAT.md A2).
std::optional<RolloutName> parse_document_name(std::string_view name) {
  constexpr std::size_t kDay = std::string_view("2025-04-20").size();
  if (name.size() <= kDay || name[kDay] != '-' || !is_thread_id(name.substr(kDay + 1)) ||
      name.substr(0, kDay).find_first_not_of("0123456789-") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string id(name.substr(kDay + 1));
  return RolloutName{.thread = id, .segment = id, .time = std::string(name.substr(0, kDay)), .is_document = true};
}

}  // namespace

Result<Dir> open_below(const std::string& home, std::string_view folder) {
  std::size_t slash = folder.find('/');
  ASSIGN_OR_RETURN(auto dir, Dir::follow_below_root(home, std::string(folder.substr(0, slash))));
  while (slash != std::string_view::npos) {
    folder.remove_prefix(slash + 1);
    slash = folder.find('/');
    ASSIGN_OR_RETURN(dir, dir.follow(std::string(folder.substr(0, slash))));
  }
  return dir;
}

/// A folder on the way down from a root.
struct ThreadTable::Open {
  Dir dir;
  std::string folder;
  std::size_t level = 0;         // 0 for the root
  std::size_t dated_levels = 0;  // of the root
};

ThreadTable ThreadTable::read(const std::string& home) {
  ThreadTable table;
  std::vector<Open> open;
  for (auto root = kRoots.rbegin(); root != kRoots.rend(); ++root) {
    if (auto dir = open_below(home, root->folder)) {
      open.push_back({*std::move(dir), std::string(root->folder), 0, root->dated_levels});
    } else if (dir.error().code != Errc::not_found) {
      table.leave_out(std::string(root->folder), dir.error().message);
    }
  }
  table.list_all(std::move(open));
  table.settle();
  return table;
}

/// Folders that no link leads to come first, so that a linked one counts only if it is another folder.
void ThreadTable::list_all(std::vector<Open> open) {
  std::vector<Open> linked;
  while (!open.empty() || !linked.empty()) {
    std::vector<Open>& from = open.empty() ? linked : open;
    const Open next = std::move(from.back());
    from.pop_back();
    const auto st = next.dir.stat();
    if (!st || !seen_.emplace(st->dev, st->ino).second) {
      continue;
    }
    if (next.level > kDeepest || listed_.size() > kMostFolders) {
      leave_out(next.folder, "a folder that is nested too deeply");
      continue;
    }
    std::vector<Open> inner;
    list(next, st->mtime_ns, inner);
    for (auto found = inner.rbegin(); found != inner.rend(); ++found) {
      (found->dir.is_linked() ? linked : open).push_back(std::move(*found));
    }
  }
}

void ThreadTable::list(const Open& open, std::int64_t mtime_ns, std::vector<Open>& inner) {
  const auto entries = open.dir.list();
  if (!entries) {
    leave_out(open.folder, entries.error().message);
    return;
  }
  Listed listed{open.folder, open.level >= open.dated_levels, open.level < open.dated_levels, mtime_ns};
  for (const DirEntry& entry : *entries) {
    if (entry.name.front() == '.') {
      continue;
    }
    auto name = parse_rollout_name(entry.name);
    if (name || !may_be_folder(open.dir, entry)) {
      listed.has_files = listed.has_files || name;
      add(open.dir, open.folder, entry, std::move(name));
      continue;
    }
    listed.has_folders = true;
    std::string folder = open.folder + "/" + entry.name;
    if (auto dir = open.dir.follow(entry.name)) {
      inner.push_back({*std::move(dir), std::move(folder), open.level + 1, open.dated_levels});
    } else if (dir.error().code != Errc::not_found) {
      leave_out(folder, dir.error().message);
    }
  }
  listed_.push_back(std::move(listed));
}

void ThreadTable::add(const Dir& dir, const std::string& folder, const DirEntry& entry,
                      std::optional<RolloutName> name) {
  const std::string path = folder + "/" + entry.name;
  if (!name) {
    const std::string_view why = why_no_rollout(entry.name);
    if (!why.empty()) {
      leave_out(path, std::string(why));
    }
    return;
  }
  if (entry.type != DT_REG && entry.type != DT_LNK) {
    leave_out(path, why_no_file(entry.type));
    return;
  }
  const auto st = stat_log(dir, entry.name);
  if (st) {
    std::vector<SegmentFile>& files = threads_[name->thread];
    files.push_back({folder, entry.name, *std::move(name), *st, entry.type == DT_LNK || dir.is_linked()});
  } else if (st.error().code != Errc::not_found) {
    leave_out(path, st.error().message);
  }
}

void ThreadTable::leave_out(const std::string& path, std::string reason) {
  left_out_.push_back({path, std::move(reason)});
}

/// A file with the names of several threads is that of the first to which no link leads. The identity of a thread with
/// a name of its own is not that of its file, so the catalog does not see that they are the same.
void ThreadTable::leave_out_second_names() {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<bool, std::string_view>> best;  // linked, thread
  for (const auto& [thread, files] : threads_) {
    for (const SegmentFile& file : files) {
      const std::pair name(file.is_linked, std::string_view(thread));
      const auto [at, is_new] = best.try_emplace({file.stat.dev, file.stat.ino}, name);
      at->second = std::min(at->second, name);
    }
  }
  for (auto& [thread, files] : threads_) {
    std::erase_if(files, [&, own = std::string_view(thread)](const SegmentFile& file) {
      const bool is_second = best.at({file.stat.dev, file.stat.ino}).second != own;
      if (is_second) {
        leave_out(file.folder + "/" + file.file, "another name of a session's log");
      }
      return is_second;
    });
  }
  std::erase_if(threads_, [](const auto& thread) { return thread.second.empty(); });
}

/// Sorts each thread's files and leaves out further files of one segment.
void ThreadTable::settle() {
  leave_out_second_names();
  for (auto& [id, files] : threads_) {
    std::stable_sort(files.begin(), files.end(), is_preferred);
    std::stable_sort(files.begin(), files.end(),
                     [](const SegmentFile& a, const SegmentFile& b) { return a.name.comes_before(b.name); });
    std::vector<SegmentFile> kept;
    for (SegmentFile& file : files) {
      if (!kept.empty() && kept.back().name.segment == file.name.segment) {
        leave_out(file.folder + "/" + file.file, "another file of the same thread is shown");
      } else {
        kept.push_back(std::move(file));
      }
    }
    files = std::move(kept);
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
    if (!listed.has_folders && !is_root) {
      continue;
    }
    const auto dir = open_below(home, listed.folder);
    const auto st = dir ? dir->stat() : Result<FileStat>(dir.error());
    if (!st || (listed.has_folders && st->mtime_ns != listed.mtime_ns)) {
      return false;
    }
  }
  return roots == 0;
}

std::string plain_name(const SegmentFile& file) {
  return file.file.substr(0, file.file.size() - (file.name.is_compressed ? kCompressed.size() : 0));
}

std::optional<RolloutName> parse_rollout_name(std::string_view file_name) {
  if (file_name.starts_with(kPrefix) && file_name.ends_with(kDocument)) {
    return parse_document_name(file_name.substr(kPrefix.size(), file_name.size() - kPrefix.size() - kDocument.size()));
  }
  RolloutName name;
  name.is_compressed = file_name.ends_with(kCompressed);
  file_name.remove_suffix(name.is_compressed ? kCompressed.size() : 0);
  if (!file_name.starts_with(kPrefix) || !file_name.ends_with(kEnding)) {
    return std::nullopt;
  }
  file_name.remove_prefix(kPrefix.size());
  file_name.remove_suffix(std::min(kEnding.size(), file_name.size()));
  name.segment = take_uuid(file_name, '_');
  name.thread = take_uuid(file_name, '-');
  if (name.thread.empty() || file_name.empty() || file_name.size() > kLongestTime) {
    return std::nullopt;
  }
  name.segment = name.segment.empty() ? name.thread : name.segment;
  name.time = file_name;
  return name;
}

}  // namespace arborfs::codex
