// The files of one session in OpenCode's JSON store, in a tree as they are there (opencode/FORMAT.md F1). Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/formats/opencode/session_archive.h"
#include "core/store/stored_files.h"

namespace arborfs::opencode {

/// Parts of removed messages, which remain on disk, are left out.
class JsonFiles final : public StoredFiles {
 public:
  /// `storage` is the folder of the store.
  JsonFiles(Dir storage, const SessionName& session);

 protected:
  [[nodiscard]] std::optional<std::vector<std::string>> names_in(const std::string& folder) const override;
  [[nodiscard]] bool shows(const std::string& folder, const std::string& name) const override;

 private:
  const std::string messages_;  // the folder of the session's messages
};

/// True for `<id>.json`, except for dot files.
bool is_json_name(std::string_view file);
/// The id in such a name.
std::string_view id_in(std::string_view file);
/// The ids of such files, and of links of such names, among the entries of a folder, in byte order.
std::vector<std::string> ids_among(const std::vector<DirEntry>& entries);
/// `<id>.json`
std::string file_of_id(std::string_view id);

}  // namespace arborfs::opencode
