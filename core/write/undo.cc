#include "core/write/undo.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/words.h"
#include "core/json/base64.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/os/processes.h"
#include "core/os/temp_file.h"
#include "core/sqlite/database.h"
#include "core/store/store_parts.h"
#include "core/write/relocation.h"
#include "core/write/trash.h"

namespace arborfs {
namespace {

using EffectKind = Effect::Kind;

constexpr std::uint64_t kStep = 1 << 20;
constexpr std::uint64_t kMostLines = 64 << 20;
constexpr std::chrono::milliseconds kOneWrite{20};  // a program that appends has the file open for a moment

/// How something is that an operation changed.
enum class Stand : std::uint8_t { as_left, as_before };

Error changed_since(const std::string& what) {
  return {Errc::stale, what + " since; nothing was taken back"};
}

Result<std::uint64_t> hash_of(const File& file, std::uint64_t at, std::uint64_t length) {
  ASSIGN_OR_RETURN(const auto bytes, file.read(at, length));
  return xxh64(bytes);
}

/// A file that an operation changed.
class ChangedFile {
 public:
  ChangedFile(Disk& disk, FileChange change) : disk_(disk), change_(std::move(change)) {
    const std::filesystem::path path(change_.path);
    folder_ = path.parent_path().string();
    name_ = path.filename().string();
  }

  /// Errors: stale; those of reading it.
  [[nodiscard]] Result<Stand> look() const {
    const auto folder = Dir::open_root(folder_);
    const auto file = folder ? File::open_in(*folder, name_) : Result<File>(folder.error());
    if (!file && file.error().code == Errc::not_found) {
      return change_.is_removed ? Result<Stand>(Stand::as_left)
             : change_.is_new   ? Result<Stand>(Stand::as_before)
                                : changed_since(change_.path + " was removed");
    }
    if (!file) {
      return file.error();
    }
    ASSIGN_OR_RETURN(const auto stat, file->stat());
    ASSIGN_OR_RETURN(const bool is_left, is_as_left(*file, stat));
    if (is_left) {
      return Stand::as_left;
    }
    ASSIGN_OR_RETURN(const bool is_before, is_as_before(*file, stat));
    return is_before ? Result<Stand>(Stand::as_before) : changed_since(change_.path + " was written");
  }

  /// The lines at its end that are about to go; "" if there are none.
  [[nodiscard]] std::string lines() const {
    const auto folder = Dir::open_root(folder_);
    const auto file = folder ? File::open_in(*folder, name_) : Result<File>(folder.error());
    const WrittenRun last = change_.runs.empty() ? WrittenRun() : change_.runs.back();
    const auto text = file ? file->read(last.at, std::min(last.length, kMostLines)) : Result<std::string>(file.error());
    return text ? *text : "";
  }

  Result<void> take_back(bool sync) const {
    ASSIGN_OR_RETURN(const auto folder, Dir::open_root(folder_));
    if (change_.is_removed) {
      return make_again(folder, sync);
    }
    ASSIGN_OR_RETURN(const auto file, File::open_in(folder, name_));
    ASSIGN_OR_RETURN(const auto stat, file.stat());
    if (is_open_for_writing(file, kOneWrite)) {
      return {Errc::busy, "another program has " + change_.path + " open for writing; try again"};
    }
    const auto is_same = [&](const File& now) {
      const auto its = now.stat();
      const auto is_left = its && *its == stat ? is_as_left(now, *its) : Result<bool>(false);
      return is_left && *is_left;
    };
    ASSIGN_OR_RETURN(const bool is_done, change_.is_new ? remove_as_read(disk_, folder, name_, removed_name(), is_same)
                                         : is_append()  ? cut(folder, is_same, sync)
                                                        : rewrite(folder, file, is_same, sync));
    RETURN_IF_ERROR(is_done ? Result<void>() : Result<void>(changed_since(change_.path + " was written")));
    if (change_.is_new) {
      remove_empty_folder();
    }
    return sync && !(is_append() && !change_.is_new) ? disk_.sync_folder(folder) : Result<void>();
  }

 private:
  /// The file with the content and the time that it had.
  Result<void> make_again(const Dir& folder, bool sync) const {
    RETURN_IF_ERROR(write_whole_file(disk_, folder, name_, change_.mode_before, change_.runs[0].before,
                                     Disk::Existing::keep, sync));
    ASSIGN_OR_RETURN(const auto file, File::open_in(folder, name_));
    put_back_time(file.fd());
    return {};
  }

