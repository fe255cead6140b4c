#include "fs/fuse/fuse_reply.h"

#include <sys/stat.h>
#include <unistd.h>

namespace arborfs {

namespace {

constexpr double kMoment = 0.7;
constexpr double kForeverSeconds = 1e9;
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::uint64_t kStatBlock = 512;

mode_t mode_of(const Attr& attr) {
  switch (attr.type) {
    case FileType::directory:
      return S_IFDIR | 0700;
    case FileType::symlink:
      return S_IFLNK | 0777;
    case FileType::file:
      break;
  }
  return S_IFREG | (attr.writable ? 0600 : 0400);
}

timespec time_of(std::int64_t ns) {
  std::int64_t seconds = ns / kNanosPerSecond;
  std::int64_t rest = ns % kNanosPerSecond;
  if (rest < 0) {
    rest += kNanosPerSecond;
    --seconds;
  }
  return {static_cast<time_t>(seconds), static_cast<long>(rest)};
}

}  // namespace

double seconds_of(CacheTtl life) {
  switch (life) {
    case CacheTtl::glance:
      return 0;
    case CacheTtl::moment:
      return kMoment;
    case CacheTtl::forever:
      break;
  }
  return kForeverSeconds;
}

struct stat stat_of(const Attr& attr) {
  // The ids of this process never change, and a listing may have very many files.
  static const uid_t owner = ::getuid();
  static const gid_t group = ::getgid();
  struct stat st {};
  st.st_ino = attr.ino;
  st.st_mode = mode_of(attr);
  st.st_nlink = attr.type == FileType::directory ? 2 : 1;
  st.st_uid = owner;
  st.st_gid = group;
  st.st_size = static_cast<off_t>(attr.size);
  st.st_blocks = static_cast<blkcnt_t>((attr.size + kStatBlock - 1) / kStatBlock);
  st.st_mtim = time_of(attr.mtime_ns);
  st.st_atim = st.st_mtim;
  st.st_ctim = st.st_mtim;
  return st;
}

fuse_entry_param entry_of(const Found& found) {
  fuse_entry_param entry{};
  entry.ino = found.attr.node.value();
  entry.attr = stat_of(found.attr);
  entry.attr_timeout = seconds_of(found.attr.life);
  entry.entry_timeout = seconds_of(found.name_life);
  return entry;
}

fuse_entry_param no_entry() {
  fuse_entry_param entry{};
  entry.entry_timeout = kForeverSeconds;
  return entry;
}

bool DirBuffer::add(const DirectoryItem& item) {
  name_.assign(item.name);
  char* const at = bytes_.data() + used_;
  const std::size_t room = bytes_.size() - used_;
  const auto next = static_cast<off_t>(item.next);
  std::size_t needed = 0;
  if (with_attributes_) {
    fuse_entry_param entry = entry_of({item.attr, item.name_life});
    if (!item.is_complete) {
      entry.ino = 0;  // only a name and its type; the kernel asks for the rest when it needs it
    }
    needed = fuse_add_direntry_plus(nullptr, at, room, name_.c_str(), &entry, next);
  } else {
    const struct stat st = stat_of(item.attr);
    needed = fuse_add_direntry(nullptr, at, room, name_.c_str(), &st, next);
  }
  if (needed > room) {
    return false;
  }
  used_ += needed;
  last_ = item.attr.node;
  return true;
}

}  // namespace arborfs
