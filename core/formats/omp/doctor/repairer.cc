#include "core/formats/omp/doctor/repairer.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/doctor/tree_findings.h"
#include "core/formats/omp/doctor/reference_findings.h"
#include "core/formats/omp/doctor/repairs.h"
#include "core/formats/omp/store/omp_file_lock.h"
#include "core/json/date.h"
#include "core/os/file_tree.h"
#include "core/os/leftover_files.h"
#include "core/os/state_dir.h"
#include "core/render/text.h"
#include "core/session/liveness.h"

namespace arborfs {
namespace {

constexpr mode_t kPrivateFile = 0600;
constexpr std::size_t kStep = 1 << 20;
/// Not in the context (omp/FORMAT.md C19), but the log's last entry, after which agents continue (omp/FORMAT.md C1).
constexpr std::string_view kSignpost = R"({"type":"custom","customType":"arborfs.resume","data":{}})";

/// A name that sorts by time: 2026-02-16T10-20-30-000Z.
std::string folder_of_now() {
  std::string name = json::iso_time(now_ms());
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '.'; }, '-');
  return name;
}

Result<void> copy_bytes(const File& from, Disk& disk, int to) {
  std::string buffer(kStep, '\0');
  for (std::uint64_t at = 0;;) {
    ASSIGN_OR_RETURN(const auto got, from.read_at(at, buffer));
    RETURN_IF_ERROR(write_all(disk, to, std::string_view(buffer).substr(0, got)));
    at += got;
    if (got < buffer.size()) {
      return disk.sync(to);
    }
  }
}

Error live_error(const Liveness& liveness) {
  return {Errc::busy, liveness_words(liveness) + (liveness.state == Liveness::State::live
                                                      ? "; end that program first"
                                                      : "; end that program first, or use --force")};
}

}  // namespace

Repairer::Repairer(OmpWriter& writer, RepairSettings settings)
    : writer_(writer),
      settings_(std::move(settings)),
      copies_((settings_.copies.empty() ? state_path("repaired") : settings_.copies) + "/" + folder_of_now()) {}

SessionStore& Repairer::store_of(const LogPlace& place) const {
  return *writer_.catalog().stores().at(place.store);
}

/// The folder for copies of files in the place's folder. Two stores may have folders and files of the same names.
std::string Repairer::copies_of(const LogPlace& place) const {
  const std::string store = place.store == 0 ? "" : "/store-" + std::to_string(place.store + 1);
  return folder_path(copies_ + store, place.folder);
}

/// Makes a synced copy; replaces one of an earlier attempt.
Result<std::string> Repairer::keep_copy(const File& file, const LogPlace& place) {
  const std::string path = copies_of(place);
  Disk& disk = store_of(place).disk();
  ASSIGN_OR_RETURN(auto folder, make_private_folder(disk, path));
  static_cast<void>(disk.remove(folder, place.file));
  ASSIGN_OR_RETURN(auto fd, disk.create(folder, place.file, kPrivateFile));
  RETURN_IF_ERROR(copy_bytes(file, disk, fd.get()));
  RETURN_IF_ERROR(disk.sync_folder(folder));
  return path + "/" + place.file;
}

Result<std::string> Repairer::keep_copy_of(const Session& session) {
  const LogPlace place = session.place();
  ASSIGN_OR_RETURN(const auto folder, session.store().folder(place));
  ASSIGN_OR_RETURN(const auto log, File::open_in(folder, place.file));
  return keep_copy(log, place);
}

Result<RepairResult> Repairer::mend(const SessionPtr& session) {
  RETURN_IF_ERROR(session->refresh(Depth::index));
  const Liveness liveness = check_liveness(*session, writer_.catalog());
  const bool may =
      liveness.state == Liveness::State::quiet || (liveness.state == Liveness::State::maybe && settings_.maybe_live);
  if (!may) {
    return live_error(liveness);
  }
  RepairResult mended;
  RETURN_IF_ERROR(rewrite(session, mended));
  if (auto done = lead_out_of_dead_end(session, mended); !done) {
    if (mended.words.empty()) {
      return done.error();
    }
    mended.words.push_back("the leaf stays at its dead end: " + visible_line(done.error().message, 400));
  }
  return mended;
}

Result<void> Repairer::rewrite(const SessionPtr& session, RepairResult& mended) {
  ASSIGN_OR_RETURN(auto first_look, plan_repairs(*session, writer_.catalog()));
  if (first_look.edits.empty() || settings_.dry_run) {
    mended.words = std::move(first_look.words);
    return {};
  }
  const auto plan = [&](const Session& now) -> Result<std::vector<LogEdit>> {
    ASSIGN_OR_RETURN(auto copy, keep_copy_of(now));
    ASSIGN_OR_RETURN(auto repairs, plan_repairs(now, writer_.catalog()));
    mended = {std::move(repairs.words), std::move(copy)};
    return std::move(repairs.edits);
  };
  return writer_.edit(session, plan, settings_.maybe_live);
}

