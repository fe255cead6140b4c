// The folders of Claude Code's transcripts (claude/FORMAT.md A). Opens only transcripts, the files next to them for
// native_files(), and the files in which running programs name their sessions.
#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/formats/claude/expiry.h"
#include "core/formats/claude/format.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/log/log_source.h"
#include "core/os/environment.h"
#include "core/os/file.h"
#include "core/os/links.h"
#include "core/os/processes.h"
#include "core/os/temp_file.h"
#include "core/store/log_listing.h"
#include "core/store/prompt_history.h"
#include "core/store/store_parts.h"
#include "core/store/stored_files.h"

namespace arborfs::claude {
namespace {

/// Titles that are not in a transcript itself: in the file beside it, or in a row of another transcript
/// (claude/FORMAT.md D1). Thread-safe.
class OutsideTitles {
 public:
  /// Gives the sessions among `found`, the logs of a project, whose heads were read and have no title the one that
  /// stands elsewhere. Reads a few KiB of each log, and, if some have summaries, up to 64 MiB of those without a title.
  void find(const Dir& project, std::vector<FoundLog>& found);
  /// The log with the title that find() found for it, which is then its metadata().
  [[nodiscard]] std::shared_ptr<const LogSource> with_title(const LogPlace& place,
                                                            std::shared_ptr<const LogSource> log) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> titles_;  // by folder and file; guarded by mutex_
};

constexpr std::uint64_t kSummariesEnd = 4 * 1024;  // of each end of a log that is searched for summaries
constexpr std::uint64_t kManyRows = 64 * 1024;     // of a log that begins with more summaries than that
constexpr std::uint64_t kSearched = std::uint64_t{64} << 20U;
constexpr std::uint64_t kRowsPiece = 1 << 20;
constexpr std::size_t kLongestId = 256;

class TitledLog final : public ForwardingLog {
 public:
  TitledLog(std::shared_ptr<const LogSource> log, std::string title)
      : ForwardingLog(*log), log_(std::move(log)), title_(std::move(title)) {}
  [[nodiscard]] std::optional<std::string_view> metadata() const override { return title_; }

