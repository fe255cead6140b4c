#include "core/formats/opencode/belongings.h"

#include <dirent.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/formats/opencode/format.h"
#include "core/formats/opencode/json_archive.h"
#include "core/formats/opencode/session_rows.h"
#include "core/formats/opencode/store.h"

namespace arborfs::opencode {
namespace {

using sqlite::Connection;
using sqlite::Transaction;
using Items = std::vector<Belonging>;
using Role = Belonging::Role;

constexpr mode_t kPrivateRows = 0600;
constexpr const char* kProjectKind = "project";
constexpr const char* kSessionKind = "session";
constexpr const char* kPartKind = "part";
constexpr const char* kMessageKind = "message";
constexpr const char* kOneFileKinds[] = {"todo", "session_diff", "session_share"};  // each has a file for a session

bool is_missing(const Error& error) {
  return error.code == Errc::not_found;
}

Result<std::string> whole_text(const Dir& folder, const std::string& name) {
  FileStat stat;
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, name, &stat));
  return file.read(0, stat.size);
}

/// The folder `<kind>/<name>`, or `<kind>` where `name` is "".
Result<Dir> folder_in(const Dir& root, const std::string& kind, const std::string& name = "") {
  ASSIGN_OR_RETURN(auto dir, root.open_in(kind));
  return name.empty() ? std::move(dir) : dir.open_in(name);
}

/// The names of a folder's entries of one type (DT_REG, DT_DIR); none if there is no such folder.
Result<std::vector<std::string>> names_in(const Dir& root, const std::string& kind, unsigned char type) {
  const auto dir = root.open_in(kind);
  std::vector<std::string> names;
  if (!dir && is_missing(dir.error())) {
    return names;
  }
  ASSIGN_OR_RETURN(auto entries, dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error()));
  for (DirEntry& entry : entries) {
    if (entry.type == type) {
      names.push_back(std::move(entry.name));
    }
  }
  return names;
}

void add_own(const std::vector<SessionName>& sessions, Items& items) {
  for (const SessionName& session : sessions) {
    items.push_back({std::string(kSessionKind) + "/" + session.folder, file_of_id(session.id), Role::own});
  }
}

/// What belongs to sessions beside their own files, whether it exists or not.
Result<Items> rest_of(const Dir& storage, const std::vector<SessionName>& sessions) {
  Items items;
  std::set<std::string> projects;
  for (const SessionName& session : sessions) {
    items.push_back({kMessageKind, session.id});
    projects.insert(session.folder);
  }
  for (const SessionName& session : sessions) {
    ASSIGN_OR_RETURN(const auto messages, all_ids_in(folder_in(storage, kMessageKind, session.id)));
    for (const std::string& message : messages) {
      items.push_back({kPartKind, message});
    }
    for (const char* const kind : kOneFileKinds) {
      items.push_back({kind, file_of_id(session.id)});
    }
  }
  for (const std::string& project : projects) {
    items.push_back({kProjectKind, file_of_id(project), Role::shared});
  }
  return items;
}

/// The sessions in a folder of the trash, each after its parent.
Result<std::vector<SessionName>> sessions_in_trash(const Dir& files) {
  std::vector<SessionName> found;
  ASSIGN_OR_RETURN(const auto projects, names_in(files, kSessionKind, DT_DIR));
  for (const std::string& project : projects) {
    ASSIGN_OR_RETURN(const auto ids, all_ids_in(folder_in(files, kSessionKind, project)));
    for (const std::string& id : ids) {
      found.push_back({project, id});
    }
  }
  // Ids of later sessions sort first (opencode/FORMAT.md A4).
  std::sort(found.begin(), found.end(), [](const SessionName& a, const SessionName& b) { return a.id > b.id; });
  return found;
}

/// Earlier versions kept, in a trash on another file system, the texts of all files as lines of JSON (Row).
class SavedLines {
 public:
  SavedLines(Disk& disk, const Dir& files) : disk_(disk), files_(files) {}

  /// Makes files of the lines, if there are any. Errors: corrupt.
  Result<void> make_files() const {
    const auto lines = whole_text(files_, kName);
    if (!lines) {
      return is_missing(lines.error()) ? Result<void>() : Result<void>(lines.error());
    }
    ASSIGN_OR_RETURN(const auto saved, parse(*lines));
    for (const Saved& file : saved) {
      RETURN_IF_ERROR(make(file));
    }
    RETURN_IF_ERROR(disk_.remove(files_, kName));
    return disk_.sync_folder(files_);
  }

