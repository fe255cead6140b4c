// What is answered about a file: its attributes, and how long the kernel may go on believing them.
#pragma once

#include <cstdint>
#include <string>

#include "fs/tree/node_id.h"

namespace arborfs {

enum class FileType : std::uint8_t { directory, file, symlink };

/// How long an answer holds without asking again. `moment` is under a second, so that everything is right within a
/// second even if the kernel is never told of a change (CONTRACT.md 3.4). `glance` is not at all: for files that others
/// may be writing in place, whose size must be right whenever they are opened.
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

/// A name's node, before its attributes are asked for.
struct Child {
  NodeId node;
  CacheTtl name_life = CacheTtl::moment;
};

/// The answer to a lookup.
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