 private:
  const std::shared_ptr<const LogSource> log_;
  const std::string title_;
};

std::string name_of_log(const LogPlace& place) {
  return place.folder + '/' + place.file;
}

bool is_untitled(const FoundLog& log) {
  return log.head && log.head->header.title.empty() && !log.head->header.is_named;
}

/// "" if it cannot be read.
std::string piece_of(const File& file, std::uint64_t offset, std::uint64_t length) {
  std::string bytes(static_cast<std::size_t>(length), '\0');
  const auto got = file.read_at(offset, bytes);
  bytes.resize(got ? *got : 0);
  return bytes;
}

/// The JSON of a small file in the folder beside a transcript; "" if there is none.
std::string json_beside(const Dir& project, const LogPlace& place, std::string_view name) {
  const auto folder = project.follow(std::string(place.stem()));
  const auto file = folder ? File::open_in(*folder, std::string(name)) : Result<File>(folder.error());
  return file ? piece_of(*file, 0, kSummariesEnd) : "";
}

std::string title_beside(const Dir& project, const LogPlace& place) {
  return skim::text_member(json_beside(project, place, kTitleFile), "customTitle");
}

/// Titles, by the uuid of the row to which a summary leads.
using Summaries = std::unordered_map<std::string, std::string>;

void take_summary(std::string_view line, Summaries& summaries) {
  if (!skim::is_string(skim::member(line, "type"), "summary")) {
    return;
  }
  auto leaf = skim::string_value(skim::member(line, "leafUuid"));
  auto summary = skim::string_value(skim::member(line, "summary"));
  if (leaf && summary && !leaf->empty() && !summary->empty()) {
    summaries.insert_or_assign(*std::move(leaf), *std::move(summary));
  }
}

/// True if the text ends inside of a run of summaries.
bool take_summaries(std::string_view text, Summaries& summaries) {
  constexpr std::size_t kShortest = 16;  // `"summary"` is in the first characters of a row
  bool is_summary = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    is_summary = line.substr(0, 2 * kShortest).find("\"summary\"") != std::string_view::npos;
    if (is_summary && end != std::string_view::npos) {
      take_summary(line, summaries);
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return is_summary;
}

Summaries summaries_in(const Dir& project, const std::vector<FoundLog>& found) {
  Summaries summaries;
  for (const FoundLog& log : found) {
    const auto file = File::follow_in(project, log.place.file);
    if (!file) {
      continue;
    }
    const std::uint64_t size = log.stat.size;
    const bool has_many = take_summaries(piece_of(*file, 0, std::min(size, kSummariesEnd)), summaries);
    if (has_many && size > kSummariesEnd) {
      take_summaries(piece_of(*file, 0, std::min(size, kManyRows)), summaries);
    }
    if (size > kSummariesEnd) {
      take_summaries(piece_of(*file, size - kSummariesEnd, kSummariesEnd) + '\n', summaries);
    }
  }
  return summaries;
}

/// Calls visit(uuid) for the uuids of the rows in a piece of a log.
template <class Visit>
void each_uuid(std::string_view text, const Visit& visit) {
  constexpr std::string_view kKey = "\"uuid\"";
  for (std::size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at)) {
    at += kKey.size();
    const std::size_t quote = text.find_first_not_of(" \t:", at);
    if (quote == std::string_view::npos || text[quote] != '"') {
      continue;
    }
    const std::size_t end = text.substr(0, quote + 1 + kLongestId).find('"', quote + 1);
    if (end != std::string_view::npos) {
      visit(text.substr(quote + 1, end - quote - 1));
    }
  }
}

/// The title of the summary that leads to the latest row of the log; "" if none does. Reads the log from its end, where
/// the row mostly is.
std::string title_of_rows(const Dir& project, const FoundLog& log, const Summaries& summaries) {
  constexpr std::uint64_t kOverlap = 2 * kLongestId;  // of pieces, so that each uuid is whole in one
  const auto file = File::follow_in(project, log.place.file);
  const std::uint64_t first = log.stat.size > kSearched ? log.stat.size - kSearched : 0;
  std::string title;
  for (std::uint64_t end = log.stat.size; file && title.empty() && end > first;) {
    const std::uint64_t begin = end - std::min(kRowsPiece, end - first);
    each_uuid(piece_of(*file, begin, std::min(end + kOverlap, log.stat.size) - begin), [&](std::string_view uuid) {
      if (const auto found = summaries.find(std::string(uuid)); found != summaries.end()) {
        title = found->second;
      }
    });
    end = begin;
  }
  return title;
}

void OutsideTitles::find(const Dir& project, std::vector<FoundLog>& found) {
  if (std::none_of(found.begin(), found.end(), is_untitled)) {
    return;
  }
  const Summaries summaries = summaries_in(project, found);
  for (FoundLog& log : found) {
    if (!is_untitled(log)) {
      continue;
    }
    std::string title = title_beside(project, log.place);
    if (title.empty() && !summaries.empty()) {
      title = title_of_rows(project, log, summaries);
    }
    log.head->header.title = title;
    const std::lock_guard lock(mutex_);
    if (title.empty()) {
      titles_.erase(name_of_log(log.place));
    } else {
      titles_[name_of_log(log.place)] = std::move(title);
    }
  }
}

std::shared_ptr<const LogSource> OutsideTitles::with_title(const LogPlace& place,
                                                           std::shared_ptr<const LogSource> log) const {
  const std::lock_guard lock(mutex_);
  const auto found = titles_.find(name_of_log(place));
  return found == titles_.end() ? log : std::make_shared<const TitledLog>(std::move(log), found->second);
}

/// A folder of logs is `<project>`, or `<project>/<session>/subagents` and each folder below it for the sub-agents of
/// one session.
class Store final : public arborfs::Store,
                    public HasNativeFiles,
                    public HasLiveSigns,
                    public HasMarks,
                    public HasFaults,
                    public CanProtect {
 public:
  Store(const StorePaths& paths, Disk& disk)
      : arborfs::Store(claude::format(), paths, disk, make_no_blobs(), claude::prompt_history(paths.agent_dir, disk)) {}

  [[nodiscard]] const Format& format_of(const LogPlace& place) const override;
  [[nodiscard]] bool is_log_name(std::string_view file) const override;
  [[nodiscard]] std::optional<LogPlace> log_of(const std::string& folder, const std::string& file) const override;
  [[nodiscard]] Result<std::vector<std::string>> folders() const override;
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const std::string& folder,
                                                   const HeadWanted& wants_head) const override;
  [[nodiscard]] Result<std::shared_ptr<const LogSource>> open(const LogPlace& place) const override;
  [[nodiscard]] Result<Dir> folder(const LogPlace& place) const override;
  /// The transcript; for a session also its folder, for a sub-agent also its description.
  [[nodiscard]] Result<ShownFilesPtr> native_files(const LogPlace& place) const override;
  [[nodiscard]] std::unique_ptr<const LiveSigns> live_signs(bool is_running) const override;
  [[nodiscard]] bool is_marked(const LogPlace& place, Mark mark) const override;
  /// What a killed fork to Claude Code left, and the sessions that Claude Code deletes within a week.
  [[nodiscard]] std::vector<FileFinding> faults() const override;
  Result<Protected> protect(const LogPlace& place) const override;
  Result<Protected> protect_all() const override { return protect_all_sessions(paths().agent_dir, disk()); }

