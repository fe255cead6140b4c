#include "core/formats/opencode/write/diff_files.h"

#include "core/base/result_macros.h"
#include "core/os/file_tree.h"

namespace arborfs::opencode {
namespace {

std::string file_of(const std::string& session) {
  return session + ".json";
}

/// False if there is no such file, or if the session's id is not a valid file name. Errors: io, permission.
Result<bool> is_there(const Dir& folder, const std::string& name) {
  if (!is_plain_name(name)) {
    return false;
  }
  const auto st = folder.stat(name);
  return st || st.error().code == Errc::not_found ? Result<bool>(st.has_value()) : Result<bool>(st.error());
}

}  // namespace

Result<Dir> DiffFiles::open() const {
  ASSIGN_OR_RETURN(const auto storage, Dir::open_below_root(data_, "storage"));
  return storage.open_in("session_diff");
}

Result<Dir> DiffFiles::make() const {
  if (auto there = open(); there || there.error().code != Errc::not_found) {
    return there;
  }
  ASSIGN_OR_RETURN(auto folder, Dir::open_root(data_));
  for (const char* const name : {"storage", "session_diff"}) {
    RETURN_IF_ERROR(disk_.make_folder(folder, name, kFolderMode));
    RETURN_IF_ERROR(disk_.sync_folder(folder));
    ASSIGN_OR_RETURN(folder, folder.open_in(name));
  }
  return folder;
}

Result<void> DiffFiles::copy_to(const Dir& folder, const std::vector<std::string>& sessions) const {
  const auto from = open();
  if (!from) {
    return from.error().code == Errc::not_found ? Result<void>() : Result<void>(from.error());
  }
  for (const std::string& session : sessions) {
    const std::string name = file_of(session);
    ASSIGN_OR_RETURN(const bool has_file, is_there(*from, name));
    if (has_file) {
      RETURN_IF_ERROR(copy_tree(disk_, *from, name, folder, name));
    }
  }
  return {};
}

Result<void> DiffFiles::copy_back(const Dir& folder, const std::vector<std::string>& sessions) const {
  for (const std::string& session : sessions) {
    const std::string name = file_of(session);
    ASSIGN_OR_RETURN(const bool has_file, is_there(folder, name));
    if (!has_file) {
      continue;
    }
    ASSIGN_OR_RETURN(const auto to, make());
    ASSIGN_OR_RETURN(const bool is_taken, is_there(to, name));
    if (is_taken && !is_part_of(folder, to, name)) {
      return Error{Errc::already_exists,
                   "storage/session_diff/" + name + " exists with different content; move it away and try again"};
    }
    if (is_taken) {
      continue;
    }
    const std::string draft = "." + name + ".tmp";  // OpenCode leaves out names that begin with a dot
    RETURN_IF_ERROR(remove_tree(disk_, to, draft));
    RETURN_IF_ERROR(copy_tree(disk_, folder, name, to, draft));
    RETURN_IF_ERROR(disk_.rename(to, draft, to, name, Disk::Existing::keep));
    RETURN_IF_ERROR(disk_.sync_folder(to));
  }
  return {};
}

void DiffFiles::remove(const std::vector<std::string>& sessions) const {
  const auto from = open();
  for (const std::string& session : sessions) {
    if (const std::string name = file_of(session); from && is_plain_name(name)) {
      static_cast<void>(disk_.remove(*from, name));
    }
  }
}

}  // namespace arborfs::opencode
