// Projects that were moved without their sessions: working directories that are gone, while a folder of the same name
// is elsewhere. Looks at folders of the user, so it may take long. Changes nothing. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/session/catalog_view.h"

namespace arborfs {

struct GoneFolder {
  std::string path;
  std::size_t sessions = 0;  // that were started there or below
  std::vector<std::string>
      namesakes;  // folders of its name that have, below them, all that the sessions were started in
};

/// Those that have namesakes, in byte order. These are looked for where other sessions were started and above, below
/// `home`, and near the place that is gone: a few levels deep, without hidden folders and links. Without sessions whose
/// logs are among the files of another session.
std::vector<GoneFolder> find_gone_folders(const CatalogView& view, const std::string& home);

}  // namespace arborfs
