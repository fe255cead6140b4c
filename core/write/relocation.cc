#include "core/write/relocation.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/os/environment.h"
#include "core/os/temp_file.h"
#include "core/sqlite/database.h"
#include "core/store/log_writer.h"
#include "core/write/new_file.h"

namespace arborfs {
namespace {

using Edit = Relocation::Edit;
using Row = Relocation::Row;

constexpr std::size_t kPiece = 1 << 20;
constexpr mode_t kPrivate = 0600;

template <class T>
Result<std::optional<T>> if_there(Result<T> found) {
  if (found) {
    return std::optional(*std::move(found));
  }
  return found.error().code == Errc::not_found ? Result<std::optional<T>>(std::nullopt) : found.error();
}

Result<bool> has_name(const Dir& folder, const std::string& name) {
  ASSIGN_OR_RETURN(const auto st, if_there(folder.stat(name)));
  return st.has_value();
}

Result<bool> has_name(const std::optional<Dir>& folder, const std::string& name) {
  return folder ? has_name(*folder, name) : false;
}

/// The old and the new folder of the session's log, as far as they are there.
struct Folders {
  std::optional<Dir> from;
  std::optional<Dir> to;

  static Result<Folders> open(const Store& store, const Relocation& wanted) {
    Folders folders;
    ASSIGN_OR_RETURN(folders.from, if_there(store.folder(wanted.from)));
    ASSIGN_OR_RETURN(folders.to, if_there(store.folder(wanted.to)));
    return folders;
  }
};

Error is_in_the_way(const Store& store, const LogPlace& place, const std::string& name) {
  return {Errc::already_exists, folder_path(store.paths().sessions, place.folder) + "/" + name +
                                    " exists already; move it away and run the command again"};
}

Result<void> check_names(const Store& store, const Relocation& wanted, const Folders& folders) {
  for (const Belonging& item : wanted.files) {
    ASSIGN_OR_RETURN(const bool is_old, has_name(folders.from, item.name));
    ASSIGN_OR_RETURN(const bool is_new, has_name(folders.to, item.name));
    if (is_old && is_new) {
      return is_in_the_way(store, wanted.to, item.name);
    }
    if (item.is_own() && !is_old && !is_new) {
      return Error{Errc::not_found, "the session is gone"};
    }
  }
  return {};
}

/// The folder with the file that is edited.
Result<Dir> folder_of(const Store& store, const Relocation& wanted, const Edit& edit) {
  if (!edit.folder.empty()) {
    return Dir::open_root(edit.folder);
  }
  ASSIGN_OR_RETURN(auto folders, Folders::open(store, wanted));
  ASSIGN_OR_RETURN(const bool is_new, has_name(folders.to, edit.file));
  std::optional<Dir>& holder = is_new ? folders.to : folders.from;
  return holder ? Result<Dir>(*std::move(holder)) : Result<Dir>(Errc::not_found, "the session is gone");
}

Result<bool> has_text(const File& file, std::uint64_t size, const Edit& edit, const std::string& text) {
  const bool needs_end = text.empty() || (edit.after.empty() && &text == &edit.before);
  if (size < edit.offset + text.size() || (needs_end && size != edit.offset + text.size())) {
    return false;
  }
  ASSIGN_OR_RETURN(const auto bytes, file.read(edit.offset, text.size()));
  return bytes == text;
}

/// False if it is made already.
Result<bool> is_to_be_made(const File& file, std::uint64_t size, const Edit& edit) {
  ASSIGN_OR_RETURN(const bool is_made, has_text(file, size, edit, edit.after));
  if (is_made) {
    return false;
  }
  ASSIGN_OR_RETURN(const bool is_as_before, has_text(file, size, edit, edit.before));
  return is_as_before
             ? Result<bool>(true)
             : Result<bool>(Errc::stale, edit.file + " was written to meanwhile, so that it cannot be changed here");
}

Result<void> copy_part(const File& file, std::uint64_t from, std::uint64_t end, TempFile& into) {
  while (from < end) {
    ASSIGN_OR_RETURN(const auto bytes, file.read(from, std::min<std::uint64_t>(kPiece, end - from)));
    RETURN_IF_ERROR(bytes.empty() ? Result<void>(log_changed()) : into.write(bytes));
    from += bytes.size();
  }
  return {};
}

/// Ends a draft, whose file has this modification time then.
Result<void> finish(TempFile& draft, std::int64_t time_ns, Disk& disk, bool sync) {
  RETURN_IF_ERROR(draft.finish(false));
  RETURN_IF_ERROR(disk.set_mtime(draft.fd(), time_ns));
  return sync ? disk.sync(draft.fd()) : Result<void>();
}

/// Not for a file that is there with this text already.
Result<void> make_file(Disk& disk, const Dir& folder, const Edit& edit, bool sync) {
  ASSIGN_OR_RETURN(const bool is_there, has_name(folder, edit.file));
  if (is_there) {
    return {};
  }
  remove_leftovers(disk, folder);
  ASSIGN_OR_RETURN(const auto draft, TempFile::create(disk, folder, kPrivate));
  RETURN_IF_ERROR(draft->write(edit.after));
  RETURN_IF_ERROR(finish(*draft, edit.time_ns, disk, sync));
  RETURN_IF_ERROR(draft->publish(folder, edit.file, Disk::Existing::keep));
  return sync ? disk.sync_folder(folder) : Result<void>();
}

Result<void> remove_file(Disk& disk, const Dir& folder, const Edit& edit, bool sync) {
  ASSIGN_OR_RETURN(const bool is_there, has_name(folder, edit.file));
  if (!is_there) {
    return {};
  }
  FileStat seen;
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, edit.file, &seen));
  RETURN_IF_ERROR(is_to_be_made(file, seen.size, edit));
  RETURN_IF_ERROR(disk.remove(folder, edit.file));
  return sync ? disk.sync_folder(folder) : Result<void>();
}

