#include "core/write/transfer.h"

#include <dirent.h>
#include <sys/file.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/os/file_tree.h"
#include "core/os/temp_file.h"

namespace arborfs {
namespace {

using Items = std::vector<Belonging>;

constexpr mode_t kFolderMode = 0755;  // less the umask; the trash around it is private
constexpr mode_t kNewFolder = 0777;   // less the umask, as agents make the folders of logs
constexpr std::size_t kSyncedAtOnce = 64;

bool is_missing(const Error& error) {
  return error.code == Errc::not_found;
}

Error with_note(const Error& error, const std::string& note) {
  return {error.code, error.message + "; " + note};
}

Error changed_meanwhile() {
  return {Errc::stale, "another program wrote to the session meanwhile; try again"};
}

bool has_own(const Items& items) {
  return std::any_of(items.begin(), items.end(), [](const Belonging& item) { return item.is_own(); });
}

/// One side of a transfer: its root, the folder below it that was used last, and those that are to be synced.
class Side {
 public:
  Side(Disk& disk, const Dir& root) : disk_(disk), root_(root) {}

  [[nodiscard]] const Dir& root() const { return root_; }
  /// Valid until the next call. Errors: not_found; those of opening it.
  Result<const Dir*> folder(const std::string& path) {
    if (path.empty()) {
      return &root_;
    }
    if (!last_ || path != path_) {
      last_.reset();
      ASSIGN_OR_RETURN(auto dir, open_below(root_, path));
      last_.emplace(std::move(dir));
      path_ = path;
    }
    return &*last_;
  }
  /// The same, but creates it if it is missing.
  Result<const Dir*> make(const std::string& path) {
    auto there = folder(path);
    if (there || !is_missing(there.error())) {
      return there;
    }
    for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      if (!folder(part)) {
        const std::size_t slash = part.rfind('/') + 1;
        const std::string above = part.substr(0, slash == 0 ? 0 : slash - 1);
        ASSIGN_OR_RETURN(const Dir* const parent, folder(above));
        RETURN_IF_ERROR(disk_.make_folder(*parent, part.substr(slash), kFolderMode));
        touched_.insert(above);
      }
      if (end == std::string::npos) {
        return folder(path);
      }
    }
  }
  void touch(const std::string& path) { touched_.insert(path); }
  /// Adds folders that were touched to `set`, some at a time, and keeps them open in `open`.
  Result<void> take_touched(std::vector<Dir>& open, Disk::SyncSet& set) {
    open.reserve(kSyncedAtOnce);  // `set` points to them
    while (!touched_.empty() && open.size() < kSyncedAtOnce) {
      const std::string path = *touched_.begin();
      auto dir = path.empty() ? Result<Dir>(Errc::not_found, "") : open_below(root_, path);
      RETURN_IF_ERROR(dir || is_missing(dir.error()) ? Result<void>() : Result<void>(dir.error()));
      if (dir) {
        open.push_back(*std::move(dir));
      }
      if (dir || path.empty()) {  // a folder that another program has removed needs no sync
        set.folders.push_back(path.empty() ? &root_ : &open.back());
      }
      touched_.erase(path);
    }
    return {};
  }
  Result<void> sync() {
    while (!touched_.empty()) {
      std::vector<Dir> open;
      Disk::SyncSet set;
      RETURN_IF_ERROR(take_touched(open, set));
      RETURN_IF_ERROR(disk_.sync_all(set));
    }
    return {};
  }

 private:
  static Result<Dir> open_below(const Dir& root, const std::string& path) {
    std::size_t end = path.find('/');
    ASSIGN_OR_RETURN(auto at, root.open_in(path.substr(0, end)));
    while (end != std::string::npos) {
      const std::size_t begin = end + 1;
      end = path.find('/', begin);
      ASSIGN_OR_RETURN(at, at.open_in(path.substr(begin, end - begin)));
    }
    return at;
  }

