#include "core/formats/opencode/write/session_files.h"

#include <sys/stat.h>

#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/json_files.h"
#include "core/formats/opencode/json_texts.h"

namespace arborfs::opencode {
namespace {

class FilesOfSessions {
 public:
  explicit FilesOfSessions(const StorageFolder& storage) : storage_(storage), folders_(storage) {}

  Result<std::vector<StoredFile>> find(const std::vector<SessionName>& sessions) && {
    for (const SessionName& session : sessions) {
      RETURN_IF_ERROR(add("project", "", file_of_id(session.folder)));
      ASSIGN_OR_RETURN(const auto messages, all_ids_in(storage_.folder("message", session.id)));
      for (const std::string& message : messages) {
        RETURN_IF_ERROR(add_all("part", message));
      }
      RETURN_IF_ERROR(add_all("message", session.id));
      for (const char* kind : {"todo", "session_diff", "session_share"}) {
        RETURN_IF_ERROR(add(kind, "", file_of_id(session.id)));
      }
      RETURN_IF_ERROR(add("session", session.folder, file_of_id(session.id)));
    }
    return std::move(found_);
  }

 private:
  Result<void> add(const std::string& kind, const std::string& folder, const std::string& name) {
    const auto dir = is_plain_name(name) ? folders_.of(kind, folder) : Result<const Dir*>(Errc::not_found, "");
    const auto st = dir ? (*dir)->stat(name) : Result<FileStat>(dir.error());
    if (st && (st->mode & S_IFMT) == S_IFREG) {
      found_.push_back({kind, folder, name, *st});
    }
    return st || st.error().code == Errc::not_found ? Result<void>() : Result<void>(st.error());
  }
  Result<void> add_all(const std::string& kind, const std::string& folder) {
    const auto dir = folders_.of(kind, folder);
    const auto entries = dir ? (*dir)->list() : Result<std::vector<DirEntry>>(dir.error());
    if (!entries) {
      return entries.error().code == Errc::not_found ? Result<void>() : Result<void>(entries.error());
    }
    for (const DirEntry& entry : *entries) {
      RETURN_IF_ERROR(add(kind, folder, entry.name));
    }
    return {};
  }

  const StorageFolder& storage_;
  LastFolder folders_;
  std::vector<StoredFile> found_;
};

}  // namespace

Result<const Dir*> LastFolder::of(const std::string& kind, const std::string& name) {
  if (!dir_ || kind != kind_ || name != name_) {
    forget();
    ASSIGN_OR_RETURN(auto dir, storage_.folder(kind, name));
    dir_.emplace(std::move(dir));
    kind_ = kind;
    name_ = name;
  }
  return &*dir_;
}

Result<std::vector<StoredFile>> files_of(const StorageFolder& storage, const std::vector<SessionName>& sessions) {
  return FilesOfSessions(storage).find(sessions);
}

Error other_file_exists(const std::string& kind, const std::string& folder, const std::string& name) {
  return {Errc::already_exists, kind + "/" + folder + (folder.empty() ? "" : "/") + name +
                                    " exists with different content; move it away and try again"};
}

Error other_session_exists(const std::string& name) {
  return {Errc::already_exists, "OpenCode already has the session " + name};
}

}  // namespace arborfs::opencode
