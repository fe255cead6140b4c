#include "core/formats/codex/store.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/formats/codex/format.h"
#include "core/formats/codex/segments_log.h"
#include "core/formats/codex/thread_facts.h"
#include "core/formats/codex/thread_table.h"
#include "core/log/log_reader.h"
#include "core/os/disk.h"
#include "core/os/environment.h"
#include "core/os/file.h"
#include "core/os/processes.h"
#include "core/store/finding.h"
#include "core/store/prompt_history.h"
#include "core/store/store_parts.h"

namespace arborfs::codex {
namespace {

/// The logs have the places `sessions/<thread>.jsonl`, which are not files.
class Store final : public ThreadStore, public HasNativeFiles, public HasLiveSigns, public HasMarks, public HasFaults {
 public:
  Store(const StorePaths& paths, Disk& disk)
      : ThreadStore(codex::format(), paths, disk, make_no_blobs(), codex::prompt_history(paths.agent_dir, disk)),
        names_(paths.agent_dir),
        database_(paths.agent_dir, disk) {}

  /// Codex resumes no thread in a document.
  [[nodiscard]] const Format& format_of(const LogPlace& place) const override;
  [[nodiscard]] std::string path_of(const LogPlace& place) const override;
  [[nodiscard]] bool present() const override { return folders().has_value(); }
  [[nodiscard]] Result<std::vector<std::string>> folders() const override;
  [[nodiscard]] std::vector<WatchedDir> watched() const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override;
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  [[nodiscard]] Result<FileStat> stat(const LogPlace& place, const Dir* in) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override;
  /// The segments of the thread's history, including those on which it is based.
  [[nodiscard]] Result<ShownFilesPtr> native_files(const LogPlace& place) const override;
  [[nodiscard]] Result<File> open_file(const Dir& in, const LogPlace& place) const override;
  [[nodiscard]] std::unique_ptr<const LiveSigns> live_signs(bool is_running) const override;
  /// The place of a thread's files says whether it is archived (H7).
  [[nodiscard]] bool is_marked(const LogPlace& place, Mark mark) const override;
  /// Missing segments at the beginning of its history.
  [[nodiscard]] std::vector<Finding> faults_of(const LogPlace& place) const override;
  /// Of Codex's database.
  [[nodiscard]] std::vector<FileFinding> faults() const override { return database_.faults(); }
  /// A session that a link leads to is read, but not changed.
  [[nodiscard]] bool is_link(const LogPlace& place) const override;
  [[nodiscard]] Result<ThreadNow> thread_now(const std::string& thread) const override;
  [[nodiscard]] std::vector<std::string> based_on(const std::string& thread) const override;
  void forget_rows() const override { database_.forget_look(); }
  void forget_files() const override {
    const std::lock_guard lock(mutex_);
    table_ = nullptr;
  }

 private:
  /// A segment of a thread's history before it is opened.
  struct Planned {
    SegmentFile file;
    SegmentHead head;
    bool is_own = true;
    std::uint64_t end = UINT64_MAX;  // bytes after it are of another thread
  };
  using Table = std::shared_ptr<const ThreadTable>;
  /// The threads whose history begins in another one.
  struct Forks {
    Table of;  // that they were found in
    std::unordered_map<std::string, std::vector<std::string>> by_source;
  };
  /// One state of the facts about all threads apart from their records.
  struct Known {
    std::shared_ptr<const ThreadNames::Names> names;
    ThreadRows rows;
  };

  [[nodiscard]] const std::string& home() const { return paths().agent_dir; }
  [[nodiscard]] Table table() const;
  Table read_table() const;
  [[nodiscard]] std::shared_ptr<const Forks> find_forks(const Table& table) const;
  [[nodiscard]] Result<std::vector<Planned>> plan(const ThreadTable& table, const std::string& thread,
                                                  SegmentOpener& opener) const;
  [[nodiscard]] Result<std::vector<Planned>> plan(const ThreadTable& table, const std::string& thread) const;
  [[nodiscard]] Known known() const;
  static ThreadFacts facts_in(const ThreadTable& table, const Known& known, const std::string& thread);
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

