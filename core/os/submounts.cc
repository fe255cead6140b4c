#include "core/os/submounts.h"

#include <sys/statvfs.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/words.h"

namespace arborfs {

namespace {

constexpr int kMountPointField = 4;
constexpr std::string_view kEndOfOptions = " - ";
/// Types of file systems, without what follows a dot. autofs waits for the one that it mounts.
const std::set<std::string_view> kServedElsewhere{
    "9p",   "afs",    "autofs", "beegfs", "ceph", "cifs",     "coda", "fuse",  "fuseblk", "gfs2",     "glusterfs",
    "gpfs", "lustre", "ncpfs",  "nfs",    "nfs4", "orangefs", "smb3", "smbfs", "vboxsf",  "virtiofs", "vmhgfs"};

std::string_view field(std::string_view line, int number) {
  for (; number > 0; --number) {
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  }
  return line.substr(0, line.find(' '));
}

/// mountinfo writes space, tab, newline and backslash as \ooo.
std::string unescaped(std::string_view text) {
  constexpr std::size_t kDigits = 3;
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const digits = text.data() + at + 1;
    if (text[at] == '\\' && at + kDigits < text.size() &&
        std::from_chars(digits, digits + kDigits, byte, 8).ptr == digits + kDigits) {
      out += static_cast<char>(byte);
      at += kDigits;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::string_view type_in(std::string_view line) {
  const std::size_t end = line.find(kEndOfOptions);
  return end == std::string_view::npos ? std::string_view() : field(line.substr(end + kEndOfOptions.size()), 0);
}

std::string own_mountinfo() {
  std::ifstream file("/proc/self/mountinfo", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::set<std::string> mounts_below(std::string_view mountinfo, const std::string& real_folder) {
  const std::string beginning = real_folder == "/" ? real_folder : real_folder + "/";
  std::set<std::string> names;
  while (!mountinfo.empty()) {
    const std::string_view line = take_line(mountinfo);
    const std::string point = line.empty() ? "" : unescaped(field(line, kMountPointField));
    if (point.size() > beginning.size() && point.starts_with(beginning)) {
      const std::string_view rest = std::string_view(point).substr(beginning.size());
      names.emplace(rest.substr(0, rest.find('/')));
    }
  }
  return names;
}

std::set<std::string> mounts_below(const std::string& folder) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(folder.c_str(), nullptr), &std::free);
  return real ? mounts_below(own_mountinfo(), real.get()) : std::set<std::string>();
}

std::set<std::string> mounts_served_elsewhere(std::string_view mountinfo) {
  std::set<std::string> points;
  while (!mountinfo.empty()) {
    const std::string_view line = take_line(mountinfo);
    const std::string_view type = type_in(line);
    const std::string point = type.empty() ? "" : unescaped(field(line, kMountPointField));
    points.erase(point);  // something is mounted over it
    if (kServedElsewhere.contains(type.substr(0, type.find('.'))) && point != "/") {
      points.insert(point);
    }
  }
  return points;
}

std::set<std::string> mounts_served_elsewhere() {
  return mounts_served_elsewhere(own_mountinfo());
}

std::set<std::string> mount_points_of(std::string_view mountinfo, std::string_view type) {
  std::set<std::string> points;
  while (!mountinfo.empty()) {
    const std::string_view line = take_line(mountinfo);
    if (type_in(line) == type) {
      points.insert(unescaped(field(line, kMountPointField)));
    }
  }
  return points;
}

std::set<std::string> mount_points_of(std::string_view type) {
  return mount_points_of(own_mountinfo(), type);
}

namespace {

/// No cache of the kernel answers statfs(2) for a network file system or a FUSE daemon.
bool ask(const std::string& folder) {
  struct statvfs space {};
  return ::statvfs(folder.c_str(), &space) == 0;
}

}  // namespace

std::set<std::string> FolderPulse::silent(const std::set<std::string>& folders) {
  std::vector<std::pair<std::string, std::shared_ptr<Beat>>> asked;
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& folder : folders) {
      auto& beat = beats_[folder];
      if (!beat) {
        beat = std::make_shared<Beat>([folder] { return ask(folder); }, kPatience, kFresh);
      }
      asked.emplace_back(folder, beat);
    }
  }
  for (const auto& [folder, beat] : asked) {
    beat->begin();
  }
  std::set<std::string> found;
  for (const auto& [folder, beat] : asked) {
    if (beat->now().is_late) {
      found.insert(folder);
    }
  }
  return found;
}

}  // namespace arborfs