/// The file gets a successor with its attributes and its time.
Result<void> make_edit(Disk& disk, const Dir& folder, const Edit& edit, bool sync) {
  FileStat seen;
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, edit.file, &seen));
  ASSIGN_OR_RETURN(const bool is_wanted, is_to_be_made(file, seen.size, edit));
  if (!is_wanted) {
    return {};
  }
  remove_leftovers(disk, folder);
  ASSIGN_OR_RETURN(const auto draft, TempFile::create(disk, folder, kPrivate));
  RETURN_IF_ERROR(draft->keep_attributes(file));
  RETURN_IF_ERROR(copy_part(file, 0, edit.offset, *draft));
  RETURN_IF_ERROR(draft->write(edit.after));
  RETURN_IF_ERROR(copy_part(file, edit.offset + edit.before.size(), seen.size, *draft));
  RETURN_IF_ERROR(finish(*draft, seen.mtime_ns, disk, sync));
  ASSIGN_OR_RETURN(const bool is_done, draft->replace(edit.file, [&](const File& old) {
    const auto now = old.stat();
    return now && *now == seen;
  }));
  RETURN_IF_ERROR(is_done ? Result<void>() : Result<void>(log_changed()));
  return sync ? disk.sync_folder(folder) : Result<void>();
}

/// They come from a file, and are part of statements.
Result<void> check_names(const Row& row) {
  const auto is_name = [](const std::string& name) {
    return !name.empty() &&
           std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  };
  return is_name(row.table) && is_name(row.column) && is_name(row.key_column)
             ? Result<void>()
             : Result<void>(Errc::invalid_argument, "a table or column has an odd name");
}

/// True if each row has its new text.
Result<bool> are_rows_made(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    RETURN_IF_ERROR(check_names(row));
    ASSIGN_OR_RETURN(const auto looking,
                     sqlite::Transaction::begin(row.database, sqlite::Transaction::Sync::left_to_kernel));
    ASSIGN_OR_RETURN(
        auto now, looking.connection().query(
                      "SELECT " + row.column + " FROM " + row.table + " WHERE " + row.key_column + " = ?1", row.key));
    ASSIGN_OR_RETURN(const bool has_row, now.step());
    if (has_row && now.text(0) != row.after) {
      return false;
    }
  }
  return true;
}

Result<void> change_row(const sqlite::Connection& database, const Row& row) {
  RETURN_IF_ERROR(check_names(row));
  const std::string sql = "UPDATE " + row.table + " SET " + row.column + " = ?2 WHERE " + row.key_column +
                          " = ?1 AND " + row.column + " = ?3";
  return database.execute(sql, row.key, row.after, row.before);
}

/// Those of one database in one transaction.
Result<void> change_rows(const std::vector<Row>& rows, bool sync) {
  for (auto at = rows.begin(); at != rows.end();) {
    const auto end = std::find_if(at, rows.end(), [&](const Row& row) { return row.database != at->database; });
    ASSIGN_OR_RETURN(const auto change,
                     sqlite::Transaction::begin(at->database, sync ? sqlite::Transaction::Sync::full
                                                                   : sqlite::Transaction::Sync::left_to_kernel));
    for (; at != end; ++at) {
      RETURN_IF_ERROR(change_row(change.connection(), *at));
    }
    RETURN_IF_ERROR(change.commit());
  }
  return {};
}

