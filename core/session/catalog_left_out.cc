// What the stores hold under the names of logs and that is no session: files with second names, and the reasons that
// listings gave.
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/session/catalog_known.h"

namespace arborfs {
namespace {

constexpr std::string_view kSecondName = "another name of a session's log";

/// A file, whatever its names are.
struct FileOfStore {
  std::uint8_t store = 0;
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  bool operator==(const FileOfStore&) const = default;
};

struct HashOfFile {
  std::size_t operator()(const FileOfStore& file) const { return file.ino * 31 + file.dev + file.store; }
};

FileOfStore file_of(std::uint8_t store, const FileStat& st) {
  return {store, st.dev, st.ino};
}

}  // namespace

/// The caller holds mutex_.
void Catalog::forget_left_out(const LogFolder& folder) {
  const auto is_in = [&folder](const LogPlace& place) { return place.in() == folder; };
  const LogPlace first{folder.name, "", folder.store};
  auto& left_out = known_->left_out;
  for (auto at = left_out.lower_bound(first); at != left_out.end() && is_in(at->first);) {
    at = left_out.erase(at);
  }
  auto& linked = known_->linked;
  for (auto at = linked.lower_bound(first); at != linked.end() && is_in(*at);) {
    at = linked.erase(at);
  }
}

/// A folder whose logs cannot be listed. Its known sessions stay.
void Catalog::leave_out(const LogFolder& folder, const Error& error) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    std::string& reason = known_->left_out[LogPlace{folder.name, "", folder.store}];
    is_new = reason != error.message;
    reason = error.message;
  }
  if (is_new) {
    note_error("folder " + folder.name + ": " + error.message);
  }
}

/// Folders that a scan of all did not find any more, or of `only` this store. Submounts are scanned on their own.
void Catalog::forget_other_folders(const std::set<LogFolder>& folders, std::optional<std::uint8_t> only) {
  const std::lock_guard lock(mutex_);
  const auto& submounts = known_->submounts;
  const auto is_other = [&](const LogPlace& place) {
    const bool is_scanned_here =
        only ? place.store == *only : !submounts.contains({place.store, std::string(kWholeStore)});
    return is_scanned_here && !folders.contains(place.in()) && !submounts.contains(place.in());
  };
  std::erase_if(known_->left_out, [&](const auto& row) { return is_other(row.first); });
  std::erase_if(known_->linked, is_other);
}

/// A file with several names is one session: under a name to which no link leads if it has one, else under the first in
/// the order of places. A known session gives way to a better name: it moves there.
void Catalog::leave_out_second_names(Placing& placing) {
  if (placing.appeared.empty()) {
    return;
  }
  std::unordered_map<FileOfStore, SessionPtr, HashOfFile> known;
  for (const auto& session : all_sessions()) {
    if (std::find(placing.missing.begin(), placing.missing.end(), session) == placing.missing.end()) {
      known.emplace(file_of(session->store_number(), session->stat()), session);
    }
  }
  placing.put_linked_last();
  std::unordered_set<FileOfStore, HashOfFile> appeared;
  for (auto log = placing.appeared.begin(); log != placing.appeared.end();) {
    const FileOfStore file = file_of(log->place.store, log->stat);
    bool is_second = log->stat.ino != 0 && !appeared.insert(file).second;
    const auto first = known.find(file);
    if (!is_second && log->stat.ino != 0 && first != known.end() && is_still(*first->second, log->stat)) {
      is_second = !gives_way(*first->second, *log);
      if (!is_second) {
        give_way(first->second, placing);
      }
    }
    if (is_second) {
      const std::lock_guard lock(mutex_);
      known_->left_out.emplace(log->place, kSecondName);
      log = placing.appeared.erase(log);
    } else {
      ++log;
    }
  }
}

/// Lets settle() move the session to its better name.
void Catalog::give_way(const SessionPtr& session, Placing& placing) {
  placing.missing.push_back(session);
  const std::lock_guard lock(mutex_);
  known_->left_out.emplace(session->place(), kSecondName);
}

/// True if the session's own name leads to this file now.
bool Catalog::is_still(const Session& session, const FileStat& file) const {
  const auto now = session.store().stat(session.place());
  return now && now->same_file(file);
}

bool Catalog::gives_way(const Session& session, const FoundLog& better) const {
  const LogPlace place = session.place();
  const std::lock_guard lock(mutex_);
  const bool is_linked = known_->linked.contains(place);
  return std::tie(better.is_linked, better.place) < std::tie(is_linked, place);
}

void Catalog::look_at_links() {
  std::vector<LogPlace> linked;
  {
    const std::lock_guard lock(mutex_);
    linked.assign(known_->linked.begin(), known_->linked.end());
  }
  for (const LogPlace& place : linked) {
    const SessionPtr session = is_submount(place.in()) ? nullptr : at(place);
    const auto now = session ? session->store().stat(place) : Result<FileStat>(FileStat());
    if (session && (!now || session->looks_changed(*now))) {
      touch(place);
    }
  }
}

std::vector<LeftOut> Catalog::left_out() const {
  std::map<LogPlace, std::string> found;
  {
    const std::lock_guard lock(mutex_);
    found = known_->left_out;
  }
  std::vector<LeftOut> all;
  for (auto& [place, reason] : found) {
    const SessionStore& store = *stores_.at(place.store);
    const bool is_folder = place.file.empty();
    all.push_back({place.store, is_folder ? folder_path(store.paths().sessions, place.folder) : store.path_of(place),
                   std::move(reason)});
  }
  return all;
}

}  // namespace arborfs
