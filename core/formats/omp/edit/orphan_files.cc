#include "core/formats/omp/edit/orphan_files.h"

#include <fmt/format.h>

#include <chrono>

#include "core/formats/omp/store/log_change.h"
#include "core/os/processes.h"

namespace arborfs::omp {
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
  const auto found = [&](OrphanFile::Kind kind, const char* finding, std::string words) {
    return OrphanFile{{folder.name, name}, log, kind, {finding, std::move(words), std::nullopt, 0, kNoEntry}};
  };
  if (name == lock_file_name(log)) {
    const long owner = lock_file_pid(folder.dir, log);
    const bool may_be_held = owner != 0 ? is_process_alive(owner) : !folder.is_older(name, kLockBeingMade);
    const std::string why = owner != 0 ? fmt::format("process {} has ended", owner) : "it names no process";
    return may_be_held ? std::nullopt
                       : std::optional(found(OrphanFile::Kind::lock, "stale_lock", "a stale lock: " + why));
  }
  if (!folder.is_older(name, kMaybeInUse)) {
    return std::nullopt;
  }
  if (name.starts_with("." + log + ".") && name.ends_with(".tmp")) {
    return found(OrphanFile::Kind::temporary, "leftover_temporary",
                 "the temporary file of an unfinished rewrite of the log");
  }
  if (name.starts_with(log + ".") && name.ends_with(".bak")) {
    return found(OrphanFile::Kind::backup, "leftover_backup",
                 folder.dir.stat(log) ? "a backup left by a rewrite of the log"
                                      : "a backup whose log is gone; rename it to " + log + " to get the session back");
  }
  return std::nullopt;
}

void examine_folder(const Folder& folder, std::vector<OrphanFile>& found) {
  const auto entries = folder.dir.list();
  for (const auto& entry : entries ? *entries : std::vector<DirEntry>{}) {
    const std::string log = log_of(entry.name);
    if (auto leftover = log.empty() ? std::nullopt : judge(folder, entry.name, log)) {
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

std::vector<OrphanFile> find_leftovers(const arborfs::Store& store) {
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

}  // namespace arborfs::omp