 private:
  mutable OutsideTitles titles_;
};

/// Finds the sessions that running programs of Claude Code have loaded (claude/FORMAT.md A5). Any thread.
class RunningSessions final : public LiveSigns {
 public:
  /// Reads `sessions` in Claude Code's folder, once.
  explicit RunningSessions(const std::string& config_dir);

  [[nodiscard]] std::vector<std::string> of(const LogPlace& place) const override;
  [[nodiscard]] bool tell_all_of(long pid) const override { return pids_.contains(pid); }

 private:
  std::multimap<std::string, long, std::less<>> by_session_;
  std::set<long> pids_;
};

constexpr std::string_view kNoteSuffix = ".json";
constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kLongestFile = 64 * 1024;

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const bool is_number = !digits.empty() && std::from_chars(digits.data(), end, number).ptr == end;
  return is_number ? std::optional(number) : std::nullopt;
}

/// The process that a file with this name describes; other names belong to keys, and to files that are being written.
std::optional<long> pid_in(std::string_view name) {
  const auto pid =
      name.ends_with(kNoteSuffix) ? number_of(name.substr(0, name.size() - kNoteSuffix.size())) : std::nullopt;
  return pid && *pid > 0 ? std::optional(static_cast<long>(*pid)) : std::nullopt;
}

/// True if the process runs and is the one that wrote the file: its number may have been reused.
bool is_writer(long pid, const std::string& started) {
  const auto proc = Dir::open_root("/proc");
  const UniqueFd process = proc::open_process(proc ? proc->fd() : -1, pid);
  const auto ticks = proc::start_ticks(process.get());
  return ticks && std::to_string(*ticks) == started && is_process_alive(pid);
}

/// A string or a number, as text.
std::string text_member(const json::Value& object, const char* key) {
  const auto text = json::string_member(object, key);
  if (text) {
    return std::string(*text);
  }
  const json::Value* number = json::member(object, key);
  return number != nullptr && number->IsNumber() ? json::number_text(number->GetDouble()) : "";
}

/// The session named by its place, even for a sub-agent's transcript in `<project>/<session>/subagents`.
std::string_view session_of(const LogPlace& place) {
  std::string_view folder = place.folder;
  const std::size_t slash = folder.find('/');
  if (slash == std::string_view::npos) {
    return place.stem();
  }
  folder.remove_prefix(slash + 1);
  return folder.substr(0, folder.find('/'));
}

RunningSessions::RunningSessions(const std::string& config_dir) {
  const auto folder = Dir::open_below_root(config_dir, "sessions");
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  std::size_t files = 0;
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const auto pid = pid_in(entry.name);
    if (!pid || ++files > kMostFiles) {
      continue;
    }
    const auto file = File::open_in(*folder, entry.name);
    const auto text = file ? file->read(0, kLongestFile) : Result<std::string>(file.error());
    json::Document document;
    if (!text || !json::parse(*text, document)) {
      continue;
    }
    const auto session = json::string_member(document, "sessionId");
    if (session && is_writer(*pid, text_member(document, "procStart"))) {
      by_session_.emplace(std::string(*session), *pid);
      pids_.insert(*pid);
    }
  }
}

std::vector<std::string> RunningSessions::of(const LogPlace& place) const {
  std::vector<std::string> found;
  const auto [first, last] = by_session_.equal_range(session_of(place));
  for (auto at = first; at != last; ++at) {
    found.push_back("claude (process " + std::to_string(at->second) + ") has it open");
  }
  return found;
}