 private:
  static constexpr const char* kName = "files.jsonl";
  struct Saved {
    std::string kind;
    std::string folder;
    std::string name;
    std::string text;
    std::int64_t mtime_ns = 0;
    mode_t mode = kFileMode;
  };

  static Result<std::vector<Saved>> parse(std::string_view lines) {
    std::vector<Saved> all;
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
      ASSIGN_OR_RETURN(auto row, parse_row(lines.substr(0, end)));
      lines.remove_prefix(end);
      Saved& saved = all.emplace_back();
      for (auto& [column, value] : row.cells) {
        auto* text = std::get_if<std::string>(&value);
        const auto* number = std::get_if<std::int64_t>(&value);
        if (number != nullptr && column == "mtime") {
          saved.mtime_ns = *number;
        } else if (number != nullptr && column == "mode") {
          saved.mode = static_cast<mode_t>(*number);
        } else if (text != nullptr) {
          (column == "kind"     ? saved.kind
           : column == "folder" ? saved.folder
           : column == "name"   ? saved.name
                                : saved.text) = std::move(*text);
        }
      }
      const std::set<std::string> kinds{kProjectKind,     kSessionKind,     kMessageKind,    kPartKind,
                                        kOneFileKinds[0], kOneFileKinds[1], kOneFileKinds[2]};
      if (!kinds.contains(saved.kind) || !is_plain_name(saved.name) ||
          (!saved.folder.empty() && !is_plain_name(saved.folder))) {
        return Error{Errc::corrupt, "a file of the session in the trash has no valid place"};
      }
    }
    return all.empty()
               ? Result<std::vector<Saved>>(Errc::corrupt, "the files of the session in the trash cannot be read")
               : std::move(all);
  }

  Result<void> make(const Saved& file) const {
    RETURN_IF_ERROR(disk_.make_folder(files_, file.kind, kFolderMode));
    ASSIGN_OR_RETURN(auto dir, files_.open_in(file.kind));
    if (!file.folder.empty()) {
      RETURN_IF_ERROR(disk_.make_folder(dir, file.folder, kFolderMode));
      RETURN_IF_ERROR(disk_.sync_folder(dir));
      ASSIGN_OR_RETURN(dir, dir.open_in(file.folder));
    }
    if (dir.stat(file.name)) {
      return {};
    }
    ASSIGN_OR_RETURN(const auto draft, draft_of(disk_, dir, file.name, file.text, true, file.mode));
    RETURN_IF_ERROR(disk_.set_mtime(draft->fd(), file.mtime_ns));
    RETURN_IF_ERROR(draft->publish(dir, file.name, Disk::Existing::keep));
    return disk_.sync_folder(dir);
  }

  Disk& disk_;
  const Dir& files_;
};

class FileBelongings final : public Belongings {
 public:
  FileBelongings(const arborfs::Store& store, const LogPlace& place, const StorageFolder* storage)
      : disk_(store.disk()),
        path_(storage_of(store.paths().sessions)),
        session_(session_at(place)),
        storage_(storage) {}

  [[nodiscard]] std::string root_path() const override { return path_; }

  Result<const Dir*> root(bool /*make*/) override {
    if (storage_ == nullptr) {
      ASSIGN_OR_RETURN(auto locked, StorageFolder::lock(path_));
      storage_ = &own_storage_.emplace(std::move(locked));
    }
    return &storage_->root();
  }

  Result<Items> seen() override {
    if (storage_ == nullptr) {
      ASSIGN_OR_RETURN(auto storage, StorageFolder::open(path_));
      storage_ = &own_storage_.emplace(std::move(storage));
    }
    return in_store(storage_->root());
  }

  Result<Items> in_store(const Dir& root) override {
    ASSIGN_OR_RETURN(const auto sessions, storage_->family_of(session_));
    ASSIGN_OR_RETURN(auto items, rest_of(root, sessions));
    add_own(sessions, items);
    return items;
  }

  Result<Items> in_trash(const Dir& files) override {
    RETURN_IF_ERROR(SavedLines(disk_, files).make_files());
    Items items;
    const auto add = [&](const char* kind, unsigned char type, Role role) -> Result<void> {
      ASSIGN_OR_RETURN(const auto names, names_in(files, kind, type));
      for (const std::string& name : names) {
        items.push_back({kind, name, role});
      }
      return {};
    };
    RETURN_IF_ERROR(add(kMessageKind, DT_DIR, Role::rest));
    RETURN_IF_ERROR(add(kPartKind, DT_DIR, Role::rest));
    for (const char* const kind : kOneFileKinds) {
      RETURN_IF_ERROR(add(kind, DT_REG, Role::rest));
    }
    RETURN_IF_ERROR(add(kProjectKind, DT_REG, Role::shared));
    ASSIGN_OR_RETURN(const auto sessions, sessions_in_trash(files));
    add_own(sessions, items);
    return items;
  }

