#include "core/formats/codex/editor.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/formats/codex/thread_lock.h"
#include "core/write/resolve_target.h"

namespace arborfs::codex {
namespace {

/// The segment of a thread with which Codex goes on; null if the log is no thread.
const Segment* active_segment(const LogSource& log) {
  const auto* const thread = dynamic_cast<const SegmentsLog*>(&log);
  if (thread == nullptr) {
    return nullptr;
  }
  const std::string& active = thread->facts().active;
  const auto found = std::find_if(thread->segments().begin(), thread->segments().end(),
                                  [&](const Segment& segment) { return segment.id == active; });
  return found == thread->segments().end() ? &thread->segments().back() : &*found;
}

}  // namespace

Result<void> LogPlan::start(const Session::Guard& now) {
  index = &now.index();
  leaf_entry = now.leaf();
  leaf = leaf_entry == kNoEntry ? "" : index->id(leaf_entry).text;
  return {};
}

Result<AppendResult> LogPlan::add(const NewTurns& added, const std::string& at) {
  if (!at.empty()) {
    ASSIGN_OR_RETURN(const auto found, find_leaf_target(*index, at));
    if ((found == kNoEntry ? "" : index->id(found).text) != leaf) {
      return Error{Errc::stale, "that entry is not the leaf; move the leaf there first: write it to branch"};
    }
  }
  RETURN_IF_ERROR(added.check_leaf(leaf));
  AsText none;
  NewRecords more(thread, records->end());
  for (const Turn& turn : added.turns) {
    RETURN_IF_ERROR(more.add(turn, none));
  }
  RETURN_IF_ERROR(more.finish());
  records->join(more);
  return AppendResult{records->last_id(), std::exchange(leaf, records->last_id())};
}

Error no_thread_of_codex() {
  return {Errc::read_only,
          "the first line of the thread's file is no session_meta record, so Codex does not resume the thread; fork it "
          "instead"};
}

Result<void> Editor::check(const Session::Guard& now) const {
  RETURN_IF_ERROR(check_takes(now.format(), "append"));
  RETURN_IF_ERROR(now.index().header().check_valid());
  const Segment* const active = active_segment(*now.log());
  if (guard_ == Guard::none || active == nullptr) {
    return {};
  }
  if (active->head.kind == RolloutKind::none) {
    return no_thread_of_codex();
  }
  if (active->file->is_decoded()) {
    return Error{Errc::read_only,
                 "Codex has compressed the thread's file; resume the thread once in Codex, which "
                 "unpacks it, or fork it"};
  }
  return {};
}

Result<std::unique_ptr<LogWriter>> Editor::lock(const SessionPtr& session, Wait wait) {
  if (guard_ == Guard::none) {
    return std::unique_ptr<LogWriter>();
  }
  return lock_thread(threads_of(*session), session->stem(), wait == Wait::no ? WaitForThread::no : WaitForThread::yes);
}

Result<void> Editor::probe(const SessionPtr& session) {
  return guard_ == Guard::none ? Result<void>() : check_not_loaded(threads_of(*session), session->stem());
}

Result<std::unique_ptr<Plan>> Editor::begin(const SessionPtr& session) {
  if (guard_ == Guard::none) {
    return std::unique_ptr<Plan>(std::make_unique<LogPlan>(std::string(session->place().stem()), std::nullopt));
  }
  std::shared_ptr<const LogSource> log;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    log = guard.log();
  }
  const Segment* const active = active_segment(*log);
  if (active == nullptr) {
    return session_changed();
  }
  const bool is_paginated = active->head.kind == RolloutKind::paginated;
  ASSIGN_OR_RETURN(auto end, read_end(*active->file, active->id, is_paginated));
  return std::unique_ptr<Plan>(std::make_unique<LogPlan>(std::string(session->place().stem()), std::move(end)));
}

/// A torn last line is never joined to the next one: Codex skips it.
Result<void> Editor::complete(const SessionPtr& session, const Held& held, Plan& planned) {
  auto& plan = static_cast<LogPlan&>(planned);
  if (!plan.records || plan.records->lines().empty()) {
    return {};
  }
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    const Segment* const active = active_segment(*guard.log());
    if (active == nullptr || !active->file->opened().same_file(held.writer->stat())) {
      return session_changed();
    }
  }
  ASSIGN_OR_RETURN(const auto end, held.writer->version());
  plan.lead = end.lead();
  plan.lines = plan.records->lines();
  if (!plan.records->last_id().empty()) {
    plan.last = {EntryId::Kind::string, plan.records->last_id()};
  }
  return {};
}

const ThreadStore& threads_of(const Session& session) {
  return dynamic_cast<const ThreadStore&>(session.store());
}

}  // namespace arborfs::codex