  const ThreadNames names_;
  const ThreadDatabase database_;
  mutable std::mutex mutex_;
  mutable Table table_;                         // guarded by mutex_; null until it is needed
  mutable std::shared_ptr<const Forks> forks_;  // the same
  /// By segment: the first line never changes. Guarded by mutex_.
  mutable std::unordered_map<std::string, SegmentHead> heads_;
  const std::shared_ptr<MarkCache> marks_ = std::make_shared<MarkCache>();  // logs keep it
};

/// Segments as they are on disk, in one folder, for ShownFiles. Thread-safe.
class SegmentFiles final : public ShownFiles {
 public:
  /// `home` is Codex's folder. Segments whose files are gone are left out.
  SegmentFiles(std::string home, std::vector<SegmentFile> segments)
      : home_(std::move(home)), segments_(std::move(segments)) {}

  [[nodiscard]] bool takes_long(const std::string& /*path*/) const override { return false; }
  [[nodiscard]] Result<Stat> stat(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<Item>> list(const std::string& path) const override;
  [[nodiscard]] Result<Content> open(const std::string& path) const override;

 private:
  [[nodiscard]] Result<SegmentFile> segment_of(const std::string& path) const;
  const std::string home_;
  const std::vector<SegmentFile> segments_;
};

Result<SegmentFile> SegmentFiles::segment_of(const std::string& path) const {
  const auto found =
      std::find_if(segments_.begin(), segments_.end(), [&](const SegmentFile& each) { return each.file == path; });
  return found != segments_.end() ? Result<SegmentFile>(*found)
                                  : Error{Errc::not_found, "the thread has no such segment"};
}

Result<ShownFiles::Stat> SegmentFiles::stat(const std::string& path) const {
  if (path.empty()) {
    std::int64_t newest = 0;
    for (const SegmentFile& segment : segments_) {
      newest = std::max(newest, segment.stat.mtime_ns);
    }
    return Stat{true, 0, newest};
  }
  ASSIGN_OR_RETURN(const auto segment, segment_of(path));
  ASSIGN_OR_RETURN(const auto dir, open_below(home_, segment.folder));
  ASSIGN_OR_RETURN(const auto st, stat_log(dir, segment.file));
  return Stat{false, st.size, st.mtime_ns};
}

Result<std::vector<ShownFiles::Item>> SegmentFiles::list(const std::string& path) const {
  if (!path.empty()) {
    return Error{Errc::not_found, "a segment is not a folder"};
  }
  std::vector<Item> items;
  for (const SegmentFile& segment : segments_) {
    if (stat(segment.file)) {
      items.push_back({segment.file, false});
    }
  }
  return items;
}

Result<ShownFiles::Content> SegmentFiles::open(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto segment, segment_of(path));
  ASSIGN_OR_RETURN(const auto dir, open_below(home_, segment.folder));
  ASSIGN_OR_RETURN(auto file, File::follow_in(dir, segment.file));
  return Content(std::move(file));
}

constexpr std::string_view kFolder = "sessions";
constexpr std::string_view kLogEnding = ".jsonl";
constexpr std::size_t kMostBases = 1000;  // of one segment
constexpr std::size_t kLooksAtOnce = 64;  // threads that one call looks at

std::string file_of_thread(const std::string& thread) {
  return thread + std::string(kLogEnding);
}

Error no_thread() {
  return {Errc::not_found, "Codex has no thread with this id"};
}

/// The segment of a thread with which Codex goes on (codex/FORMAT.md C7). A row that was read before the newest segment
/// was written may name an earlier one.
const SegmentFile& active_of(const std::vector<SegmentFile>& files, const ThreadRows& rows) {
  const auto row = rows.by_thread->find(files.back().name.thread);
  if (row == rows.by_thread->end() || files.back().stat.mtime_ns > rows.looked_ns) {
    return files.back();
  }
  const auto named = std::find_if(files.begin(), files.end(),
                                  [&](const SegmentFile& file) { return file.name.segment == row->second.segment; });
  return named == files.end() ? files.back() : *named;
}

/// See codex/FORMAT.md A5.
class ThreadLocks final : public LiveSigns {
 public:
  explicit ThreadLocks(Dir folder) : folder_(std::move(folder)) {}

  [[nodiscard]] std::vector<std::string> of(const LogPlace& place) const override {
    const auto lock = folder_.stat(std::string(place.stem()) + ".lock");
    const auto holder = lock ? flock_holder_elsewhere(*lock) : std::nullopt;
    if (!holder) {
      return {};
    }
    const std::string process = *holder == 0 ? "" : " (process " + std::to_string(*holder) + ")";
    return {"codex" + process + " has the thread loaded"};
  }

