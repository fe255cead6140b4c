#include "core/formats/codex/new_segment.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/words.h"
#include "core/os/links.h"
#include "core/os/temp_file.h"
#include "core/write/new_file.h"

namespace arborfs::codex {
namespace {

constexpr mode_t kFolderMode = 0755;  // less the umask
constexpr mode_t kFileMode = 0600;
constexpr std::size_t kLongestSettings = std::size_t{1} << 20U;

}  // namespace

/// A folder of rollouts may be a link.
Result<Dir> make_folder(Disk& disk, const std::string& home, const std::string& folder, bool sync) {
  const std::vector<std::string> parts = path_components(folder);
  const std::string root = home + "/" + parts.front();
  if (!Dir::open_root(root)) {
    RETURN_IF_ERROR(make_folders(disk, home, {parts.front()}, kFolderMode, sync));
  }
  return make_folders(disk, root, {parts.begin() + 1, parts.end()}, kFolderMode, sync);
}

std::string folder_of_day(std::string_view time) {
  std::string folder = "sessions/" + std::string(time.substr(0, time.find('T')));
  std::replace(folder.begin(), folder.end(), '-', '/');
  return folder;
}

Result<NewSegment> write_segment(const ThreadStore& store, const std::string& thread, const std::string& segment,
                                 std::int64_t time_ms, mode_t permissions, std::string_view lines, bool sync) {
  Disk& disk = store.disk();
  const std::string& home = store.paths().agent_dir;
  const std::string time = local_time(time_ms, "%Y-%m-%dT%H-%M-%S");
  const std::string name = "rollout-" + time + "-" + thread + (segment.empty() ? "" : "_" + segment) + ".jsonl";
  ASSIGN_OR_RETURN(auto folder, make_folder(disk, home, folder_of_day(time), sync));
  ASSIGN_OR_RETURN(const auto outside, Dir::open_root(home));
  ASSIGN_OR_RETURN(const auto draft, TempFile::create(disk, outside, kFileMode & permissions));
  RETURN_IF_ERROR(draft->write(lines));
  RETURN_IF_ERROR(draft->finish(sync));
  RETURN_IF_ERROR(draft->publish(folder, name, Disk::Existing::keep));
  auto synced = sync ? disk.sync_folder(folder) : Result<void>();
  std::string path = home + "/" + folder_of_day(time) + "/" + name;
  return NewSegment{std::move(folder), name, std::move(path), std::move(synced)};
}

/// The value of a line `model_provider = "..."` before the first table. Nothing else of the settings is looked at.
std::string model_provider(const std::string& home) {
  constexpr std::string_view kKey = "model_provider";
  const auto folder = Dir::open_root(home);
  const auto file = folder ? File::follow_in(*folder, "config.toml") : Result<File>(folder.error());
  const auto text = file ? file->read(0, kLongestSettings) : Result<std::string>(file.error());
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  while (!rest.empty()) {
    std::string_view line = stripped(take_line(rest));
    if (line.starts_with('[')) {
      break;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || stripped(line.substr(0, equals)) != kKey) {
      continue;
    }
    line = stripped(line.substr(equals + 1));
    const std::size_t close = line.empty() ? std::string_view::npos : line.find(line.front(), 1);
    if ((line.starts_with('"') || line.starts_with('\'')) && close != std::string_view::npos && close > 1) {
      return std::string(line.substr(1, close - 1));
    }
  }
  return "openai";
}

}  // namespace arborfs::codex
