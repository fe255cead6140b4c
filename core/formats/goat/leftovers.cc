#include "core/formats/goat/leftovers.h"

#include "core/base/clock.h"

namespace arborfs::goat {
namespace {

constexpr std::string_view kBefore = ".arborfs-";
constexpr std::string_view kAfter = ".tmp";
constexpr std::int64_t kMaybeInUseNs = 60'000'000'000;

}  // namespace

std::string temporary_name(std::string_view unique) {
  return std::string(kBefore) + std::string(unique) + std::string(kAfter);
}

bool is_temporary(std::string_view name) {
  return name.starts_with(kBefore) && name.ends_with(kAfter);
}

std::vector<std::string> leftovers_in(const Dir& folder) {
  std::vector<std::string> found;
  const auto entries = folder.list();
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const auto st = is_temporary(entry.name) ? folder.stat(entry.name) : Result<FileStat>(Errc::not_found, "");
    if (st && now_ns() - st->mtime_ns > kMaybeInUseNs) {
      found.push_back(entry.name);
    }
  }
  return found;
}

}  // namespace arborfs::goat
