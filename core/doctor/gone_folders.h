// Projects that were moved without their sessions: working directories that are gone, while a folder of the same name,
// or one with the files that the sessions worked on, is elsewhere. Looks at folders of the user, and reads sessions
// that have lost theirs, so it may take long. Changes nothing. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/session/catalog_view.h"

namespace arborfs {

struct GoneFolder {
  std::string path;
  std::size_t sessions = 0;         // that were started there or below
  std::vector<std::string> places;  // where it may be now
};

/// Those that may be elsewhere, in byte order. A place is a folder of the same name that has, below it, all that the
/// sessions were started in; without one, the folders beside the one that is gone, and those where other sessions were
/// started, that have most of the files, and three or more, that its newest sessions read or wrote. Namesakes are
/// looked for where other sessions were started and above, below `home`, and near the place that is gone: a few levels
/// deep, without hidden folders, links and mounts that may hang. Without sessions whose logs are among the files of
/// another session.
std::vector<GoneFolder> find_gone_folders(const CatalogView& view, const std::string& home);

}  // namespace arborfs
