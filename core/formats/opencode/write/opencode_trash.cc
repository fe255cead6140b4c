#include "core/formats/opencode/write/opencode_trash.h"

#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opencode/write/diff_files.h"
#include "core/formats/opencode/write/last_message.h"

namespace arborfs {
namespace {

using opencode::check_quiet;
using opencode::RowsSum;
using opencode::SessionRows;
using sqlite::Connection;
using sqlite::Transaction;

constexpr std::string_view kRows = "rows.json";
constexpr mode_t kPrivateFile = 0600;
constexpr std::size_t kBuffered = std::size_t{64} << 10U;
constexpr std::size_t kCacheOfSaving = std::size_t{256} << 10U;
/// How often the sessions are saved again because they changed before they could be removed.
constexpr int kMostTries = 5;

Error sessions_changed() {
  return {Errc::stale, "OpenCode wrote to the session meanwhile; try again"};
}

/// Writes lines to a file in pieces.
class LineFile {
 public:
  LineFile(Disk& disk, UniqueFd fd) : disk_(disk), fd_(std::move(fd)) {}
  Result<void> add(std::string_view line) {
    buffer_ += line;
    return buffer_.size() < kBuffered ? Result<void>() : flush();
  }
  /// The caller syncs the file.
  Result<UniqueFd> finish() && {
    RETURN_IF_ERROR(flush());
    return std::move(fd_);
  }

 private:
  Result<void> flush() {
    RETURN_IF_ERROR(write_all(disk_, fd_.get(), buffer_));
    buffer_.clear();
    return {};
  }
  Disk& disk_;
  UniqueFd fd_;
  std::string buffer_;
};

std::string database_of(const Trashed& trashed) {
  return trashed.sessions + "/" + trashed.place.folder;
}

Result<std::string> text_of(const Dir& folder, std::string_view name) {
  FileStat stat;
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, std::string(name), &stat));
  return file.read(0, stat.size);
}

}  // namespace

/// The saved rows, and the state of the database from which they were read.
struct OpenCodeTrash::Saved {
  std::vector<std::string> sessions;
  UniqueFd file;  // with the rows
  RowsSum sum;
  std::int64_t data_version = 0;
  bool may_be_removed = false;  // after a failure of the commit that a power cut may turn into a success
};

Result<OpenCodeTrash::Saved> OpenCodeTrash::save(const Connection& connection, const std::string& session,
                                                 const TrashFolder& folder, How how) {
  Saved saved;
  RETURN_IF_ERROR(connection.cache_up_to(kCacheOfSaving));
  RETURN_IF_ERROR(connection.run("BEGIN"));
  {
    ASSIGN_OR_RETURN(const auto rows, SessionRows::of(connection));
    ASSIGN_OR_RETURN(saved.sessions, opencode::family_of(connection, session));
    ASSIGN_OR_RETURN(saved.data_version, connection.data_version());
    RETURN_IF_ERROR(how.force ? Result<void>() : check_quiet(connection, saved.sessions));
    ASSIGN_OR_RETURN(auto fd, disk().create(folder.files, std::string(kRows), kPrivateFile));
    LineFile file(disk(), std::move(fd));
    ASSIGN_OR_RETURN(saved.sum, rows.read(saved.sessions, [&](std::string_view line) { return file.add(line); }));
    ASSIGN_OR_RETURN(saved.file, std::move(file).finish());
  }
  RETURN_IF_ERROR(connection.run("COMMIT"));
  RETURN_IF_ERROR(connection.cache_up_to(Connection::kUsualCache));
  return saved;
}

/// Removes exactly the saved rows. Errors: stale if the sessions have changed since.
Result<void> OpenCodeTrash::remove_rows(Connection connection, Saved& saved, How how) {
  ASSIGN_OR_RETURN(const auto change, Transaction::begin(std::move(connection)));
  ASSIGN_OR_RETURN(const auto rows, SessionRows::of(change.connection()));
  ASSIGN_OR_RETURN(const auto version, change.connection().data_version());
  if (version != saved.data_version) {
    ASSIGN_OR_RETURN(const auto sessions, opencode::family_of(change.connection(), saved.sessions.front()));
    ASSIGN_OR_RETURN(const auto sum, rows.read(sessions, [](std::string_view) { return Result<void>(); }));
    if (sessions != saved.sessions || sum != saved.sum) {
      return sessions_changed();
    }
    RETURN_IF_ERROR(how.force ? Result<void>() : check_quiet(change.connection(), sessions));
  }
  RETURN_IF_ERROR(rows.remove(saved.sessions, saved.sum.rows));
  auto done = change.commit();
  if (!done && !change.is_surely_undone()) {
    saved.may_be_removed = true;
    return Error{done.error().code, done.error().message + "; a copy of the session is in the trash"};
  }
  return done;
}

Result<Trashed> OpenCodeTrash::try_take(const SessionStore& store, const LogPlace& place, const std::string& title,
                                        How how) {
  const Trashed trashed = describe(store, place, title);
  const opencode::DiffFiles diffs(disk(), trashed.sessions);
  ASSIGN_OR_RETURN(auto connection, Transaction::connect(database_of(trashed), how.sync));
  ASSIGN_OR_RETURN(const auto there, make_folder(trashed));
  auto saved = save(connection, std::string(place.stem()), there, how);
  auto done = saved ? diffs.copy_to(there.files, saved->sessions) : Result<void>(saved.error());
  done = done ? write_note(there, trashed, {{saved->file.get()}, {&there.files}}) : done;
  if (!done) {
    drop(there);
    return done.error();
  }
  if (done = remove_rows(std::move(connection), *saved, how); !done) {
    if (!saved->may_be_removed) {
      drop(there);
    }
    return done.error();
  }
  diffs.remove(saved->sessions);
  return trashed;
}

Result<Trashed> OpenCodeTrash::take(const SessionStore& store, const LogPlace& place, const std::string& title,
                                    How how) {
  for (int tries = 1;; ++tries) {
    auto taken = try_take(store, place, title, how);
    if (taken || taken.error().code != Errc::stale || tries == kMostTries) {
      return taken;
    }
  }
}

Result<void> OpenCodeTrash::restore(const Trashed& trashed) {
  ASSIGN_OR_RETURN(const auto there, open(trashed));
  RETURN_IF_ERROR(lock_for_restore(there));
  ASSIGN_OR_RETURN(const auto lines, text_of(there.files, kRows));
  const auto sessions = opencode::sessions_in(lines);
  if (sessions.empty()) {
    return Error{Errc::corrupt, "the rows of the session in the trash cannot be read"};
  }
  const opencode::DiffFiles diffs(disk(), trashed.sessions);
  {
    ASSIGN_OR_RETURN(const auto change, Transaction::begin(database_of(trashed), Transaction::Sync::full));
    ASSIGN_OR_RETURN(const auto rows, SessionRows::of(change.connection()));
    const auto family = opencode::family_of(change.connection(), sessions.front());
    const auto present =
        family ? rows.read(*family, [](std::string_view) { return Result<void>(); }) : Result<RowsSum>(family.error());
    if (!present || *present != opencode::sum_of(lines)) {
      RETURN_IF_ERROR(rows.insert(lines));
      RETURN_IF_ERROR(diffs.copy_back(there.files, sessions));
      RETURN_IF_ERROR(change.commit());
    }
  }
  drop(there);
  return {};
}

}  // namespace arborfs