  Disk& disk_;
  const Dir& root_;
  std::string path_;
  std::optional<Dir> last_;
  std::set<std::string> touched_;
};

/// Removes a folder that was copied to `copy`. It is renamed first, so that no program can open its files by name. If a
/// program has written to a file since it was copied, the folder gets its name back: stale. If one writes to a file
/// during the removal, that file stays in the folder.
Result<void> remove_own_folder(Disk& disk, const Dir& from, const std::string& name, const Dir& copy,
                               std::string_view lock_suffix) {
  const std::string hidden = temporary_name();
  ASSIGN_OR_RETURN(const auto locked, from.open_in(name));
  ::flock(locked.fd(), LOCK_EX | LOCK_NB);  // so that it is not left over
  RETURN_IF_ERROR(disk.rename(from, name, from, hidden, Disk::Existing::keep));
  const auto prepare = [&]() -> Result<void> {
    RETURN_IF_ERROR(disk.sync_folder(from));
    RETURN_IF_ERROR(is_part_of(from, hidden, copy, name) ? Result<void>() : Result<void>(changed_meanwhile()));
    ASSIGN_OR_RETURN(const auto entries, locked.list());
    for (const DirEntry& entry : entries) {
      const bool is_lock = !lock_suffix.empty() && entry.name.ends_with(lock_suffix);
      RETURN_IF_ERROR(is_lock ? disk.remove(locked, entry.name) : Result<void>());  // the caller has one of them open
    }
    return {};
  };
  if (auto done = prepare(); !done) {
    RETURN_IF_ERROR(disk.rename(from, hidden, from, name, Disk::Existing::keep));
    return done;
  }
  if (const auto removed = remove_copied(disk, from, hidden, copy, name); removed && !*removed) {
    static_cast<void>(disk.rename(from, hidden, from, name, Disk::Existing::keep));
  }
  return {};
}

enum class How : std::uint8_t { rename, copy_if_apart, copy };

/// Moves belongings from one root to another, and remembers what it has moved.
class Mover {
 public:
  /// `unique` is the name of the session's folder in the trash. Copies have a name with it until they are complete.
  Mover(Disk& disk, const Dir& from, const Dir& to, How how, const std::string& unique)
      : disk_(disk), from_(disk, from), to_(disk, to), how_(how), draft_(temporary_name("moved-" + unique)) {}

  [[nodiscard]] bool has_copied() const { return how_ == How::copy; }
  /// What a killed copy left.
  void clear_draft() { static_cast<void>(remove_tree(disk_, to_.root(), draft_)); }