constexpr std::string_view kSuffix = ".jsonl";
constexpr std::string_view kOrphaned = "orphaned-";
constexpr std::string_view kSubAgents = "subagents";
constexpr std::string_view kJournal = "journal.jsonl";   // of a workflow, in a folder of sub-agents
constexpr std::string_view kDescription = ".meta.json";  // of a sub-agent, next to its transcript
constexpr std::size_t kSubAgentsAt = 2;                  // in the components of a folder of sub-agents
constexpr int kDeepest = 20;                             // components of a folder
constexpr std::size_t kMostFolders = 10'000;             // of the sub-agents of one session

bool is_line_file(std::string_view name) {
  return name.size() > kSuffix.size() && name.front() != '.' && name.ends_with(kSuffix);
}

bool is_transcript_name(std::string_view name) {
  return is_line_file(name) && !name.starts_with(kOrphaned);
}

bool is_sub_agent_name(std::string_view name) {
  return is_transcript_name(name) && name != kJournal;
}

bool is_of_sub_agents(std::string_view folder) {
  return folder.find('/') != std::string_view::npos;
}

std::string_view why_left_out(std::string_view name) {
  return is_line_file(name) && name.starts_with(kOrphaned) ? "set aside by Claude Code as orphaned-…"
                                                           : why_not_compressed(name, is_transcript_name);
}

/// Opens `<project>` or `<project>/<session>/subagents[/…]`.
Result<Dir> open_folder(const std::string& root, std::string_view folder) {
  const auto parts = path_components(folder);
  if (parts.empty() || parts.size() == kSubAgentsAt || (parts.size() > 1 && parts[kSubAgentsAt] != kSubAgents)) {
    return Error{Errc::not_found, "no sessions folder"};
  }
  if (parts.size() > std::size_t{kDeepest}) {
    return Error{Errc::unsupported, "a folder that is nested too deeply"};
  }
  ASSIGN_OR_RETURN(auto dir, Dir::follow_below_root(root, parts.front()));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    ASSIGN_OR_RETURN(dir, dir.follow(parts[i]));
  }
  return dir;
}

/// The folders of the sub-agents of one session, each once even if links form loops.
class SubAgentFolders {
 public:
  explicit SubAgentFolders(std::vector<std::string>& folders) : folders_(folders) {}

  /// `session` is the folder of this name. A session without sub-agents has none.
  void add(const Dir& session, const std::string& name) {
    if (auto dir = session.follow(std::string(kSubAgents))) {
      open_.emplace_back(*std::move(dir), name + '/' + std::string(kSubAgents));
    }
    while (!open_.empty() && seen_.size() < kMostFolders) {
      const auto [dir, folder] = std::move(open_.back());
      open_.pop_back();
      add_one(dir, folder);
    }
  }

 private:
  void add_one(const Dir& dir, const std::string& folder) {
    const auto st = dir.stat();
    if (!st || !seen_.emplace(st->dev, st->ino).second) {
      return;
    }
    folders_.push_back(folder);
    const auto entries = dir.list();
    const bool is_deepest = std::count(folder.begin(), folder.end(), '/') + 1 >= kDeepest;
    for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
      if (!may_be_folder(dir, entry) || is_sub_agent_name(entry.name)) {
        continue;
      }
      std::string inner = folder + '/' + entry.name;
      auto opened = is_deepest ? Result<Dir>(Errc::unsupported, "") : dir.follow(entry.name);
      if (opened) {
        open_.emplace_back(*std::move(opened), std::move(inner));
      } else {
        folders_.push_back(std::move(inner));  // its listing says why it cannot be read
      }
    }
  }

  std::vector<std::string>& folders_;
  std::vector<std::pair<Dir, std::string>> open_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;  // by device and inode
};

/// Appends the project's own folder and those of its sessions' sub-agents. A project that cannot be read has none of
/// the latter.
void add_folders(const Dir& root, const std::string& project, std::vector<std::string>& folders) {
  folders.push_back(project);
  const auto dir = root.follow(project);
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    if (entry.type == DT_DIR || entry.type == DT_LNK) {
      if (const auto session = dir->follow(entry.name)) {
        SubAgentFolders(folders).add(*session, project + '/' + entry.name);
      }
    }
  }
}

}  // namespace

