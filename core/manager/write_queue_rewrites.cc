// Commands that want a session for themselves: logs that are written anew, moved, or only locked.
#include "core/manager/log_rewrite.h"
#include "core/manager/write_queue.h"

namespace arborfs {

/// The first write to a log of version 1 or 2 makes it one of version 3 (FACTS B3).
Result<void> WriteQueue::migrate(const SessionPtr& session, const Lines& lines, const LogVersion& before,
                                 Insist insist) {
  const LogPlace place = session->place();
  auto draft = catalog_.store().draft(place);
  if (!draft) {
    return draft.error();
  }
  if (auto written = write_log_anew(*session, {}, lines.text, **draft); !written) {
    return written;
  }
  if (auto finished = (*draft)->finish(settings_.sync); !finished) {
    return finished;
  }
  auto writer = lock(session, insist);
  if (!writer) {
    return writer.error();
  }
  auto replaced = (*writer)->replace(**draft, before);
  return replaced ? settle(session, **writer, lines) : replaced;
}

Result<void> WriteQueue::exclusive(const SessionPtr& session, bool force,
                                   const std::function<Result<void>(LogWriter&)>& work) {
  return wait_turn(session, [&]() -> Result<void> {
    auto writer = lock(session, insist(force));
    return writer ? work(**writer) : writer.error();
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

/// The log is copied without the lock, and takes its place under it if nobody wrote meanwhile.
Result<void> WriteQueue::rewrite_once(const SessionPtr& session, const RewriteRequest& request) {
  auto writer = lock(session, request.insist);
  const auto before = writer ? (*writer)->version() : Result<LogVersion>(writer.error());
  if (!before) {
    return before.error();
  }
  writer->reset();
  auto draft = catalog_.store().draft(request.move_to.value_or(session->place()));
  if (!draft) {
    return draft.error();
  }
  auto done = request.write(**draft);
  done = done ? (*draft)->finish(settings_.sync) : done;
  if (!done) {
    return done;
  }
  writer = lock(session, request.insist);
  if (!writer) {
    return writer.error();
  }
  if (request.move_to) {
    return move_locked(session, **writer, *before, **draft, *request.move_to);
  }
  auto replaced = (*writer)->replace(**draft, *before);
  return replaced ? settle(session, **writer, Lines{}) : replaced;
}

/// The name first, as the agents do; then the header. When the second fails the first is taken back.
Result<void> WriteQueue::move_locked(const SessionPtr& session, LogWriter& writer, const LogVersion& before,
                                     LogDraft& draft, const LogPlace& to) {
  SessionStore& store = catalog_.store();
  const LogPlace from = session->place();
  if (auto same = writer.verify(before); !same) {
    return same;
  }
  if (auto moved = store.move(from, to); !moved) {
    return moved;
  }
  if (auto put = store.publish(draft, to, Disk::Existing::replace, false); !put) {
    static_cast<void>(store.move(to, from));
    return put;
  }
  writer.release();
  catalog_.relocate(session, to);
  auto read = session->refresh(Depth::index);
  for (const LogPlace& place : {to, from}) {
    const auto folder = store.folder(place);  // none in memory
    auto synced = folder && settings_.sync ? store.disk().sync_folder(*folder) : Result<void>();
    if (!synced) {
      return Error{Errc::io, synced.error().message + "; the session is moved, but a power cut may undo it"};
    }
  }
  return read;
}

}  // namespace arborfs