  /// A session that is in the storage too was brought back by another program, which may have gone on with it.
  Result<Items> left_in_store(const Dir& root, const Dir& files) override {
    ASSIGN_OR_RETURN(auto sessions, sessions_in_trash(files));
    for (auto session = sessions.begin(); session != sessions.end();) {
      ASSIGN_OR_RETURN(const bool has_it, storage_->has_session(session->id));
      session = has_it ? sessions.erase(session) : std::next(session);
    }
    return rest_of(root, sessions);
  }

  Result<void> check_free(const Dir& /*root*/, const Dir& files) override {
    ASSIGN_OR_RETURN(const auto sessions, sessions_in_trash(files));
    return storage_->each_project([&](const std::string& project, const Dir& there) -> Result<void> {
      for (const SessionName& session : sessions) {
        const std::string name = file_of_id(session.id);
        const auto st = project == session.folder ? Result<FileStat>(Errc::not_found, "") : there.stat(name);
        if (st || !is_missing(st.error())) {
          return st ? Result<void>(Errc::already_exists, "OpenCode already has the session " + name)
                    : Result<void>(st.error());
        }
      }
      return {};
    });
  }

 private:
  Disk& disk_;
  const std::string path_;
  const SessionName session_;
  std::optional<StorageFolder> own_storage_;
  const StorageFolder* storage_;
};

/// Only the sum of the rows is wanted.
Result<void> no_line(std::string_view /*line*/) {
  return {};
}

class DatabaseBelongings final : public Belongings, private OwnRows {
 public:
  DatabaseBelongings(const arborfs::Store& store, const LogPlace& place, HowToRemove how)
      : disk_(store.disk()),
        data_(store.paths().sessions),
        database_(data_ + "/" + place.folder),
        session_(place.stem()),
        how_(how) {}

  [[nodiscard]] std::string root_path() const override { return data_ + "/storage/session_diff"; }
  OwnRows* rows() override { return this; }

  Result<const Dir*> root(bool make) override {
    ASSIGN_OR_RETURN(auto folder, Dir::open_root(data_));
    for (const char* const name : {"storage", "session_diff"}) {
      auto next = folder.open_in(name);
      if (!next && is_missing(next.error()) && make) {
        RETURN_IF_ERROR(disk_.make_folder(folder, name, kFolderMode));
        RETURN_IF_ERROR(disk_.sync_folder(folder));
        next = folder.open_in(name);
      }
      ASSIGN_OR_RETURN(folder, std::move(next));
    }
    return &root_.emplace(std::move(folder));
  }

  Result<Items> in_store(const Dir& root) override { return diffs_in(root, sessions_); }

  Result<Items> seen() override {
    const auto folder = root(false);
    if (!folder) {
      return is_missing(folder.error()) ? Result<Items>(Items()) : Result<Items>(folder.error());
    }
    return diffs_in(**folder, {session_});
  }

  Result<Items> in_trash(const Dir& files) override {
    ASSIGN_OR_RETURN(const auto lines, whole_text(files, kRows));
    return diffs_in(files, sessions_in(lines));
  }

 private:
  static constexpr const char* kRows = "rows.json";

  /// A session may have none.
  static Result<Items> diffs_in(const Dir& folder, const std::vector<std::string>& sessions) {
    Items items;
    for (const std::string& session : sessions) {
      const std::string name = file_of_id(session);
      const auto st = is_plain_name(name) ? folder.stat(name) : Result<FileStat>(Errc::not_found, "");
      if (st) {
        items.push_back({"", name});
      } else if (!is_missing(st.error())) {
        return st.error();
      }
    }
    return items;
  }

