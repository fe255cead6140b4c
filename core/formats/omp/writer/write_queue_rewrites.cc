// Commands that need a session to themselves: rewrites, moves, and work under the log's lock.
#include "core/base/result_macros.h"
#include "core/formats/omp/writer/log_rewrite.h"
#include "core/formats/omp/writer/write_queue.h"

namespace arborfs {

namespace {

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

}  // namespace

/// Writes lines that cannot just be appended: the first write to a log of version 1 or 2 migrates it to version 3
/// (omp/FORMAT.md B3), and a title slot of another length cannot be overwritten.
Result<void> WriteQueue::rewrite_with(const SessionPtr& session, std::unique_ptr<LogWriter> writer, const Lines& lines,
                                      LivePolicy policy) {
  const LogPlace place = session->place();
  ASSIGN_OR_RETURN(const auto before, writer->version());
  ASSIGN_OR_RETURN(auto late, LateLines::of(session->store(), place));
  writer.reset();
  ASSIGN_OR_RETURN(const auto draft, session->store().redraft(place, place));
  ASSIGN_OR_RETURN(const auto copied, write_log_anew(*session, {{}, lines.slot, lines.text}, *draft));
  RETURN_IF_ERROR(draft->finish(settings_.sync));
  RETURN_IF_ERROR(late.note_copied(copied.stat));
  if (copied.stat.size != lines.size) {
    return log_changed();
  }
  ASSIGN_OR_RETURN(auto again, lock(session, policy));
  RETURN_IF_ERROR(late.check_unchanged());
  RETURN_IF_ERROR(again->replace(*draft, before));
  return settle_rewrite(session, *again, lines, late);
}

/// Late appends are carried over before the lock is released.
Result<void> WriteQueue::settle_rewrite(const SessionPtr& session, LogWriter& writer, const Lines& lines,
                                        LateLines& late) {
  const auto carried = late.carry_over(session->place());
  auto settled = settle(session, writer, lines);
  const auto synced = carried && settings_.sync ? late.sync(session->place()) : Result<void>();
  return settled ? outcome_of(carried, synced) : settled;
}

Result<void> WriteQueue::exclusive(const SessionPtr& session, bool force,
                                   const std::function<Result<void>(LogWriter&)>& work) {
  return wait_turn(session, [&]() -> Result<void> {
    ASSIGN_OR_RETURN(const auto writer, lock(session, live_policy(force)));
    return work(*writer);
  });
}

Result<void> WriteQueue::rewrite(const SessionPtr& session, const RewriteRequest& request) {
  return wait_turn(session, [&]() -> Result<void> {
    auto done = rewrite_once(session, request);
    for (int attempt = 1; !done && done.error().code == Errc::stale && attempt < kTries; ++attempt) {
      done = rewrite_once(session, request);
    }
    return done;
  });
}

/// Copies the log without the lock and replaces it under the lock. Appends of other programs in between are carried
/// over.
Result<void> WriteQueue::rewrite_once(const SessionPtr& session, const RewriteRequest& request) {
  SessionStore& store = session->store();
  const LogPlace place = session->place();
  auto writer = lock(session, request.policy);
  const auto before = writer ? (*writer)->version() : Result<LogVersion>(writer.error());
  auto late = before ? LateLines::of(store, place) : Result<LateLines>(before.error());
  if (!late) {
    return late.error();
  }
  writer->reset();
  auto draft = store.redraft(place, request.move_to.value_or(place));
  const auto copied = draft ? request.write(**draft) : Result<CopiedLog>(draft.error());
  auto done = copied ? (*draft)->finish(settings_.sync) : Result<void>(copied.error());
  done = done ? late->note_copied(copied->stat) : done;
  if (!done) {
    return done;
  }
  writer = lock(session, request.policy);
  if (writer && !request.is_wanted()) {
    return nobody_waits();
  }
  return writer ? put_in_place(session, **writer, **draft, copied->may_grow, *before, request.move_to, *late)
                : Result<void>(writer.error());
}

/// Under the lock. A program that appends without the lock may do so between any two steps.
Result<void> WriteQueue::put_in_place(const SessionPtr& session, LogWriter& writer, LogDraft& draft, bool may_grow,
                                      const LogVersion& before, const std::optional<LogPlace>& move_to,
                                      LateLines& late) {
  Result<void> done(Errc::stale, "");
  for (int i = 0; i < kTries && !done && done.error().code == Errc::stale; ++i) {
    done = may_grow ? late.catch_up(draft) : late.check_unchanged();
    const auto now = done && late.sees_files() ? writer.version() : Result<LogVersion>(before);
    if (!done || !now) {
      return done ? now.error() : done;
    }
    done = move_to ? move_locked(session, writer, *now, draft, *move_to, late) : writer.replace(draft, *now);
  }
  return done && !move_to ? settle_rewrite(session, writer, Lines{}, late) : done;
}

/// Moves the name first, as the agents do, then changes the header. If the second fails, the first is undone.
Result<void> WriteQueue::move_locked(const SessionPtr& session, LogWriter& writer, const LogVersion& before,
                                     LogDraft& draft, const LogPlace& to, LateLines& late) {
  SessionStore& store = session->store();
  const LogPlace from = session->place();
  RETURN_IF_ERROR(writer.verify(before));
  auto stray = LateLines::of_stray(store, to);
  RETURN_IF_ERROR(store.move(from, to));
  if (auto put = store.publish(draft, to, Disk::Existing::replace, false); !put) {
    static_cast<void>(store.move(to, from));
    return put;
  }
  note_own_write(session, writer.stat(), store.stat(to));
  auto carried = late.carry_over(to, true);
  carried = carried && stray ? stray->carry_over(to, true) : carried;
  carried = carried ? carry_strays(store, from, to) : carried;
  writer.release();
  catalog_.relocate(session, to);
  for (const LogPlace& place : {to, from}) {
    const auto folder = store.folder(place);  // a memory store has none
    auto synced = folder && settings_.sync ? store.disk().sync_folder(*folder) : Result<void>();
    if (!synced) {
      return Error{Errc::io, synced.error().message + "; the session is moved, but a power cut may undo it"};
    }
  }
  carried = carried ? carry_strays(store, from, to) : carried;
  const auto synced = settings_.sync ? late.sync(to) : Result<void>();
  if (auto read = session->refresh(Depth::index); !read) {  // not `stale`, which would make the caller move it again
    return Error{Errc::io, "the session is moved, but the log cannot be read back: " + read.error().message};
  }
  return outcome_of(carried, synced);
}

/// A program that appends by name to a log that has just moved creates a file of that name.
Result<void> WriteQueue::carry_strays(SessionStore& store, const LogPlace& from, const LogPlace& to) {
  auto stray = LateLines::of_stray(store, from);
  return stray ? stray->carry_over(to, true) : Result<void>();
}

}  // namespace arborfs