  /// Does nothing if there is no such file. If both sides have it, it stays; of folders, what only one side has is
  /// moved. Errors: unsupported across file systems with How::rename; those of the disk.
  Result<void> move(const Belonging& item) {
    std::vector<Belonging> wanted{item};
    while (!wanted.empty()) {
      const Belonging next = std::move(wanted.back());
      wanted.pop_back();
      ASSIGN_OR_RETURN(const bool is_moved, move_one(next));
      if (!is_moved && item.role != Belonging::Role::shared) {
        RETURN_IF_ERROR(add_below(next, wanted));
      }
    }
    return {};
  }
  /// Each name is in its new folder before it is gone from the old one.
  Result<void> sync() {
    RETURN_IF_ERROR(to_.sync());
    return from_.sync();
  }
  /// Removes the originals of own files and backups that were copied, the last first. Errors: stale if one has changed
  /// since.
  Result<void> remove_own(const Items& items, std::string_view lock_suffix) {
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      if (item->goes_with_own()) {
        ASSIGN_OR_RETURN(const Dir* const from, from_.folder(item->folder));
        ASSIGN_OR_RETURN(const Dir* const copy, to_.folder(item->folder));
        from_.touch(item->folder);
        if (from->open_in(item->name)) {
          RETURN_IF_ERROR(remove_own_folder(disk_, *from, item->name, *copy, lock_suffix));
        } else {
          ASSIGN_OR_RETURN(const bool is_gone, remove_copied(disk_, *from, item->name, *copy, item->name));
          RETURN_IF_ERROR(is_gone ? Result<void>() : changed_meanwhile());
        }
      }
    }
    return {};
  }
  /// The same for the rest. What differs from its copy stays: without the session, agents ignore it.
  void remove_rest(const Items& items) {
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      const bool goes = item->role == Belonging::Role::rest;
      const auto from = goes ? from_.folder(item->folder) : Result<const Dir*>(Errc::not_found, "");
      const auto copy = from ? to_.folder(item->folder) : from;
      if (copy) {
        static_cast<void>(remove_copied(disk_, **from, item->name, **copy, item->name));
        from_.touch(item->folder);
      }
    }
  }
  /// Moves everything back, the last first. False if something could not go back.
  bool undo() {
    bool is_back = true;
    for (auto last = done_.rbegin(); last != done_.rend(); ++last) {
      const auto there = to_.folder(last->folder);
      const auto back = from_.folder(last->folder);
      const bool can = there && back;
      is_back =
          can &&
          (last->is_copy ? remove_copied(disk_, **there, last->name, **back, last->name).has_value()
                         : disk_.rename(**there, last->name, **back, last->name, Disk::Existing::keep).has_value()) &&
          is_back;
    }
    done_.clear();
    static_cast<void>(from_.sync());
    static_cast<void>(to_.sync());
    return is_back;
  }

 private:
  /// False if both sides have it.
  Result<bool> move_one(const Belonging& item) {
    const auto source = from_.folder(item.folder);
    const auto st = source ? (*source)->stat(item.name) : Result<FileStat>(source.error());
    if (!st) {
      return is_missing(st.error()) ? Result<bool>(true) : st.error();
    }
    ASSIGN_OR_RETURN(const Dir* const target, to_.make(item.folder));
    auto done = how_ == How::copy ? copy(**source, item.name, *target)
                                  : disk_.rename(**source, item.name, *target, item.name, Disk::Existing::keep);
    if (!done && done.error().code == Errc::unsupported && how_ == How::copy_if_apart) {
      how_ = How::copy;
      done = copy(**source, item.name, *target);
    }
    if (!done && done.error().code == Errc::already_exists) {
      return false;
    }
    if (!done && is_missing(done.error()) && !(*source)->stat(item.name)) {
      return true;  // another program has moved it meanwhile
    }
    RETURN_IF_ERROR(done);
    to_.touch(item.folder);
    if (!has_copied()) {
      from_.touch(item.folder);
    }
    done_.push_back({item.folder, item.name, has_copied()});
    return true;
  }

  /// The copy is complete and on the disk when it gets its name, which is not synced.
  Result<void> copy(const Dir& from, const std::string& name, const Dir& to) {
    if (to.stat(name)) {
      return Error{Errc::already_exists, "the name is taken"};
    }
    clear_draft();
    if (const auto file = File::open_in(from, name)) {
      ASSIGN_OR_RETURN(const auto draft, TempFile::create(disk_, to_.root(), 0600, draft_));
      RETURN_IF_ERROR(copy_to_file(disk_, *file, draft->fd()));
      return draft->publish(to, name, Disk::Existing::keep);
    }
    if (const auto folder = from.open_in(name)) {
      ASSIGN_OR_RETURN(const auto draft, TempFolder::create(disk_, to_.root(), {}, false, draft_));
      RETURN_IF_ERROR(copy_to_folder(disk_, *folder, draft->dir()));
      return draft->publish(to, name);
    }
    return copy_tree(disk_, from, name, to, name);
  }

  Result<void> add_below(const Belonging& folder, std::vector<Belonging>& wanted) {
    ASSIGN_OR_RETURN(const Dir* const source, from_.folder(folder.folder));
    ASSIGN_OR_RETURN(const Dir* const target, to_.folder(folder.folder));
    const auto ours = source->open_in(folder.name);
    const auto entries =
        ours && target->open_in(folder.name) ? ours->list() : Result<std::vector<DirEntry>>(std::vector<DirEntry>());
    ASSIGN_OR_RETURN(const auto& below, entries);
    for (const DirEntry& entry : below) {
      wanted.push_back({(folder.folder.empty() ? "" : folder.folder + "/") + folder.name, entry.name, folder.role});
    }
    return {};
  }

  Disk& disk_;
  Side from_;
  Side to_;
  How how_;
  const std::string draft_;
  struct Done {
    std::string folder;
    std::string name;
    bool is_copy;
  };
  std::vector<Done> done_;
};