 private:
  const Dir folder_;
};

}  // namespace

Result<std::vector<std::string>> Store::folders() const {
  if (auto live = open_below(home(), kFolder); !live) {
    RETURN_IF_ERROR(open_below(home(), kArchive));
  }
  return std::vector{std::string(kFolder)};
}

Result<Dir> Store::folder(const LogPlace& place) const {
  return place.folder == kFolder ? open_below(home(), kFolder) : Result<Dir>(Errc::not_found, "no threads folder");
}

const Format& Store::format_of(const LogPlace& place) const {
  const Table now = table();
  const auto found = now->threads().find(place.stem());
  return found != now->threads().end() && found->second.back().name.is_document ? codex::document_format() : format();
}

std::string Store::path_of(const LogPlace& place) const {
  const Table now = table();
  const auto found = now->threads().find(place.stem());
  if (place.file.find('/') != std::string::npos) {
    return home() + "/" + place.file;  // left out
  }
  if (found == now->threads().end()) {
    return arborfs::Store::path_of(place);
  }
  const SegmentFile& active = active_of(found->second, database_.current());
  return home() + "/" + active.folder + "/" + active.file;
}

Store::Table Store::table() const {
  {
    const std::lock_guard lock(mutex_);
    if (table_) {
      return table_;
    }
  }
  return read_table();
}

Store::Table Store::read_table() const {
  auto now = std::make_shared<const ThreadTable>(ThreadTable::read(home()));
  const std::lock_guard lock(mutex_);
  table_ = now;
  return now;
}

/// Includes the folder with the file of names.
std::vector<WatchedDir> Store::watched() const {
  std::vector<WatchedDir> dirs{{home(), std::string(kFolder), false}};
  Table now = table();
  if (!now->has_all_folders(home())) {
    now = read_table();
  }
  for (const ThreadTable::Listed& listed : now->listed()) {
    const std::string path = home() + "/" + listed.folder;
    if (listed.has_folders) {
      dirs.push_back({path, std::string(kFolder), true});
    }
    if (listed.has_files) {
      dirs.push_back({path, std::string(kFolder), false});
    }
  }
  return dirs;
}

/// For a file that concerns all threads, the result is a place without a log, so that all threads are checked.
std::optional<LogPlace> Store::log_of(const std::string& folder, const std::string& file) const {
  if (const auto name = parse_rollout_name(file)) {
    const Table now = table();
    const bool is_known = now->find(name->segment) != nullptr;
    return LogPlace{folder, is_known ? file_of_thread(name->thread) : file};
  }
  const bool may_be_folder = file.find('.') == std::string::npos;
  const bool concerns_all = may_be_folder || file == ThreadNames::kFile || file == kFolder || file == kArchive;
  return concerns_all ? std::optional(LogPlace{folder, file}) : std::nullopt;
}

Result<FileStat> Store::stat_now(const SegmentFile& file) const {
  ASSIGN_OR_RETURN(const auto dir, open_below(home(), file.folder));
  return stat_log(dir, file.file);
}

/// `stat` gives that of a file.
template <class Stat>
Result<FileStat> Store::stat_of(const ThreadTable& table, const std::string& thread, const Known& known,
                                const Stat& stat) const {
  ASSIGN_OR_RETURN(const auto planned, plan(table, thread));
  ThreadStat all;
  for (const Planned& segment : planned) {
    ASSIGN_OR_RETURN(const FileStat st, stat(segment.file));
    all.add(st, std::min(st.size, segment.end), segment.is_own);
  }
  return all.of_thread(facts_in(table, known, thread));
}

Result<FileStat> Store::stat_now(const ThreadTable& table, const std::string& thread) const {
  return stat_of(table, thread, known(), [this](const SegmentFile& file) { return stat_now(file); });
}

/// False if it cannot be read.
bool Store::find_head(const ThreadTable& table, const std::string& thread, const Known& known, SegmentOpener& opener,
                      FoundLog& log) const {
  const std::int64_t started = now_ns();
  const auto opened = open_thread(table, thread, known, opener);
  auto header = opened ? format().reader->read_header(**opened) : Result<Header>(opened.error());
  opener.let_go();
  if (!header) {
    return false;
  }
  log.stat = (*opened)->opened();
  log.head = FoundHead{*std::move(header), started};
  return true;
}

Result<std::vector<FoundLog>> Store::logs(const std::string& folder, const HeadWanted& wants_head) const {
  if (folder != kFolder) {
    return Error{Errc::not_found, "no threads folder"};
  }
  RETURN_IF_ERROR(folders());
  const Table now = read_table();
  const Known known = this->known();
  std::vector<std::optional<FoundLog>> looks;
  looks.reserve(now->threads().size());
  for (const auto& [thread, files] : now->threads()) {
    const bool is_linked =
        std::any_of(files.begin(), files.end(), [](const SegmentFile& file) { return file.is_linked; });
    looks.emplace_back(FoundLog{LogPlace{folder, file_of_thread(thread)}, {}, {}, is_linked, ""});
  }
  parallel_for((looks.size() + kLooksAtOnce - 1) / kLooksAtOnce, [&](std::size_t part) {
    const std::size_t begin = part * kLooksAtOnce;
    look(*now, known, wants_head, std::span(looks).subspan(begin, std::min(kLooksAtOnce, looks.size() - begin)));
  });
  std::vector<FoundLog> found;
  found.reserve(looks.size());
  for (std::optional<FoundLog>& log : looks) {
    if (log) {
      found.push_back(*std::move(log));
    }
  }
  for (const LeftOutFile& file : now->left_out()) {
    found.push_back({LogPlace{folder, file.path}, {}, {}, false, file.reason});
  }
  return found;
}

/// Reads threads; leaves out those that cannot be read.
void Store::look(const ThreadTable& table, const Known& known, const HeadWanted& wants_head,
                 std::span<std::optional<FoundLog>> logs) const {
  SegmentOpener opener(home(), SegmentOpener::Use::once);
  for (std::optional<FoundLog>& log : logs) {
    const std::string thread(log->place.stem());
    if (wants_head && wants_head(log->place) && find_head(table, thread, known, opener, *log)) {
      continue;
    }
    const auto st = stat_of(table, thread, known, [](const auto& file) { return Result<FileStat>(file.stat); });
    if (st) {
      log->stat = *st;
    } else {
      log.reset();
    }
  }
}

Result<FileStat> Store::stat(const LogPlace& place, const Dir* /*in*/) const {
  const std::string thread(place.stem());
  auto st = stat_now(*table(), thread);
  return st ? st : stat_now(*read_table(), thread);
}

Result<std::shared_ptr<const LogSource>> Store::open(const LogPlace& place) const {
  const std::string thread(place.stem());
  SegmentOpener opener(home(), SegmentOpener::Use::lasting);
  auto log = open_thread(*table(), thread, known(), opener);
  if (log || log.error().code != Errc::not_found) {
    return log;
  }
  SegmentOpener again(home(), SegmentOpener::Use::lasting);
  return open_thread(*read_table(), thread, known(), again);
}

Result<ShownFilesPtr> Store::native_files(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto planned, plan(*table(), std::string(place.stem())));
  std::vector<SegmentFile> segments;
  for (const Planned& each : planned) {
    segments.push_back(each.file);
  }
  return ShownFilesPtr(std::make_unique<const SegmentFiles>(home(), std::move(segments)));
}

