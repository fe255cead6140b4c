// Takes back what a writer did last, and compares a store with what it was before. For the tests of undo of each agent.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "core/formats/registry.h"
#include "core/write/undo.h"

namespace arborfs::testing {

using StoreFiles = std::map<std::string, std::string>;  // bytes, by path

/// The files below a folder. Locks and empty files are left out: an agent's lock makes some.
inline StoreFiles files_below(const std::string& folder) {
  StoreFiles found;
  if (!std::filesystem::exists(folder)) {
    return found;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes = entry.is_regular_file() ? std::string(std::istreambuf_iterator<char>(in), {}) : "";
    if (!bytes.empty() && entry.path().extension() != ".lock") {
      found[entry.path().string()] = std::move(bytes);
    }
  }
  return found;
}

inline bool has_operation(Writer& writer) {
  return find_operation(writer.catalog().operations(), "").has_value();
}

inline Result<std::string> undo_last(Writer& writer, Disk& disk = Disk::real(), bool force = false) {
  const auto last = find_operation(writer.catalog().operations(), "");
  if (!last) {
    return last.error();
  }
  auto done = undo(
      writer, *last,
      [&](const Trashed& trashed) {
        return restore_session(writer.settings().trash, trashed, writer.catalog().stores(), disk);
      },
      force);
  writer.catalog().rescan();
  return done;
}

}  // namespace arborfs::testing
