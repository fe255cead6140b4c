#include "core/env/state_dir.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace arborfs {

namespace {

constexpr mode_t kPrivate = 0700;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string base_path(const char* name, const char* below_home, const std::string& below) {
  std::string base = variable(name);
  if (base.empty()) {
    base = variable("HOME") + below_home;
  }
  return base + "/arborfs/" + below;
}

Error of_another_user(const std::string& path) {
  return {Errc::permission, path + " belongs to another user"};
}

/// The folder, made if need be; it may be root's.
Result<Dir> folder_to_make_in(Disk& disk, const std::string& path) {
  auto there = Dir::open_root(path);
  if (!there) {
    return there.error().code == Errc::not_found ? make_private_folder(disk, path) : std::move(there);
  }
  const auto st = there->stat();
  if (!st) {
    return st.error();
  }
  return st->uid == ::geteuid() || st->uid == 0 ? std::move(there) : Result<Dir>(of_another_user(path));
}

}  // namespace

std::string state_path(const std::string& below) {
  return base_path("XDG_STATE_HOME", "/.local/state", below);
}

std::string data_path(const std::string& below) {
  return base_path("XDG_DATA_HOME", "/.local/share", below);
}

Result<Dir> open_private_folder(const std::string& path) {
  auto folder = Dir::open_root(path);
  const auto st = folder ? folder->stat() : Result<FileStat>(folder.error());
  if (!st) {
    return st.error();
  }
  return st->uid == ::geteuid() ? std::move(folder) : Result<Dir>(of_another_user(path));
}

Result<Dir> make_private_folder(Disk& disk, const std::string& path) {
  auto there = open_private_folder(path);
  if (there || there.error().code != Errc::not_found) {
    return there;
  }
  const std::filesystem::path whole(path);
  if (!whole.has_parent_path() || whole.parent_path() == whole) {
    return Error{Errc::not_found, "no folder " + path};
  }
  auto parent = folder_to_make_in(disk, whole.parent_path().string());
  if (!parent) {
    return parent;
  }
  if (auto made = disk.make_folder(*parent, whole.filename().string(), kPrivate); !made) {
    return made.error();
  }
  return parent->open_in(whole.filename().string());
}

}  // namespace arborfs
