#include "core/os/state_dir.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/os/temp_file.h"

namespace arborfs {

namespace {

constexpr mode_t kPrivate = 0700;
constexpr mode_t kPrivateFile = 0600;
constexpr std::uint64_t kMostRead = 64 << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string base_path(const char* name, const char* below_home, const std::string& below) {
  std::string base = variable(name);
  if (base.empty()) {
    base = variable("HOME") + below_home;
  }
  return base + "/arborfs" + (below.empty() ? "" : "/" + below);
}

Error of_another_user(const std::string& path) {
  return {Errc::permission, path + " belongs to another user"};
}

/// Opens the folder, or creates it if it is missing. It must belong to this user or to root.
Result<Dir> folder_to_make_in(Disk& disk, const std::string& path, bool sync) {
  auto there = Dir::open_root(path);
  if (!there) {
    return there.error().code == Errc::not_found ? make_private_folder(disk, path, sync) : std::move(there);
  }
  ASSIGN_OR_RETURN(const auto st, there->stat());
  return st.uid == ::geteuid() || st.uid == 0 ? std::move(there) : Result<Dir>(of_another_user(path));
}

}  // namespace

std::string state_path(const std::string& below) {
  return base_path("XDG_STATE_HOME", "/.local/state", below);
}

std::string data_path(const std::string& below) {
  return base_path("XDG_DATA_HOME", "/.local/share", below);
}

std::string cache_path(const std::string& below) {
  return base_path("XDG_CACHE_HOME", "/.cache", below);
}

std::string config_path(const std::string& below) {
  return base_path("XDG_CONFIG_HOME", "/.config", below);
}

std::string state_file_name(const std::string& store_key, const std::string& log_name) {
  char name[24];
  std::snprintf(name, sizeof name, "%016llx",
                static_cast<unsigned long long>(xxh64(store_key + std::string(1, '\0') + log_name)));
  return name;
}

Result<void> replace_private_file(Disk& disk, const Dir& folder, const std::string& name, std::string_view text,
                                  bool sync) {
  return write_whole_file(disk, folder, name, kPrivateFile, text, Disk::Existing::replace, sync);
}

Result<File> open_private_lines(Disk& disk, const Dir& folder, const std::string& name) {
  auto fd = disk.open_append(folder, name);
  if (!fd && fd.error().code == Errc::not_found) {
    const auto made = disk.create(folder, name, kPrivateFile);  // whose descriptor has a place of its own to write at
    RETURN_IF_ERROR(made || made.error().code == Errc::already_exists ? Result<void>() : Result<void>(made.error()));
    fd = disk.open_append(folder, name);
  }
  ASSIGN_OR_RETURN(auto opened, std::move(fd));
  return File::of(std::move(opened));
}

std::optional<FileStat> stat_if_at(const std::string& path, const File& file) {
  const auto named = Dir::stat_root(path);
  const auto opened = file.stat();
  return named && opened && named->same_file(*opened) ? std::optional(*opened) : std::nullopt;
}

Result<Dir> open_private_folder(const std::string& path) {
  ASSIGN_OR_RETURN(auto folder, Dir::open_root(path));
  ASSIGN_OR_RETURN(const auto st, folder.stat());
  return st.uid == ::geteuid() ? Result<Dir>(std::move(folder)) : of_another_user(path);
}

Result<Dir> make_private_folder(Disk& disk, const std::string& path, bool sync) {
  auto there = open_private_folder(path);
  if (there || there.error().code != Errc::not_found) {
    return there;
  }
  const std::filesystem::path whole(path);
  if (!whole.has_parent_path() || whole.parent_path() == whole) {
    return Error{Errc::not_found, "no folder " + path};
  }
  ASSIGN_OR_RETURN(const auto parent, folder_to_make_in(disk, whole.parent_path().string(), sync));
  RETURN_IF_ERROR(disk.make_folder(parent, whole.filename().string(), kPrivate));
  RETURN_IF_ERROR(sync ? disk.sync_folder(parent) : Result<void>());
  return parent.open_in(whole.filename().string());
}

Result<std::string> read_private_file(const Dir& folder, const std::string& name) {
  auto file = File::open_in(folder, name);
  const auto st = file ? file->stat() : Result<FileStat>(file.error());
  if (!st) {
    return st.error().code == Errc::not_found ? Result<std::string>(std::string()) : st.error();
  }
  if (st->size > kMostRead) {
    return Error{Errc::too_large, "the state file " + name + " is too large to have been written by arborfs"};
  }
  return file->read(0, st->size);
}

FolderLock::FolderLock(int fd, std::chrono::milliseconds patience) : fd_(fd) {
  const auto taken = wait_for_flock(fd_, patience);
  is_held_ = taken && *taken;
}

FolderLock::~FolderLock() {
  if (is_held_) {
    ::flock(fd_, LOCK_UN);
  }
}

}  // namespace arborfs