/// The segment with which Codex goes on.
Result<File> Store::open_file(const Dir& /*in*/, const LogPlace& place) const {
  const Table now = table();
  const auto found = now->threads().find(place.stem());
  if (found == now->threads().end()) {
    return no_thread();
  }
  const SegmentFile& active = active_of(found->second, database_.current());
  ASSIGN_OR_RETURN(const auto dir, open_below(home(), active.folder));
  return File::follow_in(dir, active.file);
}

/// This works even without a program called codex: another program may embed it.
std::unique_ptr<const LiveSigns> Store::live_signs(bool /*is_running*/) const {
  auto locks = open_below(home(), kLocksFolder);
  return locks ? std::make_unique<const ThreadLocks>(*std::move(locks)) : nullptr;
}

Store::Known Store::known() const {
  return {names_.current(), database_.current()};
}

/// The row of a paginated thread has its name; a thread without such a row has it in the file of names (H1).
ThreadFacts Store::facts_in(const ThreadTable& table, const Known& known, const std::string& thread) {
  ThreadFacts facts;
  const auto found = known.rows.by_thread->find(thread);
  const ThreadRow row = found == known.rows.by_thread->end() ? ThreadRow() : found->second;
  facts.name = row.name;
  facts.parent = row.parent;
  if (const auto name = known.names->find(thread); name != known.names->end() && !row.is_paginated) {
    facts.name = name->second;
  }
  const auto files = table.threads().find(thread);
  if (files != table.threads().end()) {
    const SegmentFile& active = active_of(files->second, known.rows);
    facts.active = &active == &files->second.back() ? "" : active.name.segment;
  }
  return facts;
}