/// Calls `fits` with the folders of each item on both sides, with null where there is none, and returns the first item
/// for which that is false, else null. Errors: those of opening the folders.
template <class Fits>
Result<const Belonging*> first_unfit(Disk& disk, const Dir& one, const Dir& other, const Items& items,
                                     const Fits& fits) {
  Side mine(disk, one);
  Side theirs(disk, other);
  for (const Belonging& item : items) {
    const auto from = mine.folder(item.folder);
    const auto to = theirs.folder(item.folder);
    for (const auto* folder : {&from, &to}) {
      RETURN_IF_ERROR(*folder || is_missing(folder->error()) ? Result<void>() : Result<void>(folder->error()));
    }
    if (item.role != Belonging::Role::shared && !fits(item, from ? *from : nullptr, to ? *to : nullptr)) {
      return &item;
    }
  }
  return nullptr;
}

/// True if the store has all that the trash has of a session's own file or folder, and perhaps what was
/// written to its files since.
bool has_all_of(const Dir& trash, const Dir& store, const std::string& name, std::string_view lock_suffix) {
  const auto theirs = trash.open_in(name);
  const auto ours = store.open_in(name);
  const auto entries = theirs ? theirs->list() : Result<std::vector<DirEntry>>(theirs.error());
  if (!ours || !entries) {
    return is_continued(trash, store, name);
  }
  return std::all_of(entries->begin(), entries->end(), [&](const DirEntry& entry) {
    return (!lock_suffix.empty() && entry.name.ends_with(lock_suffix)) || is_continued(*theirs, *ours, entry.name);
  });
}

/// Checks that the store has the same under each name, perhaps with bytes that another program appended since, or, if
/// the name `may_be_free`, nothing. Errors: already_exists.
Result<void> check_places(Disk& disk, const Dir& trash, const Dir& store, const Items& items, const Belongings& what,
                          const std::string& name_in_trash, bool may_be_free) {
  const auto fits = [&](const Belonging& item, const Dir* theirs, const Dir* ours) {
    const auto there = ours != nullptr ? ours->stat(item.name) : Result<FileStat>(Errc::not_found, "");
    return (may_be_free && !there && is_missing(there.error())) ||
           (there && (item.is_own() ? has_all_of(*theirs, *ours, item.name, what.lock_suffix())
                                    : agree(*theirs, *ours, item.name)));
  };
  ASSIGN_OR_RETURN(const Belonging* const taken, first_unfit(disk, trash, store, items, fits));
  if (taken == nullptr) {
    return {};
  }
  return Error{Errc::already_exists, what.root_path() + "/" + taken->folder + (taken->folder.empty() ? "" : "/") +
                                         taken->name + " exists again; move it away and run: arborfs restore " +
                                         name_in_trash};
}

/// Errors: stale if the session in the store is not the one that was copied.
Result<void> check_copied(Disk& disk, Belongings& what, const Dir& store, const Dir& trash, const Items& items) {
  ASSIGN_OR_RETURN(const auto now, what.in_store(store));
  const auto fits = [&](const Belonging& item, const Dir* ours, const Dir* copy) {
    const auto st = ours != nullptr ? ours->stat(item.name) : Result<FileStat>(Errc::not_found, "");
    return st ? copy != nullptr && is_part_of(*ours, *copy, item.name) : is_missing(st.error());
  };
  ASSIGN_OR_RETURN(const Belonging* const changed, first_unfit(disk, store, trash, items, fits));
  return now == items && changed == nullptr ? Result<void>() : changed_meanwhile();
}

/// Errors: already_exists if the store has a session that is in the trash too, but not all of its files.
Result<void> check_whole(Disk& disk, const Dir& trash, const Dir& store, const Items& items) {
  const auto is_only_here = [](const Belonging& item, const Dir* /*theirs*/, const Dir* ours) {
    return !item.is_own() || ours == nullptr || !ours->stat(item.name);
  };
  const auto is_there = [](const Belonging& item, const Dir* theirs, const Dir* ours) {
    return theirs == nullptr || (ours != nullptr && has_names_of(*theirs, *ours, item.name));
  };
  ASSIGN_OR_RETURN(const Belonging* const in_both, first_unfit(disk, trash, store, items, is_only_here));
  ASSIGN_OR_RETURN(const Belonging* const missing, first_unfit(disk, trash, store, items, is_there));
  return in_both == nullptr || missing == nullptr
             ? Result<void>()
             : Error{Errc::already_exists, "the store has only a part of this session; remove it there too, first"};
}

