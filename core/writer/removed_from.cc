#include "core/writer/removed_from.h"

#include <algorithm>
#include <string_view>

#include "core/os/state_dir.h"

namespace arborfs {
namespace {

constexpr const char* kFile = "removed-from";
constexpr std::size_t kMost = 100;

std::string line_of(const RemovedFrom& from) {
  return from.agent + " " + from.dir + "\n";
}

}  // namespace

std::vector<RemovedFrom> removed_from() {
  std::vector<RemovedFrom> found;
  const auto folder = open_private_folder(state_path(""));
  const auto text = folder ? read_private_file(*folder, kFile) : Result<std::string>(folder.error());
  std::string_view rest = text ? std::string_view(*text) : std::string_view();
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos && found.size() < kMost;
       end = rest.find('\n')) {
    const std::string_view line = rest.substr(0, end);
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && line.substr(space + 1).starts_with('/')) {
      found.push_back({std::string(line.substr(0, space)), std::string(line.substr(space + 1))});
    }
    rest.remove_prefix(end + 1);
  }
  return found;
}

void note_removed_from(const SessionStore& store) {
  const RemovedFrom noted{std::string(store.format().agent), store.paths().agent_dir};
  const auto all = removed_from();
  const bool is_known = std::any_of(
      all.begin(), all.end(), [&](const RemovedFrom& one) { return one.agent == noted.agent && one.dir == noted.dir; });
  if (is_known || !noted.dir.starts_with('/') || noted.dir.find('\n') != std::string::npos) {
    return;
  }
  std::string text = line_of(noted);
  for (std::size_t i = 0; i < all.size() && i + 1 < kMost; ++i) {
    text += line_of(all[i]);
  }
  Disk& disk = Disk::real();
  if (const auto folder = make_private_folder(disk, state_path(""))) {
    static_cast<void>(replace_private_file(disk, *folder, kFile, text));
  }
}

}  // namespace arborfs
