#include "core/formats/omp/writer/omp_editor.h"

#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/store/late_lines.h"
#include "core/formats/omp/store/log_files.h"
#include "core/formats/omp/store/omp_log_change.h"

namespace arborfs::omp {
namespace {

constexpr int kTries = 4;  // attempts when other programs append while the log is replaced

Error gone() {
  return {Errc::not_found, "the session is gone"};
}

/// The outcome once the log is in place, depending on whether other programs' late appends were carried over.
Result<void> outcome_of(const Result<void>& carried, const Result<void>& synced) {
  if (!carried) {
    return Error{Errc::io, carried.error().message +
                               "; the log is written, but data that another program appended to it meanwhile is lost"};
  }
  return synced ? Result<void>()
                : Error{Errc::io, synced.error().message +
                                      "; data that another program appended to the log meanwhile may "
                                      "not survive a power cut"};
}

/// A program that appends by name to a log that has just moved creates a file of that name.
Result<void> carry_strays(SessionStore& store, const LogPlace& from, const LogPlace& to) {
  auto stray = LateLines::of_stray(store, from);
  return stray ? stray->carry_over(to, true) : Result<void>();
}

/// Under the lock. A program that appends without the lock may do so between any two steps. `put` gets the log as it is
/// then.
template <class Copy, class Put>
Result<void> put_in_place(Copy& copy, const LogWriter& writer, const Put& put) {
  Result<void> done(Errc::stale, "");
  for (int i = 0; i < kTries && !done && done.error().code == Errc::stale; ++i) {
    RETURN_IF_ERROR(copy.may_grow ? copy.late.catch_up(*copy.draft) : copy.late.check_unchanged());
    auto now = copy.late.sees_files() ? writer.version() : Result<LogVersion>(copy.before);
    done = now ? put(*now) : Result<void>(now.error());
  }
  return done;
}

}  // namespace

Result<void> Plan::start(const Session::Guard& now) {
  batch.emplace(now.index(), now.leaf(), now_ms());
  log = now.log();
  damage = now.index().damage();
  size = now.stat().size;
  is_migrated = now.index().header().migrated;
  moves_leaf = now.leaf() != now.index().leaf();
  return {};
}

Result<void> Editor::check(const Session::Guard& now) const {
  return arborfs::check_writable(now);
}

Result<void> Editor::probe(const SessionPtr& session) {
  SessionStore& store = session->store();
  const LogPlace place = session->place();
  auto folder = store.folder(place);
  if (!folder) {
    return {};  // a memory store has none
  }
  bool is_rewritten = false;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    is_rewritten = guard.index().header().migrated;
  }
  return probe_omp_writer(store.disk(), *std::move(folder), place.file, is_rewritten);
}

Result<std::unique_ptr<LogWriter>> Editor::lock(const SessionPtr& session, Wait /*wait*/) {
  auto writer = log_files(session->store()).writer(session->place());
  return !writer && writer.error().code == Errc::not_found ? gone() : std::move(writer);
}

/// Another daemon may have moved the leaf.
Result<std::unique_ptr<arborfs::Plan>> Editor::begin(const SessionPtr& session) {
  session->reload_leaf();
  return std::unique_ptr<arborfs::Plan>(std::make_unique<Plan>());
}

/// The first write to a log of version 1 or 2 migrates it to version 3 (omp/FORMAT.md B3), and a title slot of another
/// length cannot be overwritten.
Result<void> Editor::complete(const SessionPtr& session, const Held& held, arborfs::Plan& planned) {
  auto& plan = static_cast<Plan&>(planned);
  plan.lines = plan.batch->take_lines();
  bool fits = !plan.anew && !plan.is_migrated;
  if (!plan.lines.empty()) {
    plan.last = plan.batch->leaf();
    plan.protects = true;
    if (fits && !plan.slot.empty()) {
      ASSIGN_OR_RETURN(fits, fits_in_place(*plan.log, plan.slot));
    }
  }
  if (fits) {
    ASSIGN_OR_RETURN(plan.lead, lead_for(*plan.log, plan.damage, held.writer->stat().size));
    plan.at_begin = plan.slot;
    return {};
  }
  if (!plan.anew) {
    const auto write = [session, &plan](LogDraft& draft) -> Result<CopiedLog> {
      ASSIGN_OR_RETURN(auto copied, write_log_anew(*session, {{}, plan.slot, plan.lines}, draft));
      return copied.stat.size == plan.size ? Result<CopiedLog>(std::move(copied)) : log_changed();
    };
    plan.anew = Rewrite{write, [] { return true; }};
  }
  plan.rewrite = [this, session, &plan](Held& held_now) { return rewrite(session, held_now, plan); };
  return {};
}

