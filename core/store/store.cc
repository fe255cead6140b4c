#include "core/store/store.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/log/log_file.h"
#include "core/log/log_reader.h"

namespace arborfs {

std::string folder_path(const std::string& sessions, const std::string& folder) {
  return folder == kSessionsItself ? sessions : sessions + "/" + folder;
}

Result<FileStat> Store::stat(const LogPlace& place, const Dir* in) const {
  if (in != nullptr) {
    return stat_log(*in, place.file);
  }
  ASSIGN_OR_RETURN(const auto dir, folder(place));
  return stat_log(dir, place.file);
}

Result<std::shared_ptr<const LogSource>> Store::open(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto dir, folder(place));
  auto reopen = [this, place]() -> Result<File> {
    ASSIGN_OR_RETURN(const auto again, folder(place));
    return File::follow_in(again, place.file);
  };
  return LogFile::open(dir, place.file, std::move(reopen), place.folder);
}

Result<Header> Store::header(const LogPlace& place) const {
  ASSIGN_OR_RETURN(const auto log, open(place));
  return format_of(place).reader->read_header(*log);
}

bool Store::is_link(const LogPlace& place) const {
  std::error_code none;
  return is_log_name(place.file) && std::filesystem::is_symlink(path_of(place), none);
}

std::string Store::path_of(const LogPlace& place) const {
  return folder_path(paths_.sessions, place.folder) + "/" + place.file;
}

Result<File> Store::open_file(const Dir& in, const LogPlace& place) const {
  return File::follow_in(in, place.file);
}

std::vector<WatchedDir> Store::watched() const {
  std::vector<WatchedDir> dirs;
  if (auto listed = folders()) {
    for (std::string& name : *listed) {
      std::string path = folder_path(paths_.sessions, name);
      dirs.push_back({std::move(path), std::move(name), false});
    }
  }
  return dirs;
}

Result<void> check_no_link(const Store& store, const LogPlace& place) {
  if (!store.is_link(place)) {
    return {};
  }
  return Error{Errc::unsupported,
               "the session is a symbolic link, through which arborfs only reads; put the log in the link's place, or "
               "name the store that holds the log with --store"};
}

Result<FileStat> stat_log(const Dir& folder, const std::string& file) {
  auto st = folder.stat_end(file);
  if (st && !S_ISREG(st->mode)) {
    return Error{Errc::corrupt, "not a regular file"};
  }
  return st;
}

}  // namespace arborfs
