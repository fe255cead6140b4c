#include "core/session/erased_entries.h"

#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/number_format.h"
#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/scan.h"
#include "core/os/state_dir.h"

namespace arborfs {

namespace {

constexpr std::string_view kWritten = "/written";
constexpr std::string_view kErased = "/erased";
constexpr mode_t kPrivate = 0600;
constexpr std::size_t kLongestStem = 200;
/// The kept entries and the last command, which may be larger.
constexpr std::size_t kMostRead = 2 * ErasedEntries::kKeptBytes + (64 << 20);
constexpr std::size_t kLongLine = 1 << 20;
constexpr std::int64_t kForgottenAfterNs = std::chrono::nanoseconds(std::chrono::hours(24 * 30)).count();

/// Locks a state folder against other threads and processes while it lives. It is held only briefly; the wait is
/// limited, so that a process that was stopped while holding it does not block the others.
class FolderLock {
 public:
  explicit FolderLock(const Dir& folder) : fd_(folder.fd()) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!(held_ = ::flock(fd_, LOCK_EX | LOCK_NB) == 0) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
  ~FolderLock() {
    if (held_) {
      ::flock(fd_, LOCK_UN);
    }
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  [[nodiscard]] bool is_held() const { return held_; }

 private:
  static constexpr std::chrono::milliseconds kPatience{500};
  static constexpr std::chrono::milliseconds kBetweenTries{1};
  const int fd_;
  bool held_ = false;
};

Error locked() {
  return {Errc::busy, "another arborfs process is using the state folder; try again"};
}

/// Finds the id of an entry while its bytes are scanned.
class IdOfLine : public json::FieldObserver {
 public:
  void on_scalar(std::string_view parent_key, std::string_view key, std::string_view raw, bool complete) override {
    if (parent_key.empty() && key == "id" && complete) {
      json::Document value;
      id_ = json::parse(raw, value) && value.IsString() ? std::optional(std::string(json::as_string(value)))
                                                        : std::nullopt;
    }
  }
  void on_container(std::string_view /*key*/, char /*opener*/, std::uint64_t /*offset*/) override {}
  void on_container_end(std::uint64_t /*offset*/) override {}
  [[nodiscard]] const std::optional<std::string>& id() const { return id_; }

 private:
  std::optional<std::string> id_;
};

/// Nothing if the line is not an entry with an id. A long line is scanned, not parsed.
std::optional<std::string> id_of(std::string_view line) {
  if (line.size() <= kLongLine) {
    json::Document document;
    const auto id = json::parse(line, document) ? json::string_member(document, "id") : std::nullopt;
    return id ? std::optional(std::string(*id)) : std::nullopt;
  }
  IdOfLine found;
  json::ValueScanner scanner(&found);
  scanner.reset();
  std::size_t used = 0;
  return scanner.feed(line, used) == json::ValueScanner::Verdict::value ? found.id() : std::nullopt;
}

/// One JSON object per line; a torn end without line feed is skipped.
std::vector<ErasedEntries::Kept> entries_of(std::string_view bytes) {
  std::vector<ErasedEntries::Kept> found;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (auto id = id_of(line)) {
      found.push_back({std::move(*id), std::string(line)});
    }
  }
  return found;
}

std::string text_of(const std::vector<ErasedEntries::Kept>& entries) {
  std::string text;
  for (const auto& entry : entries) {
    text += entry.json + "\n";
  }
  return text;
}

/// The last whole lines, at most `most` bytes, but at least one line.
std::string_view newest(std::string_view lines, std::size_t most) {
  if (lines.size() <= most) {
    return lines;
  }
  std::size_t end = lines.find('\n', lines.size() - most - 1);
  if (end >= lines.size() - 1) {
    end = lines.rfind('\n', lines.size() - 2);
  }
  return lines.substr(end + 1);
}

/// The lines at the end of a file. At most `most` bytes are read, because the file may be of any size.
Result<std::string> read_newest(const Dir& folder, const std::string& name, std::size_t most) {
  const auto file = File::open_in(folder, name);
  const auto st = file ? file->stat() : Result<FileStat>(file.error());
  if (!st) {
    return st.error().code == Errc::not_found ? Result<std::string>(std::string()) : st.error();
  }
  const std::uint64_t size = std::min<std::uint64_t>(st->size, most);
  ASSIGN_OR_RETURN(auto bytes, file->read(st->size - size, size));
  const std::size_t first_whole = st->size > most ? bytes.find('\n') : std::string::npos;
  return first_whole == std::string::npos ? bytes : bytes.substr(first_whole + 1);
}

/// Drops the copies for sessions that arborfs has not appended to for long.
void drop_old(Disk& disk, const Dir& folder) {
  const auto entries = folder.list();
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>{}) {
    const auto st = folder.stat(entry.name);
    if (st && now_ns() - st->mtime_ns > kForgottenAfterNs) {
      static_cast<void>(disk.remove(folder, entry.name));
    }
  }
}

}  // namespace