/// Copies what sessions share, and adds the copies to `set`, open in `files` and `folders`.
Result<void> copy_shared(Disk& disk, const Dir& store, const Dir& trash, const Items& items,
                         std::vector<UniqueFd>& files, std::vector<Dir>& folders, Disk::SyncSet& set) {
  Side from(disk, store);
  Side to(disk, trash);
  for (const Belonging& item : items) {
    const bool is_shared = item.role == Belonging::Role::shared;
    const auto folder = is_shared ? from.folder(item.folder) : Result<const Dir*>(Errc::not_found, "");
    const auto file = folder ? File::open_in(**folder, item.name) : Result<File>(folder.error());
    if (!file) {
      RETURN_IF_ERROR(is_missing(file.error()) ? Result<void>() : Result<void>(file.error()));
      continue;
    }
    ASSIGN_OR_RETURN(const Dir* const target, to.make(item.folder));
    ASSIGN_OR_RETURN(auto copy, disk.create(*target, item.name, 0600));
    RETURN_IF_ERROR(copy_to_file(disk, *file, copy.get(), false));
    set.files.push_back(copy.get());
    files.push_back(std::move(copy));
    to.touch(item.folder);
  }
  return to.take_touched(folders, set);
}

/// The own files when the rest is on the disk. On an error everything is moved back.
Result<void> move_all(Mover& mover, const Items& items) {
  const auto move = [&]() -> Result<void> {
    for (const bool own : {false, true}) {
      for (const Belonging& item : items) {
        RETURN_IF_ERROR(item.goes_with_own() == own ? mover.move(item) : Result<void>());
      }
      RETURN_IF_ERROR(mover.sync());
    }
    return {};
  };
  auto done = move();
  if (!done) {
    static_cast<void>(mover.undo());
  }
  return done;
}

/// Errors: not_found without an own file.
Result<void> check_own(const Items& items) {
  return has_own(items) ? Result<void>() : Result<void>(Errc::not_found, "the session is gone");
}

}  // namespace

Result<void> move_files(Disk& disk, const Dir& from, const Dir& to, const Items& items) {
  Mover mover(disk, from, to, How::rename, "");
  return move_all(mover, items);
}

Result<std::vector<Belonging>> Belongings::left_in_store(const Dir& root, const Dir& /*files*/) {
  ASSIGN_OR_RETURN(auto items, in_store(root));
  return has_own(items) ? Items() : std::move(items);
}

Result<std::vector<Belonging>> Belongings::seen() {
  ASSIGN_OR_RETURN(const Dir* const folder, root(false));
  return in_store(*folder);
}

Result<const Dir*> Belongings::root(bool /*make*/) {
  if (!root_) {
    ASSIGN_OR_RETURN(auto dir, Dir::open_root(root_path()));
    root_.emplace(std::move(dir));
  }
  return &*root_;
}

Result<const Dir*> NamedBelongings::root(bool make) {
  if (!root_) {
    const std::string& sessions = store_.paths().sessions;
    auto found = folder_ == kSessionsItself ? Dir::open_root(sessions)
                 : make                     ? Dir::open_below_root(sessions, folder_)  // a link leads no session out
                                            : store_.folder({folder_, ""});
    if (!found && is_missing(found.error()) && make) {
      ASSIGN_OR_RETURN(const auto above, Dir::open_root(sessions));
      RETURN_IF_ERROR(store_.disk().make_folder(above, folder_, kNewFolder));
      RETURN_IF_ERROR(store_.disk().sync_folder(above));
      found = above.open_in(folder_);
    }
    ASSIGN_OR_RETURN(auto dir, std::move(found));
    root_.emplace(std::move(dir));
  }
  return &*root_;
}

Result<std::vector<Belonging>> NamedBelongings::in_store(const Dir& root) {
  ASSIGN_OR_RETURN(auto named, find_(root));
  Items items;
  for (Belonging& item : named) {
    const auto st = root.stat(item.name);
    if (st) {
      items.push_back(std::move(item));
    } else if (!is_missing(st.error())) {
      return st.error();
    }
  }
  return items;
}

