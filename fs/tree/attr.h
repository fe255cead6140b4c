// A file's attributes as the mount reports them, and how long the kernel may cache them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/tree/node_id.h"

namespace arborfs {

enum class FileType : std::uint8_t { directory, file, symlink };

/// How long the kernel may cache an answer. `moment` is less than a second, so that everything is correct within a
/// second even if no invalidation ever reaches the kernel (CONTRACT.md 3.4). `glance` means no caching: for files that
/// other programs may be writing in place, whose size must be correct at every open.
enum class CacheTtl : std::uint8_t { glance, moment, forever };

struct Attr {
  NodeId node;
  std::uint64_t ino = 0;  // st_ino: the same after a remount, unlike the node
  FileType type = FileType::file;
  CacheTtl life = CacheTtl::moment;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  bool writable = false;  // by its owner
};

/// The node that a name leads to.
struct Child {
  NodeId node;
  CacheTtl name_life = CacheTtl::moment;
  std::optional<Attr> attr = std::nullopt;  // if the lookup knows them already
};

/// The result of a lookup.
struct Found {
  Attr attr;
  CacheTtl name_life = CacheTtl::moment;
};

inline Attr directory_attr(NodeId node, std::uint64_t ino, std::int64_t mtime_ns) {
  return {node, ino, FileType::directory, CacheTtl::moment, 0, mtime_ns};
}

inline Attr symlink_attr(NodeId node, std::uint64_t ino, CacheTtl life, const std::string& target,
                         std::int64_t mtime_ns) {
  return {node, ino, FileType::symlink, life, target.size(), mtime_ns};
}

}  // namespace arborfs