  /// The content counts: where the time cannot be set, that of the undo stays.
  void put_back_time(int fd) const {
    const auto done = change_.time_before == 0 ? Result<void>() : disk_.set_mtime(fd, change_.time_before);
    if (!done) {
      write_log(LogLevel::warning, change_.path + " has the time of the undo: " + done.error().message);
    }
  }

  /// A folder that was made for the file; one that has other files stays.
  void remove_empty_folder() const {
    const std::filesystem::path path(folder_);
    if (const auto above = Dir::open_root(path.parent_path().string())) {
      static_cast<void>(disk_.remove_folder(*above, path.filename().string()));
    }
  }

  [[nodiscard]] bool is_append() const {
    return change_.runs.size() == 1 && change_.runs[0].before.empty() &&
           change_.runs[0].at + change_.runs[0].length == change_.size;
  }

  [[nodiscard]] Result<bool> is_as_left(const File& file, const FileStat& stat) const {
    if (stat.size != change_.size || change_.is_removed) {
      return false;
    }
    for (const WrittenRun& run : change_.runs) {
      ASSIGN_OR_RETURN(const auto hash, hash_of(file, run.at, run.length));
      if (hash != run.hash) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] Result<bool> is_as_before(const File& file, const FileStat& stat) const {
    if (change_.is_new || stat.size != change_.size_before()) {
      return false;
    }
    std::uint64_t more = 0;  // bytes that the runs so far added; it wraps around
    for (const WrittenRun& run : change_.runs) {
      ASSIGN_OR_RETURN(const auto bytes, file.read(run.at - more, run.before.size()));
      if (bytes != run.before) {
        return false;
      }
      more += run.length - run.before.size();
    }
    return true;
  }

  [[nodiscard]] Result<bool> cut(const Dir& folder, const IsAsRead& is_same, bool sync) const {
    ASSIGN_OR_RETURN(auto fd, disk_.open_append(folder, name_));
    const File file = File::of(std::move(fd));
    if (!is_same(file)) {
      return false;
    }
    RETURN_IF_ERROR(disk_.truncate(file.fd(), change_.runs[0].at));
    put_back_time(file.fd());
    RETURN_IF_ERROR(sync ? disk_.sync(file.fd()) : Result<void>());
    return true;
  }

  [[nodiscard]] Result<bool> rewrite(const Dir& folder, const File& file, const IsAsRead& is_same, bool sync) const {
    ASSIGN_OR_RETURN(const auto draft, TempFile::create(disk_, folder, 0600));
    RETURN_IF_ERROR(draft->keep_attributes(file));
    const auto copy = [&](std::uint64_t at, std::uint64_t until) -> Result<void> {
      for (; at < until; at += std::min(kStep, until - at)) {
        ASSIGN_OR_RETURN(const auto bytes, file.read(at, std::min(kStep, until - at)));
        RETURN_IF_ERROR(draft->write(bytes));
      }
      return {};
    };
    std::uint64_t at = 0;
    for (const WrittenRun& run : change_.runs) {
      RETURN_IF_ERROR(copy(at, run.at));
      RETURN_IF_ERROR(draft->write(run.before));
      at = run.at + run.length;
    }
    RETURN_IF_ERROR(copy(at, change_.size));
    RETURN_IF_ERROR(draft->finish(false));
    put_back_time(draft->fd());
    RETURN_IF_ERROR(draft->finish(sync));
    return draft->replace(name_, is_same);
  }

  Disk& disk_;
  const FileChange change_;
  std::string folder_;
  std::string name_;
};

Error unreadable() {
  return {Errc::unsupported, "its line in the list of operations cannot be read; another version of arborfs wrote it"};
}

std::string text_in(const std::string& literal) {
  return skim::string_value(literal).value_or("");
}

std::int64_t time_in(const std::string& literal) {
  return std::strtoll(text_in(literal).c_str(), nullptr, 10);
}

std::string changeset_in(const Effect& effect) {
  return json::decode_base64(text_in(effect.after));
}

/// Takes back what one operation changed.
class Undo {
 public:
  Undo(Writer& writer, const Operation& operation, const std::vector<Trashed>& trash, const RestoreTrashed& restore,
       bool force)
      : writer_(writer),
        catalog_(writer.catalog()),
        operation_(operation),
        trash_(trash),
        restore_(restore),
        force_(force),
        session_(find_session()) {}

