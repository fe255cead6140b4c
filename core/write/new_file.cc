#include "core/write/new_file.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/os/temp_file.h"

namespace arborfs {

namespace {

using UuidBytes = std::array<unsigned char, 16>;

Result<UuidBytes> random_bytes() {
  UuidBytes bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{Errc::io, "the system provides no random numbers"};
  }
  return bytes;
}

/// The text of a UUID with these bytes, apart from those that say its version and variant.
std::string uuid_of(UuidBytes bytes, unsigned version) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | version << 4U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
  std::string uuid;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    uuid += i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    uuid += kDigits[bytes[i] >> 4U];
    uuid += kDigits[bytes[i] & 15U];
  }
  return uuid;
}

/// Of version 7.
std::string uuid_with_time(UuidBytes bytes, std::int64_t time_ms) {
  constexpr std::size_t kTimeBytes = 6;
  for (std::size_t i = 0; i < kTimeBytes; ++i) {
    bytes[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(time_ms) >> 8 * (kTimeBytes - 1 - i));
  }
  return uuid_of(bytes, 7);
}

}  // namespace

Result<Dir> make_folders(Disk& disk, const std::string& root, const std::vector<std::string>& parts, mode_t mode,
                         bool sync) {
  ASSIGN_OR_RETURN(auto at, Dir::open_root(root));
  for (const std::string& part : parts) {
    auto next = at.open_in(part);
    if (!next && next.error().code == Errc::not_found) {
      RETURN_IF_ERROR(disk.make_folder(at, part, mode));
      RETURN_IF_ERROR(sync ? disk.sync_folder(at) : Result<void>());
      next = at.open_in(part);
    }
    if (!next) {
      return next.error();
    }
    at = *std::move(next);
  }
  return at;
}

mode_t permissions_of(const Session& session) {
  namespace fs = std::filesystem;
  const Store& store = session.store();
  const fs::path agent_dir = store.paths().agent_dir;
  const auto file = store.stat(session.place());
  mode_t found = file ? file->mode & kAnyPermissions : 0;
  fs::path folder = fs::path(store.path_of(session.place())).parent_path();
  for (bool is_last = false; !is_last && folder != folder.parent_path(); folder = folder.parent_path()) {
    is_last = folder == agent_dir;
    const auto st = Dir::stat_root(folder.string());
    found &= st && (st->mode & S_IXGRP) != 0 ? kAnyPermissions : ~static_cast<mode_t>(S_IRWXG);
    found &= st && (st->mode & S_IXOTH) != 0 ? kAnyPermissions : ~static_cast<mode_t>(S_IRWXO);
  }
  return found | S_IRWXU;
}

void remove_leftovers(Disk& disk, const Dir& folder, const std::function<bool(std::string_view)>& is_ours) {
  for (const std::string& name : leftover_files(folder, is_ours)) {
    const auto seen = folder.stat(name);
    if (seen && now_ns() - seen->mtime_ns > kMaybeInUseNs) {
      static_cast<void>(disk.remove(folder, name));
    }
  }
}

Result<std::string> new_uuid() {
  ASSIGN_OR_RETURN(auto bytes, random_bytes());
  return uuid_of(bytes, 4);
}

std::string uuid_of_time(std::int64_t time_ms, std::string_view content) {
  const std::array<std::uint64_t, 2> hashes{xxh64(content), xxh64(std::string(content) + "\n")};
  UuidBytes bytes{};
  std::memcpy(bytes.data(), hashes.data(), bytes.size());
  return uuid_with_time(bytes, time_ms);
}

Result<std::string> new_uuid_of_time(std::int64_t time_ms) {
  ASSIGN_OR_RETURN(const auto bytes, random_bytes());
  return uuid_with_time(bytes, time_ms);
}

}  // namespace arborfs