struct ErasedEntries::Opened {
  Dir folder;
  FileStat folder_stat;
  std::string name;
  UniqueFd file;  // for appending
  FileStat file_stat;
};

ErasedEntries::ErasedEntries(std::string folder, std::string store_key, Disk& disk)
    : folder_(std::move(folder)), store_key_(std::move(store_key)), disk_(disk) {}

ErasedEntries::~ErasedEntries() = default;

std::string ErasedEntries::written_name(const std::string& log_name) const {
  return state_file_name(store_key_, log_name);
}

std::string ErasedEntries::erased_name(const std::string& log_name) const {
  const std::string stem = log_name.substr(0, std::min(log_name.rfind('.'), kLongestStem));
  return stem + "." + state_file_name(store_key_, log_name) + ".jsonl";
}

std::string ErasedEntries::path_of(const std::string& log_name) const {
  return folder_ + std::string(kErased) + "/" + erased_name(log_name);
}

Result<void> ErasedEntries::replace(const Dir& folder, const std::string& name, const Entries& entries) const {
  if (!entries.empty()) {
    return replace_private_file(disk_, folder, name, text_of(entries));
  }
  auto removed = disk_.remove(folder, name);
  return removed || removed.error().code == Errc::not_found ? Result<void>() : removed;
}

/// The folder may have been removed or replaced since.
Result<void> ErasedEntries::open_written_folder() {
  const std::string path = folder_ + std::string(kWritten);
  const auto there = opened_ ? Dir::stat_root(path) : Result<FileStat>(Errc::not_found, "");
  if (there && there->same_file(opened_->folder_stat)) {
    return {};
  }
  opened_.reset();
  ASSIGN_OR_RETURN(auto folder, make_private_folder(disk_, path, false));
  ASSIGN_OR_RETURN(const auto st, folder.stat());
  opened_ = std::make_unique<Opened>(Opened{std::move(folder), st, "", UniqueFd(), {}});
  return {};
}

/// Returns its size. Called under the folder's lock: another process may have replaced the file.
Result<std::uint64_t> ErasedEntries::open_written_file(const std::string& name) {
  const Dir& folder = opened_->folder;
  const auto there = folder.stat(name);
  if (there && opened_->name == name && there->same_file(opened_->file_stat)) {
    return there->size;
  }
  auto fd = disk_.open_append(folder, name);
  if (!fd && fd.error().code == Errc::not_found) {
    drop_old(disk_, folder);
    fd = disk_.create(folder, name, kPrivate);
  }
  const auto st = fd ? folder.stat(name) : Result<FileStat>(fd.error());
  if (!st) {
    return st.error();
  }
  opened_->name = name;
  opened_->file = std::move(*fd);
  opened_->file_stat = *st;
  return st->size;
}

Result<void> ErasedEntries::append_written(const std::string& log_name, std::string_view lines) {
  const std::lock_guard alone(mutex_);
  RETURN_IF_ERROR(open_written_folder());
  const Dir& folder = opened_->folder;
  const FolderLock lock(folder);
  if (!lock.is_held()) {
    return locked();
  }
  const std::string name = written_name(log_name);
  if (lines.size() > 2 * kKeptBytes) {
    return replace_private_file(disk_, folder, name, newest(lines, kKeptBytes));
  }
  ASSIGN_OR_RETURN(const auto size, open_written_file(name));
  RETURN_IF_ERROR(write_all(disk_, opened_->file.get(), lines));
  if (size + lines.size() <= 2 * kKeptBytes) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto bytes, read_newest(folder, name, kMostRead));
  return replace_private_file(disk_, folder, name, newest(bytes, kKeptBytes));
}

void ErasedEntries::acknowledge(const std::string& log_name, std::string_view lines) {
  if (folder_.empty()) {
    return;
  }
  if (auto kept = append_written(log_name, lines); !kept) {
    write_log(LogLevel::warning, "cannot store a copy of the appended entries: " + kept.error().message);
  }
}

