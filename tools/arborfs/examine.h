// What is wrong with sessions and with the folders around them, in plain words. Only looks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/catalog.h"

namespace arborfs::cli {

/// One thing that is not as it should be.
struct Finding {
  std::string_view kind;  // "torn_tail"; the list stands in arborfs.1
  std::string text;       // in words, fit to be shown
  std::optional<std::uint64_t> offset;
  std::uint64_t length = 0;
  Ordinal entry = kNoEntry;  // the one it is about, or the one before it
};

/// Reads the session and everything that it refers to. An unreadable log is a finding too.
std::vector<Finding> examine_session(Session& session, const Catalog& catalog);

/// A file beside the logs that an agent left behind.
struct Leftover {
  LogPlace place;  // its own folder and name
  std::string log_file;
  Finding finding;
};
/// Backups, temporary files and locks without an owner in all folders of a store. What may still be in use is left
/// out: locks of running processes, files younger than a few seconds.
std::vector<Leftover> examine_folders(const SessionStore& store);

}  // namespace arborfs::cli