/// The new folder, with the permissions of the old one if it is made now.
Result<Dir> new_folder(const Store& store, const Relocation& wanted, const Dir& like) {
  ASSIGN_OR_RETURN(const auto st, like.stat());
  ASSIGN_OR_RETURN(auto there, if_there(store.folder(wanted.to)));
  return there
             ? Result<Dir>(*std::move(there))
             : make_folders(store.disk(), store.paths().sessions, {wanted.to.folder}, st.mode & kAnyPermissions, true);
}

/// The folder of a project whose last session left; one that has other files stays.
void remove_empty_folder(const Store& store, const LogPlace& place) {
  if (const auto sessions = Dir::open_root(store.paths().sessions)) {
    static_cast<void>(store.disk().remove_folder(*sessions, place.folder));
  }
}

Result<void> make_steps(const Store& store, const Relocation& wanted, bool sync) {
  for (const Edit& edit : wanted.edits) {
    if (edit.makes_file()) {
      ASSIGN_OR_RETURN(const auto folder, folder_of(store, wanted, edit));
      RETURN_IF_ERROR(make_file(store.disk(), folder, edit, sync));
    }
  }
  RETURN_IF_ERROR(change_rows(wanted.rows, sync));
  if (!wanted.files.empty()) {
    ASSIGN_OR_RETURN(const auto from, if_there(store.folder(wanted.from)));
    if (from) {
      ASSIGN_OR_RETURN(const auto to, new_folder(store, wanted, *from));
      RETURN_IF_ERROR(move_files(store.disk(), *from, to, wanted.files));
      remove_empty_folder(store, wanted.from);
    }
  }
  for (const Edit& edit : wanted.edits) {
    if (!edit.makes_file()) {
      ASSIGN_OR_RETURN(const auto folder, folder_of(store, wanted, edit));
      const auto make = edit.removes_file() ? remove_file : make_edit;
      RETURN_IF_ERROR(make(store.disk(), folder, edit, sync));
    }
  }
  return {};
}

}  // namespace

FolderMove::FolderMove(const std::string& from, const std::string& to)
    : from_(normal_path(from)), from_resolved_(resolved_path(from_)), to_(resolved_path(to)) {}

std::optional<std::string> FolderMove::now(const std::string& path) const {
  const std::string was = path.empty() ? "" : normal_path(path);
  for (const std::string& from : {from_, from_resolved_}) {
    const bool is_there_already = is_below(to_, from) && is_below(was, to_);
    if (!was.empty() && is_below(was, from) && !is_there_already) {
      return to_ + was.substr(from.size());
    }
  }
  return std::nullopt;
}

Result<Relocation> start_relocation(const Session& session, const FolderMove& move) {
  const Header& header = session.head().header;
  auto cwd = move.now(header.cwd);
  if (!cwd) {
    return Error{Errc::invalid_argument, "the session was not started in " + move.from() + " or below"};
  }
  Relocation wanted;
  wanted.agent = session.agent();
  wanted.id = header.id;
  wanted.sessions = session.store().paths().sessions;
  wanted.from = session.place();
  wanted.to = wanted.from;
  wanted.cwd_before = header.cwd;
  wanted.cwd_after = *std::move(cwd);
  return wanted;
}

Edit edit_of(std::uint64_t offset, std::string_view before, std::string_view after, std::string folder) {
  constexpr std::size_t kContext = 16;  // so that neither text is empty, nor found by chance
  const auto begin = static_cast<std::size_t>(
      std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin());
  const std::size_t most = std::min(before.size(), after.size()) - begin;
  std::size_t end = 0;
  while (end < most && before[before.size() - 1 - end] == after[after.size() - 1 - end]) {
    ++end;
  }
  const std::size_t first = begin - std::min(begin, kContext);
  end -= std::min(end, kContext);
  Edit edit;
  edit.folder = std::move(folder);
  edit.offset = offset + first;
  edit.before = before.substr(first, before.size() - end - first);
  edit.after = after.substr(first, after.size() - end - first);
  return edit;
}

Relocation reversed(Relocation made) {
  std::swap(made.from, made.to);
  std::swap(made.cwd_before, made.cwd_after);
  for (Row& row : made.rows) {
    std::swap(row.before, row.after);
  }
  for (Edit& edit : made.edits) {
    std::swap(edit.before, edit.after);
  }
  return made;
}