/// True if the comparison was possible.
Result<bool> ErasedEntries::note_lost(const std::string& log_name, const LogIndex& index,
                                      const std::function<bool()>& is_current) {
  auto watched = open_private_folder(folder_ + std::string(kWritten));
  if (!watched) {
    return watched.error().code == Errc::not_found ? Result<bool>(true) : watched.error();
  }
  const FolderLock lock(*watched);
  if (!lock.is_held()) {
    return locked();
  }
  const auto kept = open_private_folder(folder_ + std::string(kErased));
  const auto lost_before = kept ? read_private_file(*kept, erased_name(log_name)) : Result<std::string>(std::string());
  if (!lost_before) {
    return lost_before.error();  // it must not be overwritten
  }
  ASSIGN_OR_RETURN(auto bytes, read_newest(*watched, written_name(log_name), kMostRead));
  Entries written = entries_of(bytes);
  bytes = std::string();  // it may be large
  Entries erased = entries_of(*lost_before);
  const auto is_there = [&](const Kept& entry) { return index.find(entry.id) != kNoEntry; };
  const auto lost = std::stable_partition(written.begin(), written.end(), is_there);
  const auto back = std::stable_partition(erased.begin(), erased.end(), std::not_fn(is_there));
  if (lost == written.end() && back == erased.end()) {
    return true;
  }
  if (lost != written.end() && !is_current()) {
    return false;
  }
  ASSIGN_OR_RETURN(auto folder, make_private_folder(disk_, folder_ + std::string(kErased)));
  const Entries again(back, erased.end());
  erased.erase(back, erased.end());
  erased.insert(erased.end(), lost, written.end());
  if (lost != written.end()) {
    const auto count = static_cast<std::uint64_t>(written.end() - lost);
    write_log(LogLevel::warning, log_name + ": another program rewrote it without " +
                                     counted(count, "entry", "entries") + " appended before; they are kept in " +
                                     path_of(log_name) + ", and arborfs doctor --repair puts them back");
  }
  written.erase(lost, written.end());
  written.insert(written.end(), again.begin(), again.end());
  RETURN_IF_ERROR(replace(folder, erased_name(log_name), erased));
  RETURN_IF_ERROR(replace(*watched, written_name(log_name), written));
  return true;
}

bool ErasedEntries::compare(const std::string& log_name, const LogIndex& index,
                            const std::function<bool()>& is_current) {
  if (folder_.empty()) {
    return true;
  }
  const auto told = note_lost(log_name, index, is_current);
  if (told) {
    const std::lock_guard lock(warned_mutex_);
    warned_.erase(log_name);
    return *told;
  }
  warn_once(log_name, told.error());
  const Errc why = told.error().code;
  return why != Errc::busy && why != Errc::no_space && why != Errc::over_quota;
}

void ErasedEntries::warn_once(const std::string& log_name, const Error& why) {
  const std::lock_guard lock(warned_mutex_);
  if (warned_.insert(log_name).second) {
    write_log(LogLevel::warning, "cannot protect the entries that were appended to " + log_name + ": " + why.message);
  }
}

std::string ErasedEntries::written(const std::string& log_name) const {
  const auto folder =
      folder_.empty() ? Result<Dir>(Errc::not_found, "") : open_private_folder(folder_ + std::string(kWritten));
  const auto bytes =
      folder ? read_newest(*folder, written_name(log_name), kMostRead) : Result<std::string>(folder.error());
  return bytes ? *bytes : std::string();
}

bool ErasedEntries::has_written(const std::string& log_name, std::string_view id) const {
  const Entries kept = entries_of(written(log_name));
  return std::any_of(kept.begin(), kept.end(), [id](const Kept& entry) { return entry.id == id; });
}

std::vector<ErasedEntries::Kept> ErasedEntries::of(const std::string& log_name) const {
  auto folder = open_private_folder(folder_ + std::string(kErased));
  const auto bytes =
      folder && !folder_.empty() ? read_private_file(*folder, erased_name(log_name)) : Result<std::string>("");
  return bytes ? entries_of(*bytes) : Entries{};
}

void ErasedEntries::forget(const std::string& log_name, const std::vector<std::string>& ids) {
  const auto folder =
      folder_.empty() ? Result<Dir>(Errc::not_found, "") : open_private_folder(folder_ + std::string(kWritten));
  if (!folder) {
    return;
  }
  const std::lock_guard alone(mutex_);
  const FolderLock lock(*folder);
  const auto bytes = lock.is_held() ? read_newest(*folder, written_name(log_name), kMostRead) : locked();
  Entries entries = bytes ? entries_of(*bytes) : Entries{};
  const auto is_removed = [&](const Kept& entry) { return std::find(ids.begin(), ids.end(), entry.id) != ids.end(); };
  if (std::erase_if(entries, is_removed) != 0) {
    static_cast<void>(replace(*folder, written_name(log_name), entries));
  }
}

void ErasedEntries::forget(const std::string& log_name) {
  auto folder =
      folder_.empty() ? Result<Dir>(Errc::not_found, "") : open_private_folder(folder_ + std::string(kWritten));
  if (folder) {
    static_cast<void>(disk_.remove(*folder, written_name(log_name)));
  }
}

}  // namespace arborfs
