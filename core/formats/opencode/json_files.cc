#include "core/formats/opencode/json_files.h"

#include <dirent.h>

#include <algorithm>
#include <utility>

namespace arborfs::opencode {
namespace {

constexpr std::string_view kJsonSuffix = ".json";
constexpr const char* kParts = "part";

}  // namespace

bool is_json_name(std::string_view file) {
  return file.size() > kJsonSuffix.size() && file.front() != '.' && file.ends_with(kJsonSuffix);
}

std::vector<std::string> ids_among(const std::vector<DirEntry>& entries) {
  std::vector<std::string> ids;
  for (const DirEntry& entry : entries) {
    if ((entry.type == DT_REG || entry.type == DT_LNK) && is_json_name(entry.name)) {
      ids.emplace_back(id_in(entry.name));
    }
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::string_view id_in(std::string_view file) {
  return file.substr(0, file.size() - std::min(file.size(), kJsonSuffix.size()));
}

std::string file_of_id(std::string_view id) {
  return std::string(id) + std::string(kJsonSuffix);
}

JsonFiles::JsonFiles(Dir storage, const SessionName& session)
    : StoredFiles(std::move(storage), {"session/" + session.folder + "/" + file_of_id(session.id),
                                       "project/" + file_of_id(session.folder), "message/" + session.id, kParts,
                                       "todo/" + file_of_id(session.id), "session_diff/" + file_of_id(session.id)}),
      messages_("message/" + session.id) {}

/// A message's parts are in a folder named after its id, next to those of all other messages.
std::optional<std::vector<std::string>> JsonFiles::names_in(const std::string& folder) const {
  return folder == kParts ? ids_among(entries_of(messages_)) : StoredFiles::names_in(folder);
}

bool JsonFiles::shows(const std::string& folder, const std::string& name) const {
  return folder == kParts ? is_there(messages_ + "/" + file_of_id(name)) : StoredFiles::shows(folder, name);
}

}  // namespace arborfs::opencode