void Editor::committed(const SessionPtr& session, const arborfs::Plan& plan) {
  if (static_cast<const Plan&>(plan).moves_leaf && !plan.lines.empty()) {
    catalog_.state_of(*session).leaves.forget(session->place().file);
  }
}

std::string Editor::instead(const Session& session) const {
  const std::string id = session.standing().id;
  return ", write to a fork instead (arborfs fork " + (id.empty() ? session.stem() : id) + ")";
}

/// A log that was copied, and is to be replaced by the copy.
struct Editor::Copy {
  std::unique_ptr<LogDraft> draft;
  LateLines late;
  LogVersion before;
  bool may_grow = false;
};

/// Copies the log without the lock, and takes the lock again. Appends of other programs in between are carried over.
Result<Editor::Copy> Editor::copy(const SessionPtr& session, Held& held, const Rewrite& anew, const LogPlace& to) {
  const LogPlace place = session->place();
  const LivePolicy policy = held.policy;
  ASSIGN_OR_RETURN(auto before, held.writer->version());
  ASSIGN_OR_RETURN(auto late, LateLines::of(session->store(), place));
  held.writer.reset();
  ASSIGN_OR_RETURN(auto draft, log_files(session->store()).redraft(place, to));
  ASSIGN_OR_RETURN(const auto copied, anew.write(*draft));
  RETURN_IF_ERROR(draft->finish(syncs_));
  RETURN_IF_ERROR(late.note_copied(copied.stat));
  ASSIGN_OR_RETURN(held, hold_(session, policy));
  if (!anew.is_wanted()) {
    return nobody_waits();
  }
  return Copy{std::move(draft), std::move(late), std::move(before), copied.may_grow};
}

/// Late appends are carried over before the lock is released.
Result<void> Editor::rewrite(const SessionPtr& session, Held& held, Plan& plan) {
  const LogPlace place = session->place();
  ASSIGN_OR_RETURN(auto copied, copy(session, held, *plan.anew, place));
  RETURN_IF_ERROR(put_in_place(copied, *held.writer,
                               [&](const LogVersion& now) { return held.writer->replace(*copied.draft, now); }));
  const auto carried = copied.late.carry_over(place);
  const auto late = std::make_shared<LateLines>(std::move(copied.late));
  plan.last_step = [this, place, carried, late] {
    return outcome_of(carried, carried && syncs_ ? late->sync(place) : Result<void>());
  };
  return {};
}

Result<void> Editor::move(const SessionPtr& session, Held& held, const Rewrite& anew, const LogPlace& to) {
  ASSIGN_OR_RETURN(auto copied, copy(session, held, anew, to));
  return put_in_place(copied, *held.writer,
                      [&](const LogVersion& now) { return move_locked(session, held, now, copied, to); });
}

/// Moves the name first, as the agents do, then changes the header. If the second fails, the first is undone.
Result<void> Editor::move_locked(const SessionPtr& session, Held& held, const LogVersion& before, Copy& copy,
                                 const LogPlace& to) {
  SessionStore& store = session->store();
  const LogPlace from = session->place();
  LateLines& late = copy.late;
  RETURN_IF_ERROR(held.writer->verify(before));
  auto stray = LateLines::of_stray(store, to);
  RETURN_IF_ERROR(log_files(store).move(from, to));
  if (auto put = log_files(store).publish(*copy.draft, to, Disk::Existing::replace, false); !put) {
    static_cast<void>(log_files(store).move(to, from));
    return put;
  }
  if (const auto after = store.stat(to)) {
    catalog_.state_of(*session).marks.note_written(from.file, held.writer->stat(), *after, agents_run(held, *session));
  }
  auto carried = late.carry_over(to, true);
  carried = carried && stray ? stray->carry_over(to, true) : carried;
  carried = carried ? carry_strays(store, from, to) : carried;
  held.writer->release();
  catalog_.relocate(session, to);
  for (const LogPlace& place : {to, from}) {
    const auto folder = store.folder(place);  // a memory store has none
    auto synced = folder && syncs_ ? store.disk().sync_folder(*folder) : Result<void>();
    if (!synced) {
      return Error{Errc::io, synced.error().message + "; the session is moved, but a power cut may undo it"};
    }
  }
  carried = carried ? carry_strays(store, from, to) : carried;
  const auto synced = syncs_ ? late.sync(to) : Result<void>();
  if (auto read = session->refresh(Depth::index); !read) {  // not `stale`, which would make the caller move it again
    return Error{Errc::io, "the session is moved, but the log cannot be read back: " + read.error().message};
  }
  return outcome_of(carried, synced);
}

}  // namespace arborfs::omp
