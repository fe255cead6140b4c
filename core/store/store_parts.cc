#include "core/store/store_parts.h"

namespace arborfs {

Result<Dir> artifacts_of(const Store& store, const LogPlace& place) {
  const auto* const part = part_of<HasArtifacts>(store);
  return part != nullptr ? part->artifacts(place)
                         : Result<Dir>(Errc::not_found, "this agent keeps no files next to a session");
}

Result<ShownFilesPtr> checkpoints_of(const Store& store, const LogPlace& place) {
  const auto* const part = part_of<HasCheckpoints>(store);
  return part != nullptr ? part->checkpoints(place)
                         : Result<ShownFilesPtr>(Errc::not_found, "the session has no checkpoints");
}

Result<ShownFilesPtr> native_files_of(const Store& store, const LogPlace& place) {
  const auto* const part = part_of<HasNativeFiles>(store);
  return part != nullptr ? part->native_files(place)
                         : Result<ShownFilesPtr>(Errc::not_found, "the log is all that the agent keeps of the session");
}

std::vector<Breadcrumb> breadcrumbs_of(const Store& store) {
  const auto* const part = part_of<HasBreadcrumbs>(store);
  return part != nullptr ? part->breadcrumbs() : std::vector<Breadcrumb>();
}

bool is_marked(const Store& store, const LogPlace& place, Mark mark) {
  const auto* const part = part_of<HasMarks>(store);
  return part != nullptr && part->is_marked(place, mark);
}

std::vector<FileFinding> faults_of(const Store& store) {
  const auto* const part = part_of<HasFaults>(store);
  return part != nullptr ? part->faults() : std::vector<FileFinding>();
}

std::vector<Finding> faults_of(const Store& store, const LogPlace& place) {
  const auto* const part = part_of<HasFaults>(store);
  return part != nullptr ? part->faults_of(place) : std::vector<Finding>();
}

}  // namespace arborfs