  /// True if something is left to do. Errors: those of undo().
  [[nodiscard]] Result<bool> look() {
    bool is_left = false;
    for (const Effect& effect : operation_.effects) {
      ASSIGN_OR_RETURN(const Stand stand, look_at(effect));
      is_left = is_left || stand == Stand::as_left;
    }
    return is_left;
  }

  Result<void> run() {
    const auto has_any = [&](std::initializer_list<EffectKind> kinds) {
      return std::any_of(operation_.effects.begin(), operation_.effects.end(), [&](const Effect& effect) {
        return std::find(kinds.begin(), kinds.end(), effect.kind) != kinds.end();
      });
    };
    const bool locks_itself =
        has_any({EffectKind::trash, EffectKind::session, EffectKind::mark, EffectKind::place, EffectKind::times});
    const bool is_in_log = has_any({EffectKind::file, EffectKind::rows, EffectKind::leaf});
    if (locks_itself || !is_in_log || operation_.session.empty()) {
      return take_back_all();
    }
    return session_ == nullptr ? Result<void>(session_gone())
                               : writer_.under_lock(
                                     session_, [this] { return take_back_all(); }, force_);
  }

 private:
  [[nodiscard]] Error session_gone() const {
    return {Errc::not_found, "the session " + operation_.session + " of " + operation_.agent + " is gone"};
  }

  [[nodiscard]] SessionPtr find_session() const {
    std::uint8_t number = 0;
    for (const auto& store : catalog_.stores()) {
      const LogPlace place{operation_.place.folder, operation_.place.file, number++};
      auto there = store->paths().agent_dir == operation_.dir ? catalog_.at(place) : nullptr;
      if (there != nullptr) {
        return there;
      }
    }
    const auto found = operation_.session.empty() ? Result<SessionPtr>(Errc::not_found, "")
                                                  : catalog_.find(operation_.agent + ":" + operation_.session);
    return found ? *found : nullptr;
  }

  [[nodiscard]] const Trashed* trashed(const Effect& effect) const {
    const auto found =
        std::find_if(trash_.begin(), trash_.end(), [&](const Trashed& one) { return one.name == effect.what; });
    return found == trash_.end() ? nullptr : &*found;
  }

  [[nodiscard]] Disk& disk() const {
    return session_ ? session_->store().disk() : (*catalog_.stores().begin())->disk();
  }

  [[nodiscard]] Result<Stand> look_at(const Effect& effect) {
    switch (effect.kind) {
      case EffectKind::file: {
        const auto change = file_change_of(effect);
        return change ? ChangedFile(disk(), *change).look() : Result<Stand>(unreadable());
      }
      case EffectKind::trash:
        return effect.after == "true" ? look_in_trash(effect) : look_at_session(session_ != nullptr);
      case EffectKind::session:
        return look_at_new(effect);
      case EffectKind::notes:
        return look_at_notes(effect);
      case EffectKind::rows:
        return look_at_rows(effect);
      case EffectKind::leaf:
        return look_at_leaf(effect);
      case EffectKind::mark:
        return look_at_mark(effect);
      case EffectKind::place:
        return look_at_place(effect);
      case EffectKind::times:
        return look_at_time(effect);
    }
    return unreadable();
  }

  /// `change` says in words what else happened to it.
  static Result<Stand> stand_of(bool is_left, bool is_before, const std::string& change) {
    return is_left     ? Result<Stand>(Stand::as_left)
           : is_before ? Result<Stand>(Stand::as_before)
                       : changed_since(change);
  }

  [[nodiscard]] static Result<Stand> look_at_rows(const Effect& effect) {
    ASSIGN_OR_RETURN(const auto now, sqlite::rows_now(effect.what, changeset_in(effect)));
    return stand_of(now == sqlite::RowsNow::as_changed, now != sqlite::RowsNow::other,
                    "another program changed the session's rows in " + effect.what);
  }

  [[nodiscard]] static Result<Stand> look_at_time(const Effect& effect) {
    ASSIGN_OR_RETURN(const auto stat, Dir::stat_root(effect.what));
    return stand_of(stat.mtime_ns == time_in(effect.after), stat.mtime_ns == time_in(effect.before),
                    effect.what + " was written");
  }

  [[nodiscard]] Result<Stand> look_at_leaf(const Effect& effect) const {
    if (session_ == nullptr) {
      return session_gone();
    }
    const std::string now = leaves().text(session_->place().file);
    return stand_of(now == text_in(effect.after), now == text_in(effect.before), "the leaf was moved");
  }