bool Store::is_marked(const LogPlace& place, Mark mark) const {
  const ThreadRows rows = database_.current();
  if (mark == Mark::pinned) {
    const auto row = rows.by_thread->find(std::string(place.stem()));
    return row != rows.by_thread->end() && row->second.is_pinned;
  }
  const Table now = table();
  const auto found = now->threads().find(place.stem());
  return found != now->threads().end() && is_archived(active_of(found->second, rows));
}

bool Store::is_link(const LogPlace& place) const {
  const Table now = table();
  const auto found = now->threads().find(place.stem());
  return found != now->threads().end() && std::any_of(found->second.begin(), found->second.end(),
                                                      [](const SegmentFile& file) { return file.is_linked; });
}

Result<ThreadNow> Store::thread_now(const std::string& thread) const {
  database_.forget_look();
  const ThreadRows rows = database_.current();
  const auto row = rows.by_thread->find(thread);
  const std::string wanted = row == rows.by_thread->end() ? "" : row->second.segment;
  Table table = this->table();
  auto files = table->threads().find(thread);
  const bool is_known = files != table->threads().end() && (wanted.empty() || table->find(wanted) != nullptr) &&
                        std::all_of(files->second.begin(), files->second.end(),
                                    [&](const SegmentFile& file) { return stat_now(file).has_value(); });
  if (!is_known) {
    table = read_table();
    files = table->threads().find(thread);
  }
  if (files == table->threads().end()) {
    return no_thread();
  }
  ThreadNow now{files->second, active_of(files->second, rows), RolloutKind::none, {}};
  now.row = row == rows.by_thread->end() ? ThreadRow() : row->second;
  SegmentOpener opener(home(), SegmentOpener::Use::once);
  ASSIGN_OR_RETURN(const auto log, opener.open(now.active));
  ASSIGN_OR_RETURN(const auto head, read_head(*log));
  now.kind = head.kind;
  return now;
}

std::vector<std::string> Store::based_on(const std::string& thread) const {
  const Table now = table();
  std::shared_ptr<const Forks> forks;
  {
    const std::lock_guard lock(mutex_);
    forks = forks_;
  }
  if (!forks || forks->of != now) {
    forks = find_forks(now);
    const std::lock_guard lock(mutex_);
    forks_ = forks;
  }
  const auto found = forks->by_source.find(thread);
  return found == forks->by_source.end() ? std::vector<std::string>() : found->second;
}

std::shared_ptr<const Store::Forks> Store::find_forks(const Table& table) const {
  auto forks = std::make_shared<Forks>();
  forks->of = table;
  SegmentOpener opener(home(), SegmentOpener::Use::once);
  for (const auto& thread : table->threads()) {
    std::set<std::string> sources;
    for (const SegmentFile& file : thread.second) {
      const SegmentHead head = head_of(file, opener);
      const SegmentFile* const base = head.base ? table->find(head.base->segment) : nullptr;
      if (base != nullptr && base->name.thread != thread.first) {
        sources.insert(base->name.thread);
      }
    }
    opener.let_go();
    for (const std::string& source : sources) {
      forks->by_source[source].push_back(thread.first);
    }
  }
  return forks;
}

std::vector<Finding> Store::faults_of(const LogPlace& place) const {
  std::vector<Finding> found;
  const Table now = read_table();
  const auto planned = plan(*now, std::string(place.stem()));
  for (const Planned& segment : planned ? *planned : std::vector<Planned>()) {
    const SegmentFile* base = segment.head.base ? now->find(segment.head.base->segment) : nullptr;
    if (segment.head.base && base == nullptr) {
      found.push_back({"missing_segment", "the history of " + segment.file.file + " begins in the segment " +
                                              segment.head.base->segment + ", which is not there"});
    }
  }
  return found;
}