Result<Trashed> Transfer::take(const Store& store, const LogPlace& place, const std::string& title,
                               const std::unique_ptr<Belongings>& what, bool sync) {
  if (!what) {
    return Error{Errc::corrupt, "the session has no valid place"};
  }
  const Trashed trashed = Trash::describe(store, place, title);
  ASSIGN_OR_RETURN(const auto there, trash_.make_folder(trashed));
  auto done = what->rows() != nullptr ? Result<void>(Errc::unsupported, "rows are copied")
                                      : rename_away(there, trashed, *what, sync);
  if (!done && done.error().code == Errc::unsupported) {
    done = copy_away(there, trashed, *what, sync);
  }
  return done ? Result<Trashed>(trashed) : done.error();
}

/// Errors also: unsupported if the trash is on another file system; it is then empty, and lists nothing.
Result<void> Transfer::rename_away(const TrashFolder& there, const Trashed& trashed, Belongings& what, bool sync) {
  std::optional<Mover> mover;
  const auto move = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(const Dir* const root, what.root(false));
    ASSIGN_OR_RETURN(auto items, what.in_store(*root));
    RETURN_IF_ERROR(check_own(items));
    std::vector<UniqueFd> files;
    std::vector<Dir> folders;
    Disk::SyncSet set{{}, {&there.files}};
    RETURN_IF_ERROR(copy_shared(disk_, *root, there.files, items, files, folders, set));
    RETURN_IF_ERROR(trash_.write_note(there, trashed, std::move(set)));
    mover.emplace(disk_, *root, there.files, How::rename, there.name);
    std::reverse(items.begin(), items.end());
    for (const bool own : {true, false}) {
      for (const Belonging& item : items) {
        const bool goes = item.goes_with_own() == own && item.role != Belonging::Role::shared;
        RETURN_IF_ERROR(goes ? mover->move(item) : Result<void>());
      }
      RETURN_IF_ERROR(own || sync ? mover->sync() : Result<void>());  // a session in the store is complete
    }
    return {};
  };
  auto done = move();
  if (done) {
    return done;
  }
  if (mover && !mover->undo()) {
    return with_note(done.error(), "the session is in the trash");
  }
  if (done.error().code == Errc::unsupported && mover) {
    const auto unlisted = trash_.unlist(there);
    if (unlisted) {
      return done;
    }
    done = unlisted;  // with a copy, the trash would have the session twice
  }
  trash_.drop(there);
  return done.error().code == Errc::unsupported ? Result<void>(Errc::io, done.error().message) : done;
}

Result<void> Transfer::copy_away(const TrashFolder& there, const Trashed& trashed, Belongings& what, bool sync) {
  OwnRows* const rows = what.rows();
  const Dir* root = nullptr;
  Items items;
  std::optional<Mover> copier;
  const auto save = [&]() -> Result<void> {
    Disk::SyncSet set{{}, {&there.files}};
    UniqueFd saved;
    if (rows != nullptr) {
      ASSIGN_OR_RETURN(saved, rows->save(there.files));
      set.files.push_back(saved.get());
    }
    const auto opened = what.root(false);
    if (opened) {
      root = *opened;
      ASSIGN_OR_RETURN(items, what.in_store(*root));
      RETURN_IF_ERROR(rows != nullptr ? Result<void>() : check_own(items));
      copier.emplace(disk_, *root, there.files, How::copy, there.name);
      for (const Belonging& item : items) {
        RETURN_IF_ERROR(copier->move(item));
      }
      RETURN_IF_ERROR(copier->sync());
      RETURN_IF_ERROR(rows != nullptr ? Result<void>() : check_copied(disk_, what, *root, there.files, items));
    } else if (rows == nullptr || !is_missing(opened.error())) {
      return opened.error();
    }
    return trash_.write_note(there, trashed, std::move(set));
  };
  if (auto done = save(); !done) {
    trash_.drop(there);
    return done;
  }
  if (auto done = rows != nullptr ? rows->remove() : copier->remove_own(items, what.lock_suffix()); !done) {
    if (rows != nullptr ? rows->may_be_removed() : !put_back_own(there, *root, items)) {
      return with_note(done.error(), "a copy of the session is in the trash");
    }
    trash_.drop(there);
    return done;
  }
  if (copier) {
    copier->remove_rest(items);
  }
  if (auto synced = copier && sync ? copier->sync() : Result<void>(); !synced) {
    return Error{Errc::io, synced.error().message + "; the session is in the trash, but a power cut may bring it back"};
  }
  return {};
}

