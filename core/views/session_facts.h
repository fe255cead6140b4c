// What the mount, the doctor and the command line say of a session. Thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/entry/record_renderer.h"
#include "core/entry/turn.h"
#include "core/entry/views.h"
#include "core/session/catalog.h"
#include "core/session/session.h"

namespace arborfs {

/// The damage of the log that is shown for this state: all of the log's, except an unterminated end that is less than 2
/// s old. None of it is marked as in progress.
std::vector<Damage> shown_damage(const Session::Guard& guard);

/// By its head alone: why the log cannot be read or has no valid header, in words; "" if neither is so. An empty log is
/// a normal state: a program has only made it.
std::string head_problem(const Session::Head& head);

/// The path to `end`, to be read without the guard. Reach::path also has what came before a compaction that begins a
/// path of its own.
SpokenPath spoken_path(const Session& session, const Session::Guard& guard, Ordinal end, Reach reach);

/// A call of a tool without a result, or a result without a call.
struct Unpaired {
  Ordinal entry = kNoEntry;  // that says it; kNoEntry for none of the path
  TurnPart part;
  bool is_last = false;  // a call that only calls and results follow: it may still run
};
/// Those that the agent would send to the model (context.json) as they are (Format::pairing), which models refuse.
/// The caller must have refreshed the session (Depth::index). Errors: those of said_turns.
Result<std::vector<Unpaired>> unpaired_parts(const Session& session);

/// The content of a session's status.json. Reads damaged bytes again to name the whole records in them, and checks for
/// missing blobs and a live agent.
SessionStatus session_status(const Session& session, const Catalog& catalog);

/// The extended attributes of entries and sessions in a mount (CONTRACT.md 2.4): names without prefix, and values
/// without control characters. The caller must have refreshed the session (Depth::index).
using AttributeList = std::vector<std::pair<std::string, std::string>>;

/// id, parent, type, role, timestamp, model, label: those that the entry has. Errors: stale, io.
Result<AttributeList> entry_attributes(const Session& session, Ordinal ordinal);
/// id, agent, cwd, title, leaf, entries, parent-session: those that the session has. Errors: stale.
Result<AttributeList> session_attributes(const Session& session);

}  // namespace arborfs
