#include "core/formats/goat/leftovers.h"

#include <iterator>
#include <set>
#include <utility>

#include "core/formats/goat/checkpoints.h"
#include "core/os/leftover_files.h"
#include "core/os/temp_file.h"
#include "core/os/work_folder.h"

namespace arborfs::goat {

std::vector<Finding> leftovers_in(const Dir& folder, const std::string& path, std::string_view what) {
  std::vector<Finding> found;
  for (const std::string& name : leftovers_of_writers(folder)) {
    const std::string text = is_removed_name(name) ? " is a file that an unfinished rewind was about to remove"
                                                   : " is what an unfinished " + std::string(what) + " by arborfs left";
    found.push_back({"leftover_temporary", path + "/" + name + text});
    found.back().leftover = path + "/" + name;
  }
  return found;
}

std::vector<Finding> leftovers_of_rewinds(const Dir& session, const std::string& cwd, const FileStat& base) {
  std::vector<Finding> found;
  const auto checkpoints = list_checkpoints(session);
  auto work = checkpoints && !checkpoints->empty() ? WorkFolder::open(cwd) : Result<WorkFolder>(Errc::not_found, "");
  if (!work || !work->keep_out(base)) {
    return found;
  }
  std::set<std::string> seen;
  for (const Checkpoint& checkpoint : *checkpoints) {
    for (const CheckpointFile& file : checkpoint.files) {
      const auto parts = work->parts_of(file.path);
      std::string path = cwd;
      for (std::size_t i = 0; parts && i + 1 < parts->size(); ++i) {
        path += "/" + (*parts)[i];
      }
      const auto folder =
          parts && seen.insert(path).second ? work->folder_of(*parts) : Result<Dir>(Errc::not_found, "");
      auto left = folder ? leftovers_in(*folder, path, "rewind") : std::vector<Finding>();
      std::move(left.begin(), left.end(), std::back_inserter(found));
    }
  }
  return found;
}

}  // namespace arborfs::goat