  Result<UniqueFd> save(const Dir& files) override {
    constexpr std::size_t kCacheOfSaving = std::size_t{256} << 10U;
    ASSIGN_OR_RETURN(auto connected, Transaction::connect(database_, how_.sync));
    const Connection& connection = connection_.emplace(std::move(connected));
    RETURN_IF_ERROR(connection.cache_up_to(kCacheOfSaving));
    RETURN_IF_ERROR(connection.run("BEGIN"));
    UniqueFd fd;
    {
      ASSIGN_OR_RETURN(const auto rows, SessionRows::of(connection));
      ASSIGN_OR_RETURN(sessions_, family_of(connection, session_));
      ASSIGN_OR_RETURN(data_version_, connection.data_version());
      RETURN_IF_ERROR(how_.force ? Result<void>() : check_quiet(connection, sessions_));
      ASSIGN_OR_RETURN(const auto file, TempFile::create(disk_, files, kPrivateRows));
      ASSIGN_OR_RETURN(sum_, rows.read(sessions_, [&](std::string_view line) { return file->write(line); }));
      ASSIGN_OR_RETURN(fd, file->take());
      RETURN_IF_ERROR(file->publish(files, kRows, Disk::Existing::keep));
    }
    RETURN_IF_ERROR(connection.run("COMMIT"));
    RETURN_IF_ERROR(connection.cache_up_to(Connection::kUsualCache));
    return fd;
  }

  Result<void> remove() override {
    ASSIGN_OR_RETURN(const auto change, Transaction::begin(*std::move(connection_)));
    ASSIGN_OR_RETURN(const auto rows, SessionRows::of(change.connection()));
    ASSIGN_OR_RETURN(const auto version, change.connection().data_version());
    if (version != data_version_) {
      ASSIGN_OR_RETURN(const auto sessions, family_of(change.connection(), session_));
      ASSIGN_OR_RETURN(const auto sum, rows.read(sessions, no_line));
      if (sessions != sessions_ || sum != sum_) {
        return Error{Errc::stale, "OpenCode wrote to the session meanwhile; try again"};
      }
      RETURN_IF_ERROR(how_.force ? Result<void>() : check_quiet(change.connection(), sessions));
    }
    RETURN_IF_ERROR(rows.remove(sessions_, sum_.rows));
    auto done = change.commit();
    may_be_removed_ = !done && !change.is_surely_undone();
    return done;
  }

  [[nodiscard]] bool may_be_removed() const override { return may_be_removed_; }

  Result<bool> insert(const Dir& files) override {
    ASSIGN_OR_RETURN(const auto lines, whole_text(files, kRows));
    const auto sessions = sessions_in(lines);
    if (sessions.empty()) {
      return Error{Errc::corrupt, "the rows of the session in the trash cannot be read"};
    }
    ASSIGN_OR_RETURN(auto begun, Transaction::begin(database_, Transaction::Sync::full));
    const Connection& connection = change_.emplace(std::move(begun)).connection();
    ASSIGN_OR_RETURN(const auto rows, SessionRows::of(connection));
    const auto family = family_of(connection, sessions.front());
    const auto present = family ? rows.read(*family, no_line) : Result<RowsSum>(family.error());
    if (present && *present == sum_of(lines)) {
      return false;
    }
    RETURN_IF_ERROR(rows.insert(lines));
    return true;
  }

  Result<void> commit() override { return change_->commit(); }

  Disk& disk_;
  const std::string data_;
  const std::string database_;
  const std::string session_;
  const HowToRemove how_;
  // What was saved, and the state of the database that it was read from:
  std::vector<std::string> sessions_;
  RowsSum sum_;
  std::int64_t data_version_ = 0;
  std::optional<Connection> connection_;
  bool may_be_removed_ = false;        // after a failure of the commit that a power cut may turn into a success
  std::optional<Transaction> change_;  // of insert()
};

}  // namespace

std::unique_ptr<Belongings> belongings_in_files(const arborfs::Store& store, const LogPlace& place,
                                                const StorageFolder* storage) {
  return std::make_unique<FileBelongings>(store, place, storage);
}

std::unique_ptr<Belongings> belongings_in_database(const arborfs::Store& store, const LogPlace& place,
                                                   HowToRemove how) {
  return std::make_unique<DatabaseBelongings>(store, place, how);
}

/// A database exists while sessions are removed from it; a project's folder may be gone.
std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place) {
  const bool is_in_files = &store.format() == &opencode::files_format();
  const auto folders = store.folders();
  const bool has_folder =
      is_in_files || (folders && std::find(folders->begin(), folders->end(), place.folder) != folders->end());
  if (!place.file.ends_with(kPlaceSuffix) || place.stem().empty() || !has_folder) {
    return nullptr;
  }
  return is_in_files ? belongings_in_files(store, place) : belongings_in_database(store, place);
}

}  // namespace arborfs::opencode