  [[nodiscard]] static std::optional<Mark> mark_in(const Effect& effect) {
    for (const Mark mark : {Mark::archived, Mark::pinned}) {
      if (effect.what == mark_name(mark)) {
        return mark;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] Result<Stand> look_at_mark(const Effect& effect) const {
    const auto mark = mark_in(effect);
    if (session_ == nullptr || !mark) {
      return session_ == nullptr ? session_gone() : unreadable();
    }
    return is_marked(session_->store(), session_->place(), *mark) == (effect.after == "true") ? Stand::as_left
                                                                                              : Stand::as_before;
  }

  /// Which steps were made, and whether these are as they were left, is looked at when it is put back.
  [[nodiscard]] Result<Stand> look_at_place(const Effect& effect) const {
    RETURN_IF_ERROR(read_relocation(effect.after));
    return session_ == nullptr ? Result<Stand>(session_gone()) : Stand::as_left;
  }

  [[nodiscard]] Result<Stand> look_in_trash(const Effect& effect) const {
    if (trashed(effect) != nullptr) {
      return Stand::as_left;
    }
    return session_ != nullptr
               ? Result<Stand>(Stand::as_before)
               : Error{Errc::not_found, "the session " + operation_.session +
                                            " is no longer in the trash, under the name " + effect.what};
  }

  [[nodiscard]] static Result<Stand> look_at_session(bool is_there) {
    return is_there ? Stand::as_left : Stand::as_before;
  }

  [[nodiscard]] Result<Stand> look_at_new(const Effect& effect) const {
    if (session_ == nullptr) {
      return Stand::as_before;
    }
    RETURN_IF_ERROR(session_->refresh(Depth::head));
    return effect_of_new(session_->stat()).after == effect.after
               ? Result<Stand>(Stand::as_left)
               : changed_since("the session " + operation_.session + " was written");
  }

  [[nodiscard]] Result<Stand> look_at_notes(const Effect& effect) const {
    if (session_ == nullptr) {
      return session_gone();
    }
    ASSIGN_OR_RETURN(const auto now, catalog_.noted_of(*session_));
    return stand_of(*now == noted_in(effect.after), *now == noted_in(effect.before),
                    "its tags, labels or title were changed");
  }

  Result<void> take_back_all() {
    for (auto effect = operation_.effects.rbegin(); effect != operation_.effects.rend(); ++effect) {
      ASSIGN_OR_RETURN(const Stand stand, look_at(*effect));
      RETURN_IF_ERROR(stand == Stand::as_left ? take_back(*effect) : Result<void>());
    }
    return {};
  }

  Result<void> take_back(const Effect& effect) {
    switch (effect.kind) {
      case EffectKind::file:
        return take_back_file(*file_change_of(effect));
      case EffectKind::trash:
        return effect.after == "true" ? restore_(*trashed(effect)) : writer_.remove(session_, force_);
      case EffectKind::session:
        return remove_made();
      case EffectKind::notes: {
        const auto done = catalog_.notes().put(Notes::key_of(*session_), noted_in(effect.before), syncs());
        session_->reload_notes();
        return done ? Result<void>() : Result<void>(done.error());
      }
      case EffectKind::rows:
        return sqlite::revert_rows(
            effect.what, changeset_in(effect),
            syncs() ? sqlite::Transaction::Sync::full : sqlite::Transaction::Sync::left_to_kernel);
      case EffectKind::mark:
        return writer_.set_mark(session_, *mark_in(effect), effect.before == "true", force_);
      case EffectKind::place: {
        ASSIGN_OR_RETURN(auto made, read_relocation(effect.after));
        return writer_.put_back({std::move(made)});
      }
      case EffectKind::times:
        return put_back_time(effect);
      case EffectKind::leaf: {
        auto done = leaves().put_text(session_->place().file, text_in(effect.before), syncs());
        session_->reload_leaf();
        return done;
      }
    }
    return unreadable();
  }

  /// With the folders that are empty then.
  Result<void> remove_made() {
    const std::filesystem::path top(session_->store().paths().sessions);
    std::filesystem::path folder = std::filesystem::path(session_->store().path_of(session_->place())).parent_path();
    RETURN_IF_ERROR(writer_.remove(session_, force_));
    for (; folder != top && folder.native().starts_with(top.native() + "/"); folder = folder.parent_path()) {
      const auto above = Dir::open_root(folder.parent_path().string());
      if (!above || !disk().remove_folder(*above, folder.filename().string())) {
        break;
      }
    }
    return {};
  }

  /// The lines that go are no longer protected first: another process may read the log at once.
  Result<void> take_back_file(const FileChange& change) {
    const ChangedFile file(disk(), change);
    const std::string lines = session_ == nullptr ? "" : file.lines();
    const std::string log = session_ == nullptr ? "" : session_->place().file;
    const std::size_t forgotten = lines.empty() ? 0 : erased().forget_lines(log, lines);
    auto done = file.take_back(syncs());
    if (!done && forgotten != 0) {
      erased().acknowledge(log, lines);
    }
    return done;
  }

  Result<void> put_back_time(const Effect& effect) const {
    const std::filesystem::path path(effect.what);
    ASSIGN_OR_RETURN(const auto above, Dir::open_root(path.parent_path().string()));
    const auto folder = above.open_in(path.filename().string());
    const auto file = folder ? Result<File>(Errc::not_found, "") : File::open_in(above, path.filename().string());
    RETURN_IF_ERROR(folder || file ? Result<void>() : Result<void>(file.error()));
    return disk().set_mtime(folder ? folder->fd() : file->fd(), time_in(effect.before));
  }

  [[nodiscard]] bool syncs() const { return writer_.settings().durability == Durability::synced; }
  [[nodiscard]] ErasedEntries& erased() const { return catalog_.state_of(*session_).erased; }
  [[nodiscard]] LeafStore& leaves() const { return catalog_.state_of(*session_).leaves; }

  Writer& writer_;
  Catalog& catalog_;
  const Operation& operation_;
  const std::vector<Trashed>& trash_;
  const RestoreTrashed& restore_;
  const bool force_;
  const SessionPtr session_;
};

std::string sentence_of(const OperationGroup& group) {
  const Operation& first = group.first();
  std::string words = "took back '" + first.verb + "'";
  if (group.sessions() > 1) {
    return words + " of " + counted(group.sessions(), "session");
  }
  if (!first.session.empty()) {
    words += " of the session " + first.session + (first.title.empty() ? "" : " (" + first.title + ")");
  }
  return words;
}

}  // namespace

Result<OperationGroup> find_operation(const Operations& operations, std::string_view id) {
  ASSIGN_OR_RETURN(const auto all, operations.all());
  const auto groups = grouped_operations(all);
  const auto fits = [&](const OperationGroup& group) {
    return id.empty()
               ? !group.is_undone
               : std::any_of(group.parts.begin(), group.parts.end(), [&](const auto& one) { return one.id == id; });
  };
  const auto found = std::find_if(groups.rbegin(), groups.rend(), fits);
  if (found == groups.rend()) {
    return Error{Errc::not_found, id.empty() ? "there is nothing to take back"
                                             : "no operation has this id; 'arborfs undo --list' lists them"};
  }
  if (found->is_undone) {
    return Error{Errc::invalid_argument, "this operation was taken back already"};
  }
  return *found;
}

Result<std::string> undo(Writer& writer, const OperationGroup& group, const RestoreTrashed& restore, bool force) {
  if (const std::string cannot = group.cannot(); !cannot.empty()) {
    return Error{Errc::unsupported, "'" + group.first().verb + "' cannot be taken back: " + cannot};
  }
  const auto trash = Trash(writer.settings().trash).list();
  std::vector<Undo> left;
  for (auto part = group.parts.rbegin(); part != group.parts.rend(); ++part) {
    Undo one(writer, *part, trash, restore, force);
    ASSIGN_OR_RETURN(const bool is_left, one.look());
    if (is_left) {
      left.push_back(std::move(one));
    }
  }
  Operations& operations = writer.catalog().operations();
  {
    const Operations::Muted muted(operations);
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (const auto done = left[i].run(); !done) {
        const std::string so_far = i == 0 ? ""
                                          : "; " + counted(i, "session") + " of " + std::to_string(left.size()) +
                                                " were taken back already, and undo goes on with the others";
        return Error{done.error().code, done.error().message + so_far};
      }
    }
  }
  Operation note = group.first();
  note.verb = "undo";
  note.undoes = note.id;
  note.with.clear();
  note.effects.clear();
  operations.add(std::move(note));
  return sentence_of(group);
}

}  // namespace arborfs
