#include "core/env/state_dir.h"

#include <sys/stat.h>

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

}  // namespace

std::string state_path(const std::string& below) {
  return base_path("XDG_STATE_HOME", "/.local/state", below);
}

std::string data_path(const std::string& below) {
  return base_path("XDG_DATA_HOME", "/.local/share", below);
}

Result<Dir> make_private_folder(Disk& disk, const std::string& path, bool sync) {
  const std::filesystem::path whole(path);
  if (auto there = Dir::open_root(path)) {
    return there;
  }
  if (!whole.has_parent_path() || whole.parent_path() == whole) {
    return Error{Errc::not_found, "no folder " + path};
  }
  auto parent = make_private_folder(disk, whole.parent_path().string(), sync);
  if (!parent) {
    return parent;
  }
  if (auto made = disk.make_folder(*parent, whole.filename().string(), kPrivate); !made) {
    return made.error();
  }
  if (auto synced = sync ? disk.sync_folder(*parent) : Result<void>(); !synced) {
    return synced.error();
  }
  return parent->open_in(whole.filename().string());
}

}  // namespace arborfs