Result<void> Repairer::lead_out_of_dead_end(const SessionPtr& session, RepairResult& mended) {
  std::string target;
  std::string words;
  {
    const Ordinal message = message_behind_dead_end(*session, writer_.catalog());
    const auto guard = session->read();
    if (message == kNoEntry || !guard || message > guard->index().size()) {
      return {};
    }
    target = "#" + std::to_string(message);
    words = "put an entry after the newest message, " + entry_words(guard->index(), message) +
            ", from which agents continue";
  }
  if (!settings_.dry_run) {
    ASSIGN_OR_RETURN(auto signpost,
                     json_command(std::string(kSignpost), dialect_of(session->read()->index()), now_ms()));
    signpost.force = settings_.maybe_live;
    if (mended.copy.empty()) {
      ASSIGN_OR_RETURN(mended.copy, keep_copy_of(*session));
    }
    RETURN_IF_ERROR(writer_.append(session, std::move(signpost), target));
  }
  mended.words.push_back(std::move(words));
  return {};
}

Result<RepairResult> Repairer::mend(const OrphanFile& leftover) {
  const SessionStore& store = store_of(leftover.place);
  RETURN_IF_ERROR(check_writable(store.format()));
  ASSIGN_OR_RETURN(const auto folder, leftover.kind == OrphanFile::Kind::blob
                                          ? Dir::open_root(store.paths().blobs)
                                          : store.folder({leftover.place.folder, leftover.log_file}));
  RepairResult mended;
  RETURN_IF_ERROR(clear_away(folder, leftover, mended));
  return mended;
}

Result<void> Repairer::clear_away(const Dir& folder, const OrphanFile& leftover, RepairResult& mended) {
  const bool is_only_copy = leftover.kind == OrphanFile::Kind::backup && !folder.stat(leftover.log_file);
  mended.words.push_back(leftover.kind == OrphanFile::Kind::lock ? "the lock is removed"
                         : is_only_copy ? "the file is renamed to " + visible_line(leftover.log_file, NAME_MAX) +
                                              ", which brings the session back"
                                        : "the file is moved to the copies");
  if (settings_.dry_run) {
    return {};
  }
  if (leftover.kind == OrphanFile::Kind::blob) {
    return put_away(folder, {"blobs", leftover.place.file, leftover.place.store}, mended);
  }
  // Takes over a lock without owner as an agent would. Releasing it removes the lock file.
  const SessionStore& store = store_of(leftover.place);
  const std::string path = folder_path(store.paths().sessions, leftover.place.folder);
  ASSIGN_OR_RETURN(const auto lock, OmpFileLock::take(store.disk(), folder, path, leftover.log_file));
  if (leftover.kind == OrphanFile::Kind::lock) {
    return {};
  }
  return is_only_copy ? bring_back(store.disk(), folder, leftover) : put_away(folder, leftover.place, mended);
}

Result<RepairResult> Repairer::put_away_leftover(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  ASSIGN_OR_RETURN(const auto folder, Dir::open_root(path.substr(0, slash)));
  RepairResult mended;
  mended.words.push_back(visible_line(name, NAME_MAX) + " is moved to the copies");
  if (settings_.dry_run) {
    return mended;
  }
  if (leftover_files(folder, [&](std::string_view one) { return one == name; }).empty() && !is_leftover(folder, name)) {
    return Error{Errc::busy, "a program uses " + path + "; end it and try again"};
  }
  Disk& disk = store_of({}).disk();
  ASSIGN_OR_RETURN(const auto copies, make_private_folder(disk, copies_ + "/leftovers"));
  RETURN_IF_ERROR(copy_tree(disk, folder, name, copies, name));
  RETURN_IF_ERROR(disk.sync_folder(copies));
  mended.copy = copies_ + "/leftovers/" + name;
  RETURN_IF_ERROR(remove_tree(disk, folder, name));
  RETURN_IF_ERROR(disk.sync_folder(folder));
  return mended;
}

Result<void> Repairer::bring_back(Disk& disk, const Dir& folder, const OrphanFile& leftover) {
  RETURN_IF_ERROR(disk.rename(folder, leftover.place.file, folder, leftover.log_file, Disk::Existing::keep));
  return disk.sync_folder(folder);
}

Result<void> Repairer::put_away(const Dir& folder, const LogPlace& place, RepairResult& mended) {
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, place.file));
  ASSIGN_OR_RETURN(mended.copy, keep_copy(file, place));
  Disk& disk = store_of(place).disk();
  RETURN_IF_ERROR(disk.remove(folder, place.file));
  return disk.sync_folder(folder);
}

}  // namespace arborfs