std::string relocation_text(const Relocation& made) {
  json::Text rows = json::Text::array();
  for (const Row& row : made.rows) {
    rows.item_json(
        json::Text::array_of({row.database, row.table, row.key_column, row.key, row.column, row.before, row.after})
            .str());
  }
  json::Text files = json::Text::array();
  for (const Belonging& item : made.files) {
    files.item_json(json::Text::array_of({item.name, std::to_string(static_cast<int>(item.role))}).str());
  }
  json::Text edits = json::Text::array();
  for (const Edit& edit : made.edits) {
    edits.item_json(json::Text::array_of({edit.folder, edit.file, std::to_string(edit.offset), edit.before, edit.after,
                                          std::to_string(edit.time_ns)})
                        .str());
  }
  return json::Text::object()
      .add_json("session", json::Text::array_of({made.agent, made.id, made.sessions}).str())
      .add_json("places", json::Text::array_of({made.from.folder, made.from.file, made.to.folder, made.to.file}).str())
      .add_json("cwd", json::Text::array_of({made.cwd_before, made.cwd_after}).str())
      .add_json("rows", rows.str())
      .add_json("files", files.str())
      .add_json("edits", edits.str())
      .str();
}

Result<Relocation> read_relocation(std::string_view text) {
  Relocation made;
  bool is_valid = true;
  const auto texts = [&](std::string_view list, const std::vector<std::string*>& into) {
    skim::Cursor at(list);
    for (std::string* const one : into) {
      const auto value = at.next() ? skim::string_value(at.value()) : std::nullopt;
      is_valid = is_valid && value;
      *one = value.value_or("");
    }
  };
  const auto number = [&](const std::string& digits, auto& into) {
    is_valid = is_valid && std::from_chars(digits.data(), digits.data() + digits.size(), into).ec == std::errc();
  };
  texts(skim::member(text, "session"), {&made.agent, &made.id, &made.sessions});
  texts(skim::member(text, "places"), {&made.from.folder, &made.from.file, &made.to.folder, &made.to.file});
  texts(skim::member(text, "cwd"), {&made.cwd_before, &made.cwd_after});
  for (skim::Cursor at(skim::member(text, "rows")); at.next();) {
    Row& row = made.rows.emplace_back();
    texts(at.value(), {&row.database, &row.table, &row.key_column, &row.key, &row.column, &row.before, &row.after});
  }
  for (skim::Cursor at(skim::member(text, "files")); at.next();) {
    std::string role;
    int known = 0;
    Belonging& item = made.files.emplace_back();
    texts(at.value(), {&item.name, &role});
    number(role, known);
    item.role = static_cast<Belonging::Role>(known);
  }
  for (skim::Cursor at(skim::member(text, "edits")); at.next();) {
    std::string offset;
    std::string time;
    Edit& edit = made.edits.emplace_back();
    texts(at.value(), {&edit.folder, &edit.file, &offset, &edit.before, &edit.after, &time});
    number(offset, edit.offset);
    number(time, edit.time_ns);
  }
  return is_valid ? Result<Relocation>(std::move(made))
                  : Result<Relocation>(Errc::corrupt, "what was relocated cannot be read");
}

Result<void> check_relocation(const Store& store, const Relocation& wanted) {
  if (!wanted.files.empty()) {
    ASSIGN_OR_RETURN(const auto folders, Folders::open(store, wanted));
    RETURN_IF_ERROR(check_names(store, wanted, folders));
  }
  for (const Edit& edit : wanted.edits) {
    ASSIGN_OR_RETURN(const auto folder, folder_of(store, wanted, edit));
    ASSIGN_OR_RETURN(const bool is_there, has_name(folder, edit.file));
    if (!is_there && edit.removes_file()) {  // removed already, or gone on elsewhere: the rows tell
      ASSIGN_OR_RETURN(const bool is_done, are_rows_made(wanted.rows));
      RETURN_IF_ERROR(is_done ? Result<void>() : Result<void>(Errc::stale, edit.file + " was moved meanwhile"));
    }
    if (!is_there && (edit.makes_file() || edit.removes_file())) {
      continue;
    }
    FileStat seen;
    ASSIGN_OR_RETURN(const auto file, File::open_in(folder, edit.file, &seen));
    RETURN_IF_ERROR(is_to_be_made(file, seen.size, edit));
  }
  return {};
}

Result<void> make_relocation(const Store& store, const Relocation& wanted, bool sync) {
  RETURN_IF_ERROR(check_relocation(store, wanted));
  auto done = make_steps(store, wanted, sync);
  if (!done) {
    static_cast<void>(make_steps(store, reversed(wanted), sync));
  }
  return done;
}

}  // namespace arborfs
