#include "core/formats/omp/doctor/orphan_files.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>

#include "core/formats/omp/store/omp_file_lock.h"
#include "core/os/processes.h"

namespace arborfs {
namespace {

constexpr std::string_view kLogEnding = ".jsonl";
constexpr std::chrono::nanoseconds kMaybeInUse = std::chrono::seconds(10);
constexpr std::chrono::nanoseconds kLockBeingMade = std::chrono::milliseconds(500);

/// A folder of logs, with the facts needed to judge its files.
struct Folder {
  std::string name;
  const Dir& dir;
  std::chrono::nanoseconds now;

  [[nodiscard]] bool is_older(const std::string& file, std::chrono::nanoseconds age) const {
    const auto st = dir.stat(file);
    return st && now - std::chrono::nanoseconds(st->mtime_ns) > age;
  }
};

/// The process that a lock file names; not set if the content is not <pid>:<ms> or the pid is 0.
std::optional<long> owner_of(const Dir& dir, const std::string& name) {
  const auto file = File::open_in(dir, name);
  if (!file) {
    return std::nullopt;
  }
  std::array<char, 64> buffer{};
  const auto got = file->read_at(0, buffer);
  if (!got) {
    return std::nullopt;
  }
  long pid = 0;
  const char* end = buffer.data() + *got;
  const auto parsed = std::from_chars(buffer.data(), end, pid);
  const bool well_formed = parsed.ec == std::errc() && pid > 0 && parsed.ptr != end && *parsed.ptr == ':';
  return well_formed ? std::optional<long>(pid) : std::nullopt;
}

std::optional<Finding> judge_lock(const Folder& folder, const std::string& name) {
  const auto owner = owner_of(folder.dir, name);
  if (owner && is_process_alive(*owner)) {
    return std::nullopt;
  }
  if (!owner && !folder.is_older(name, kLockBeingMade)) {
    return std::nullopt;
  }
  const std::string why = owner ? fmt::format("process {} has ended", *owner) : "it names no process";
  return Finding{"stale_lock", "a stale lock: " + why, std::nullopt, 0, kNoEntry};
}

std::optional<Finding> judge_temporary(const Folder& folder, const std::string& name) {
  if (!folder.is_older(name, kMaybeInUse)) {
    return std::nullopt;
  }
  return Finding{"leftover_temporary", "the temporary file of an unfinished rewrite of the log", std::nullopt, 0,
                 kNoEntry};
}

std::optional<Finding> judge_backup(const Folder& folder, const std::string& name, const std::string& log) {
  if (!folder.is_older(name, kMaybeInUse)) {
    return std::nullopt;
  }
  const bool is_only_copy = !folder.dir.stat(log);
  return Finding{"leftover_backup",
                 is_only_copy ? "a backup whose log is gone; rename it to " + log + " to get the session back"
                              : "a backup left by a rewrite of the log",
                 std::nullopt, 0, kNoEntry};
}

/// The log that a file belongs to by its name: everything up to .jsonl, without a leading dot.
std::string log_of(std::string_view name) {
  const std::size_t at = name.find(kLogEnding);
  if (at == std::string_view::npos) {
    return "";
  }
  const std::size_t begin = name.starts_with('.') ? 1 : 0;
  return std::string(name.substr(begin, at + kLogEnding.size() - begin));
}

std::optional<OrphanFile> judge(const Folder& folder, const std::string& name, const std::string& log) {
  std::optional<Finding> finding;
  auto kind = OrphanFile::Kind::temporary;
  if (name == lock_file_name(log)) {
    kind = OrphanFile::Kind::lock;
    finding = judge_lock(folder, name);
  } else if (name.starts_with("." + log + ".") && name.ends_with(".tmp")) {
    finding = judge_temporary(folder, name);
  } else if (name.starts_with(log + ".") && name.ends_with(".bak")) {
    kind = OrphanFile::Kind::backup;
    finding = judge_backup(folder, name, log);
  }
  return finding ? std::optional(OrphanFile{{folder.name, name}, log, kind, std::move(*finding)}) : std::nullopt;
}

void examine_folder(const Folder& folder, std::vector<OrphanFile>& found) {
  const auto entries = folder.dir.list();
  if (!entries) {
    return;
  }
  for (const auto& entry : *entries) {
    const std::string log = log_of(entry.name);
    if (log.empty()) {
      continue;
    }
    if (auto leftover = judge(folder, entry.name, log)) {
      found.push_back(std::move(*leftover));
    }
  }
}

/// `.<64 digits>.<anything>`: a blob that has not been renamed to its final name yet (omp/FORMAT.md D2).
bool is_unfinished_blob(const std::string& name) {
  constexpr std::size_t kHashDigits = 64;
  return name.size() > kHashDigits + 2 && name.front() == '.' && name[kHashDigits + 1] == '.' &&
         BlobStore::is_blob_name(std::string_view(name).substr(1, kHashDigits));
}

void examine_blobs(const Folder& folder, std::vector<OrphanFile>& found) {
  const auto entries = folder.dir.list();
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>{}) {
    if (is_unfinished_blob(entry.name) && folder.is_older(entry.name, kMaybeInUse)) {
      found.push_back({{"", entry.name},
                       "",
                       OrphanFile::Kind::blob,
                       {"leftover_temporary", "the temporary file of an unfinished blob", std::nullopt, 0, kNoEntry}});
    }
  }
}

}  // namespace

std::string leftover_path(const OrphanFile& leftover, const StorePaths& paths) {
  return leftover.kind == OrphanFile::Kind::blob
             ? paths.blobs + "/" + leftover.place.file
             : folder_path(paths.sessions, leftover.place.folder) + "/" + leftover.place.file;
}

std::vector<OrphanFile> find_leftovers(const SessionStore& store) {
  std::vector<OrphanFile> found;
  const auto folders = store.folders();
  if (!folders) {
    return found;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const auto& name : *folders) {
    if (const auto dir = store.folder({name, ""})) {
      examine_folder({name, *dir, now}, found);
    }
  }
  if (const auto blobs = Dir::open_root(store.paths().blobs)) {
    examine_blobs({"", *blobs, now}, found);
  }
  return found;
}

std::vector<OrphanFile> find_leftovers(const StoreSet& stores) {
  std::vector<OrphanFile> all;
  for (std::size_t number = 0; number < stores.size(); ++number) {
    if (!stores.at(number)->format().is_plain) {
      continue;  // such files are omp's and pi's
    }
    for (OrphanFile& leftover : find_leftovers(*stores.at(number))) {
      leftover.place.store = static_cast<std::uint8_t>(number);
      all.push_back(std::move(leftover));
    }
  }
  return all;
}

}  // namespace arborfs
