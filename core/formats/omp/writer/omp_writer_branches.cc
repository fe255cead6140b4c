// Moves a leaf: with a note outside the log, or with an entry at the target.
#include "core/base/result_macros.h"
#include "core/formats/omp/writer/entry_fields.h"
#include "core/formats/omp/writer/omp_writer.h"
#include "core/formats/omp/writer/writable_state.h"
#include "core/log/log_index.h"
#include "core/writer/resolve_target.h"

namespace arborfs {

namespace {

/// Agents do not send it to the model, and continue after it.
constexpr std::string_view kPinType = "arborfs.branch";

Result<EntryDraft> pin_draft(Dialect dialect) {
  return EntryFields("custom").text("customType", kPinType).value("data", "{}").draft(dialect);
}

}  // namespace

/// The entry at which a branch is to end.
struct OmpWriter::Target {
  Dialect dialect = Dialect::omp13;
  Ordinal ordinal = kNoEntry;
  EntryId id;
};

Result<OmpWriter::Target> OmpWriter::find_branch(const SessionPtr& session, const std::string& target, bool force) {
  ASSIGN_OR_RETURN(const auto known, writable_state_of(session));
  Target found{known.dialect, kNoEntry, {}};
  {
    const auto guard = session->read();
    if (!guard) {
      return session_changed();
    }
    ASSIGN_OR_RETURN(found.ordinal, find_leaf_target(guard->index(), target));
    if (found.ordinal != kNoEntry) {
      found.id = guard->index().id(found.ordinal);
    }
  }
  if (!force && found.ordinal != kNoEntry) {
    RETURN_IF_ERROR(check_branch_end(*session, found.ordinal));
  }
  return found;
}

/// Refuses a command if no client waits for it any more: the lock may have taken a while.
Result<MovedLeaf> OmpWriter::move_leaf(const SessionPtr& session, const Target& target, bool force) {
  LeafMove move;
  MovedLeaf moved;
  Command command;
  command.policy = live_policy(force);
  command.work = [&, is_wanted = command.is_wanted](Held& held) -> Result<void> {
    if (!is_wanted()) {
      return nobody_waits();
    }
    {
      const auto guard = session->read();
      if (!guard || target.ordinal > guard->index().size()) {
        return session_changed();
      }
      const LogIndex& index = guard->index();
      const Ordinal last = index.size();
      move.made = {last, last == kNoEntry ? EntryId{} : index.id(last), std::nullopt};
      if (target.ordinal != kNoEntry) {
        move.made.leaf = index.id(target.ordinal);
      }
      moved.leaf = target.ordinal == kNoEntry ? "root" : id_text(*move.made.leaf);
      moved.agent_leaf = index.leaf() == target.ordinal ? "" : id_text(index.id(index.leaf()));
    }
    held.writer->release();
    LeafStore& leaves = catalog().state_of(*session).leaves;
    move.before = leaves.load(session->place().file);
    auto saved = leaves.save(session->place().file, move.made, syncs());
    session->reload_leaf();
    return saved;
  };
  RETURN_IF_ERROR(changes_.make(session, std::move(command)));
  moved.move = std::move(move);
  return moved;
}

Result<void> OmpWriter::move_back(const SessionPtr& session, const LeafMove& move) {
  Command command;
  command.policy = LivePolicy::on_live;
  command.work = [&](Held& held) -> Result<void> {
    held.writer->release();
    LeafStore& leaves = catalog().state_of(*session).leaves;
    const std::string log = session->place().file;
    if (leaves.load(log) != move.made) {
      return {};
    }
    auto done = Result<void>();
    if (move.before) {
      done = leaves.save(log, *move.before, syncs());
    } else {
      leaves.forget(log);
    }
    session->reload_leaf();
    return done;
  };
  return changes_.make(session, std::move(command));
}

Result<void> OmpWriter::check_branch(const SessionPtr& session, const std::string& target) {
  RETURN_IF_ERROR(find_branch(session, target, false));
  return {};
}

Result<MovedLeaf> OmpWriter::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                    bool force, bool pin) {
  ASSIGN_OR_RETURN(const auto found, find_branch(session, target, force));
  if (summary.empty() && !pin) {
    return move_leaf(session, found, force);
  }
  ASSIGN_OR_RETURN(auto draft, summary.empty()
                                   ? pin_draft(found.dialect)
                                   : EntryFields("branch_summary").text("summary", summary).draft(found.dialect));
  AppendCommand command;
  command.force = force;
  command.drafts.push_back(std::move(draft));
  const auto written = append_at(session, std::move(command), [&found](AppendBatch& batch) -> Result<void> {
    if (found.ordinal != kNoEntry && batch.index().find(found.id) == kNoEntry) {
      return {Errc::stale, "another program rewrote the log without the entry; choose another entry"};
    }
    batch.set_leaf(found.id);
    return {};
  });
  RETURN_IF_ERROR(written);
  MovedLeaf moved;
  moved.leaf = written->id;
  (summary.empty() ? moved.pin_id : moved.summary_id) = written->id;
  return moved;
}

}  // namespace arborfs