/// The facts from the segment's first line; also unsettled if it cannot be read now.
SegmentHead Store::head_of(const SegmentFile& file, SegmentOpener& opener) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = heads_.find(file.name.segment); known != heads_.end()) {
      return known->second;
    }
  }
  const auto log = opener.open(file);
  const auto head = log ? read_head(**log) : Result<SegmentHead>(log.error());
  if (!head) {
    return {};
  }
  if (head->is_settled) {
    const std::lock_guard lock(mutex_);
    heads_.emplace(file.name.segment, *head);
  }
  return *head;
}

/// The thread's segments and those with which its history begins, each base before the segments based on it.
Result<std::vector<Store::Planned>> Store::plan(const ThreadTable& table, const std::string& thread,
                                                SegmentOpener& opener) const {
  const auto own = table.threads().find(thread);
  if (own == table.threads().end()) {
    return no_thread();
  }
  std::vector<Planned> planned;
  std::unordered_map<std::string, std::uint64_t> ends;
  std::unordered_set<std::string> seen;
  for (const SegmentFile& file : own->second) {
    std::vector<Planned> chain;
    const SegmentFile* at = &file;
    while (at != nullptr && chain.size() < kMostBases && seen.insert(at->name.segment).second) {
      chain.push_back({*at, head_of(*at, opener), at->name.thread == thread, UINT64_MAX});
      at = chain.back().head.base ? table.find(chain.back().head.base->segment) : nullptr;
    }
    std::move(chain.rbegin(), chain.rend(), std::back_inserter(planned));
  }
  for (const Planned& segment : planned) {
    if (const auto& base = segment.head.base) {
      std::uint64_t& end = ends[base->segment];
      end = std::max(end, base->end_byte);
    }
  }
  for (Planned& segment : planned) {
    segment.end = segment.is_own ? UINT64_MAX : ends[segment.file.name.segment];
  }
  return planned;
}

/// For callers that open no segment.
Result<std::vector<Store::Planned>> Store::plan(const ThreadTable& table, const std::string& thread) const {
  SegmentOpener opener(home(), SegmentOpener::Use::once);
  return plan(table, thread, opener);
}

/// Null if the thread has no copies of the records of a thread that is there.
ReadMarks Store::source_marks(const ThreadTable& table, const std::string& thread,
                              const std::vector<Planned>& planned) const {
  const auto first =
      std::find_if(planned.begin(), planned.end(), [](const Planned& segment) { return segment.is_own; });
  if (first == planned.end() || first->head.base) {
    return nullptr;
  }
  const Relatives& relatives = first->head.relatives;
  for (const std::string& source : {relatives.started_by, relatives.forked_from, relatives.copied_from}) {
    const auto found = table.threads().find(source);
    if (source != thread && found != table.threads().end()) {
      return [cache = marks_, home = home(), segments = found->second](const LogFilter* filter) {
        return cache->of(home, segments, filter);
      };
    }
  }
  return nullptr;
}

Result<std::shared_ptr<const LogSource>> Store::open_thread(const ThreadTable& table, const std::string& thread,
                                                            const Known& known, SegmentOpener& opener) const {
  ASSIGN_OR_RETURN(const auto planned, plan(table, thread, opener));
  std::vector<Segment> segments;
  ThreadStat all;
  for (const Planned& each : planned) {
    ASSIGN_OR_RETURN(auto file, opener.open(each.file));
    ASSIGN_OR_RETURN(const auto size, file->size());
    const FileStat st = file->opened();
    all.add(st, std::min(st.size, each.end), each.is_own);
    segments.push_back({each.file.name.segment, each.head, each.is_own, std::move(file), std::min(size, each.end), 0});
  }
  ThreadFacts facts = facts_in(table, known, thread);
  const FileStat opened = all.of_thread(facts);
  return std::shared_ptr<const LogSource>(std::make_shared<const SegmentsLog>(
      std::move(segments), std::move(facts), opened, thread, source_marks(table, thread, planned)));
}

std::shared_ptr<arborfs::Store> make_store(const std::string& home, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(home);
  paths.sessions = paths.agent_dir;
  return std::make_shared<Store>(paths, disk);
}

}  // namespace arborfs::codex
