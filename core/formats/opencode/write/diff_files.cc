#include "core/formats/opencode/write/diff_files.h"

#include "core/base/result_macros.h"
#include "core/os/file_tree.h"

namespace arborfs::opencode {
namespace {

std::string file_of(const std::string& session) {
  return session + ".json";
}

/// True if the session's id may name a file that is there.
bool is_there(const Dir& folder, const std::string& name) {
  return is_plain_name(name) && folder.stat(name).has_value();
}

}  // namespace

Result<Dir> DiffFiles::open() const {
  return Dir::open_root(data_ + "/storage/session_diff");
}

Result<void> DiffFiles::copy_to(const Dir& folder, const std::vector<std::string>& sessions) const {
  const auto from = open();
  for (const std::string& session : sessions) {
    if (const std::string name = file_of(session); from && is_there(*from, name)) {
      RETURN_IF_ERROR(copy_tree(disk_, *from, name, folder, name));
    }
  }
  return {};
}

Result<void> DiffFiles::copy_back(const Dir& folder, const std::vector<std::string>& sessions) const {
  const auto to = open();
  for (const std::string& session : sessions) {
    const std::string name = file_of(session);
    if (!to || !is_there(folder, name) || is_there(*to, name)) {
      continue;
    }
    const std::string draft = "." + name + ".tmp";  // OpenCode leaves out names that begin with a dot
    RETURN_IF_ERROR(remove_tree(disk_, *to, draft));
    RETURN_IF_ERROR(copy_tree(disk_, folder, name, *to, draft));
    RETURN_IF_ERROR(disk_.rename(*to, draft, *to, name, Disk::Existing::keep));
    RETURN_IF_ERROR(disk_.sync_folder(*to));
  }
  return {};
}

void DiffFiles::remove(const std::vector<std::string>& sessions) const {
  const auto from = open();
  for (const std::string& session : sessions) {
    if (const std::string name = file_of(session); from && is_there(*from, name)) {
      static_cast<void>(disk_.remove(*from, name));
    }
  }
}

}  // namespace arborfs::opencode
