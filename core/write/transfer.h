// Moves sessions to the trash (trash.h) and back: by renames, or by copies to another file system, which are compared
// before the originals are removed. A format only says what belongs to a session.
//
// Where a session's own file is, there is the session: it is the first to leave the store and the last to return. The
// trash has a note of the session before the first rename, or after the last copy. So a kill or a power cut at any
// point leaves each session complete in the store, in the trash, or in both, and a restore completes what an earlier
// one began. No file is ever replaced. A failure is undone as far as the disk allows. Any thread; one object of
// Belongings is used by one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/disk.h"
#include "core/store/store.h"
#include "core/write/trash.h"

namespace arborfs {

/// A file or folder of a session.
struct Belonging {
  enum class Role : std::uint8_t {
    rest,
    shared,  // other sessions have it too: the trash gets a copy, which returns if the store has none
    own,     // where it is, there is the session
    backup,  // its agent takes it for the session where the own file is missing: it leaves before that one and
             // returns after it
  };
  std::string folder;  // its path below the root of the session's belongings; "" for the root itself
  std::string name;
  Role role = Role::rest;
  [[nodiscard]] bool is_own() const { return role == Role::own; }
  /// It leaves the store with the own files, and returns with them.
  [[nodiscard]] bool goes_with_own() const { return is_own() || role == Role::backup; }
  bool operator==(const Belonging&) const = default;
};

/// The part of a session that is rows of a database: they are written to a file of the trash and read back.
class OwnRows {
 public:
  virtual ~OwnRows() = default;
  /// Writes the rows to a file in `files`, which the caller syncs.
  virtual Result<UniqueFd> save(const Dir& files) = 0;
  /// Removes exactly what was saved, in one transaction. Errors: stale if it has changed.
  virtual Result<void> remove() = 0;
  /// After a failed remove(): true if a power cut may turn that into a success.
  [[nodiscard]] virtual bool may_be_removed() const = 0;
  /// Inserts the rows of `files`, until commit() visible to nobody; false if the database has them all.
  virtual Result<bool> insert(const Dir& files) = 0;
  virtual Result<void> commit() = 0;
};

/// What belongs to one session, and to those that were started from it.
class Belongings {
 public:
  virtual ~Belongings() = default;
  /// The path of the folder that they are below, for messages. The session's folder in the trash has the same layout.
  [[nodiscard]] virtual std::string root_path() const = 0;
  /// That folder, open and held against other processes of arborfs until this object ends; with `make`, created if it
  /// is missing, where it may be. Errors: not_found, busy; those of the disk.
  virtual Result<const Dir*> root(bool make);
  /// What the store has of them, in the order in which they return: a session after the one that started it, the own
  /// files after the rest, and backups last. Errors: not_found if the session is gone; those of reading anything that
  /// may belong to it.
  virtual Result<std::vector<Belonging>> in_store(const Dir& root) = 0;
  /// What in_store() finds, for a caller that only looks: takes no lock, for root() either, and leaves out what rows of
  /// a database say.
  virtual Result<std::vector<Belonging>> seen();
  /// What the trash has of them, in that order. Converts what earlier versions wrote there.
  virtual Result<std::vector<Belonging>> in_trash(const Dir& files) { return in_store(files); }
  /// What a killed removal left in the store of the sessions in the trash.
  virtual Result<std::vector<Belonging>> left_in_store(const Dir& root, const Dir& files);
  /// Errors: already_exists if the store has a session with one of the ids elsewhere.
  virtual Result<void> check_free(const Dir& /*root*/, const Dir& /*files*/) { return {}; }
  /// Null if the session is files alone.
  virtual OwnRows* rows() { return nullptr; }
  /// The end of the names of lock files, which have no content; "" if there are none.
  [[nodiscard]] virtual std::string_view lock_suffix() const { return ""; }

 protected:
  std::optional<Dir> root_;  // once it is open
};

/// Belongings that are directly in one folder, under names that follow from the session's.
class NamedBelongings : public Belongings {
 public:
  /// Names them in the order of in_store(), also such as the folder does not have.
  using Find = std::function<Result<std::vector<Belonging>>(const Dir& folder)>;
  /// `folder`: of logs, as LogPlace::folder. `store` outlives this.
  NamedBelongings(const Store& store, std::string folder, Find find, std::string_view lock_suffix = "")
      : store_(store), folder_(std::move(folder)), find_(std::move(find)), lock_suffix_(lock_suffix) {}
  [[nodiscard]] std::string root_path() const override { return folder_path(store_.paths().sessions, folder_); }
  Result<const Dir*> root(bool make) override;
  Result<std::vector<Belonging>> in_store(const Dir& root) override;
  [[nodiscard]] std::string_view lock_suffix() const override { return lock_suffix_; }

 private:
  const Store& store_;
  const std::string folder_;
  const Find find_;
  const std::string_view lock_suffix_;
};

/// Renames files of a session from one folder of a file system to another, the own ones when the rest is on the disk. A
/// name that both have stays in both. The names are on the disk then. Errors: unsupported across file systems; those of
/// the disk; what was renamed is renamed back then, as far as the disk allows.
Result<void> move_files(Disk& disk, const Dir& from, const Dir& to, const std::vector<Belonging>& items);

class Transfer {
 public:
  /// `trash`: its folder, "" for the user's own.
  explicit Transfer(std::string trash, Disk& disk = Disk::real()) : trash_(std::move(trash), disk), disk_(disk) {}

  /// Moves a session to the trash. The caller holds its lock. Without `sync` the last names may be lost in a power cut.
  /// Errors: not_found; corrupt without `what`; stale if another program wrote to the session meanwhile; busy;
  /// unsupported for devices; those of the disk. The session is then in the store, unless the message says that it is
  /// in the trash.
  Result<Trashed> take(const Store& store, const LogPlace& place, const std::string& title,
                       const std::unique_ptr<Belongings>& what, bool sync = true);
  /// Moves a session back; completes an earlier restore that was killed. Errors: already_exists if the store has
  /// another session, or another file in the place of one; busy while another process moves it; those of the disk.
  Result<void> restore(const Trashed& trashed, Belongings& what);
  /// Moves to the trash what a killed removal left of the session in the store. Errors: busy; those of the disk.
  Result<void> finish(const Trashed& trashed, Belongings& what);
  /// Errors: already_exists if the store has the session too, but lacks a part that the trash has; those of finish().
  Result<void> check_erase(const Trashed& trashed, Belongings& what);

  [[nodiscard]] Trash& trash() { return trash_; }

 private:
  struct Both {
    TrashFolder there;
    const Dir* root;
  };
  Result<std::optional<Both>> open_both(const Trashed& trashed, Belongings& what);
  Result<void> rename_away(const TrashFolder& there, const Trashed& trashed, Belongings& what, bool sync);
  Result<void> copy_away(const TrashFolder& there, const Trashed& trashed, Belongings& what, bool sync);
  bool put_back_own(const TrashFolder& there, const Dir& root, const std::vector<Belonging>& items);
  Result<void> bring(const TrashFolder& there, const Dir& root, const std::vector<Belonging>& items, bool copies);
  Trash trash_;
  Disk& disk_;
};

}  // namespace arborfs