/// Brings back the own files and backups that are removed already. False if one of them cannot go back.
bool Transfer::put_back_own(const TrashFolder& there, const Dir& root, const std::vector<Belonging>& items) {
  Mover back(disk_, there.files, root, How::copy, there.name);
  bool is_back = true;
  for (const Belonging& item : items) {
    is_back = (!item.goes_with_own() || back.move(item)) && is_back;
  }
  return back.sync() && is_back;
}

Result<void> Transfer::restore(const Trashed& trashed, Belongings& what) {
  ASSIGN_OR_RETURN(const auto there, trash_.open(trashed));
  RETURN_IF_ERROR(lock_for_restore(there));
  OwnRows* const rows = what.rows();
  ASSIGN_OR_RETURN(const auto items, what.in_trash(there.files));
  const Dir* root = nullptr;
  if (rows == nullptr || !items.empty()) {
    ASSIGN_OR_RETURN(root, what.root(true));
    RETURN_IF_ERROR(what.check_free(*root, there.files));
    RETURN_IF_ERROR(check_places(disk_, there.files, *root, items, what, trashed.name, true));
  }
  if (rows == nullptr && !has_own(items)) {  // an earlier restore has brought it back
    ASSIGN_OR_RETURN(const auto back, what.in_store(*root));
    RETURN_IF_ERROR(check_own(back));
  }
  if (rows != nullptr) {
    ASSIGN_OR_RETURN(const bool is_new, rows->insert(there.files));
    if (!is_new) {
      trash_.drop(there);
      return {};
    }
  }
  if (root != nullptr) {
    RETURN_IF_ERROR(bring(there, *root, items, rows != nullptr));
    ASSIGN_OR_RETURN(const auto left, what.in_trash(there.files));
    RETURN_IF_ERROR(check_places(disk_, there.files, *root, left, what, trashed.name, false));
  }
  RETURN_IF_ERROR(rows != nullptr ? rows->commit() : Result<void>());
  trash_.drop(there);
  return {};
}

/// `copies`: the trash keeps everything until the caller drops it.
Result<void> Transfer::bring(const TrashFolder& there, const Dir& root, const std::vector<Belonging>& items,
                             bool copies) {
  Mover mover(disk_, there.files, root, copies ? How::copy : How::copy_if_apart, there.name);
  mover.clear_draft();
  return move_all(mover, items);
}

/// Nothing if the session is rows, or its store is gone.
Result<std::optional<Transfer::Both>> Transfer::open_both(const Trashed& trashed, Belongings& what) {
  if (what.rows() != nullptr) {
    return std::optional<Both>();
  }
  ASSIGN_OR_RETURN(auto there, trash_.open(trashed));
  RETURN_IF_ERROR(lock_for_restore(there));
  const auto root = what.root(false);
  if (!root && is_missing(root.error())) {
    return std::optional<Both>();
  }
  RETURN_IF_ERROR(root);
  return std::optional(Both{std::move(there), *root});
}

Result<void> Transfer::finish(const Trashed& trashed, Belongings& what) {
  ASSIGN_OR_RETURN(const auto both, open_both(trashed, what));
  if (!both) {
    return {};
  }
  const auto& [there, root] = *both;
  ASSIGN_OR_RETURN(const auto left, what.left_in_store(*root, there.files));
  Mover mover(disk_, *root, there.files, How::copy_if_apart, there.name);
  for (auto item = left.rbegin(); item != left.rend(); ++item) {
    RETURN_IF_ERROR(item->role == Belonging::Role::shared ? Result<void>() : mover.move(*item));
  }
  RETURN_IF_ERROR(mover.sync());
  if (mover.has_copied()) {
    mover.remove_rest(left);
  }
  return {};
}

Result<void> Transfer::check_erase(const Trashed& trashed, Belongings& what) {
  ASSIGN_OR_RETURN(const auto both, open_both(trashed, what));
  if (!both) {
    return {};
  }
  const auto& [there, root] = *both;
  ASSIGN_OR_RETURN(const auto items, what.in_trash(there.files));
  return check_whole(disk_, there.files, *root, items);
}

}  // namespace arborfs