const Format& Store::format_of(const LogPlace& place) const {
  return is_of_sub_agents(place.folder) || place.file.starts_with(kAgentPrefix) ? sub_agent_format() : format();
}

bool Store::is_log_name(std::string_view file) const {
  return is_transcript_name(file);
}

std::optional<LogPlace> Store::log_of(const std::string& folder, const std::string& file) const {
  const bool is_log = is_of_sub_agents(folder) ? is_sub_agent_name(file) : is_transcript_name(file);
  return is_log ? std::optional(LogPlace{folder, file}) : std::nullopt;
}

Result<std::vector<std::string>> Store::folders() const {
  ASSIGN_OR_RETURN(const auto root, Dir::open_root(paths().sessions));
  ASSIGN_OR_RETURN(const auto entries, root.list());
  std::vector<std::string> folders;
  for (const DirEntry& entry : entries) {
    if (may_be_folder(root, entry)) {
      add_folders(root, entry.name, folders);
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

Result<std::vector<FoundLog>> Store::logs(const std::string& folder, const HeadWanted& wants_head) const {
  ASSIGN_OR_RETURN(const auto dir, open_folder(paths().sessions, folder));
  ASSIGN_OR_RETURN(auto found,
                   list_logs(dir, folder, format(), is_of_sub_agents(folder) ? is_sub_agent_name : is_transcript_name,
                             wants_head, why_left_out));
  if (!is_of_sub_agents(folder)) {
    titles_.find(dir, found);
  }
  return found;
}

Result<std::shared_ptr<const LogSource>> Store::open(const LogPlace& place) const {
  ASSIGN_OR_RETURN(auto log, arborfs::Store::open(place));
  return titles_.with_title(place, std::move(log));
}

Result<Dir> Store::folder(const LogPlace& place) const {
  return open_folder(paths().sessions, place.folder);
}

Result<ShownFilesPtr> Store::native_files(const LogPlace& place) const {
  ASSIGN_OR_RETURN(auto dir, folder(place));
  const std::string stem(place.stem());
  const bool is_sub_agent = is_of_sub_agents(place.folder);
  return ShownFilesPtr(std::make_unique<const StoredFiles>(
      std::move(dir), std::vector{place.file, is_sub_agent ? stem + std::string(kDescription) : stem}));
}

/// Both members are needed (claude/FORMAT.md I7).
bool Store::is_marked(const LogPlace& place, Mark mark) const {
  const auto project = mark == Mark::archived ? folder(place) : Result<Dir>(Errc::unsupported, "no such mark");
  const std::string file = project ? json_beside(*project, place, kArchiveFile) : "";
  json::Document document;
  return json::parse(file, document) && json::is_truthy(json::member(document, "archived")) &&
         json::string_member(document, "at");
}

Result<CanProtect::Protected> Store::protect(const LogPlace& place) const {
  if (is_of_sub_agents(place.folder)) {
    return Error{Errc::unsupported, "a sub-agent is kept as long as the session that started it; protect that one"};
  }
  return protect_session(*this, place, now_ns());
}

/// This works even without a program called claude: the files name the process.
std::unique_ptr<const LiveSigns> Store::live_signs(bool /*is_running*/) const {
  return std::make_unique<const RunningSessions>(paths().agent_dir);
}

std::vector<FileFinding> Store::faults() const {
  std::vector<FileFinding> found;
  const auto names = folders();
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    const auto dir = open_folder(paths().sessions, name);
    for (const std::string& file : dir ? leftover_files(*dir) : std::vector<std::string>()) {
      Finding left{"leftover_temporary", "the temporary file of an unfinished fork by arborfs"};
      left.leftover = paths().sessions + "/" + name + "/" + file;
      found.push_back({left.leftover, left});
    }
  }
  std::vector<std::string> projects;
  std::copy_if(names ? names->begin() : projects.end(), names ? names->end() : projects.end(),
               std::back_inserter(projects), [](const std::string& name) { return !is_of_sub_agents(name); });
  auto expiring = expiring_sessions(paths(), projects, now_ns());
  std::move(expiring.begin(), expiring.end(), std::back_inserter(found));
  return found;
}

std::shared_ptr<arborfs::Store> make_store(const std::string& config_dir, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(config_dir);
  paths.sessions = paths.agent_dir + "/projects";
  return std::make_shared<Store>(paths, disk);
}

}  // namespace arborfs::claude
