#include "core/write/pair_repair.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"
#include "core/views/session_facts.h"

namespace arborfs {
namespace {

constexpr std::string_view kInterrupted = "[The call was interrupted: it has no output.]";
constexpr std::size_t kShown = 80;

/// One command, which fails if the leaf is not `leaf` any more.
AppendText outputs_of(const std::vector<Unpaired>& calls, const Format& format, const std::string& leaf, bool force) {
  std::string lines;
  for (const Unpaired& call : calls) {
    std::string line = format.output_json(call.part, kInterrupted);
    if (lines.empty()) {
      line = skim::set_member(std::move(line), "ifLeaf", json::stringify_string(leaf));
      line = force ? skim::set_member(std::move(line), "force", "true") : std::move(line);
    }
    lines += line + "\n";
  }
  return {std::move(lines), true, ""};
}

Result<PairRepair> copy_of(Writer& writer, const SessionPtr& session, const PairRepairWanted& wanted) {
  const std::string name = visible_line(session->identity().id, kShown);
  if (!wanted.copies) {
    return Error{Errc::unsupported,
                 "calls and results can be paired only in a copy; to make one: arborfs doctor --repair " + name};
  }
  PairRepair done{"copy the context to a new session, in which these calls and results are text", ""};
  if (wanted.dry_run) {
    return done;
  }
  ForeignFork fork;
  fork.agent = session->agent();
  ASSIGN_OR_RETURN(const auto copy, writer.fork_to(session, fork));
  done.copy = copy.made.id;
  done.words += ": go on in " + visible_line(done.copy, kShown) + "; " + name + " stays as it was";
  return done;
}

}  // namespace

Result<PairRepair> mend_pairs(Writer& writer, const SessionPtr& session, const PairRepairWanted& wanted) {
  const Session::Use use(session);
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto unpaired, unpaired_parts(*session));
  if (unpaired.empty()) {
    return PairRepair();
  }
  const Format& format = session->format();
  const bool can_append = format.output_json != nullptr && std::all_of(unpaired.begin(), unpaired.end(),
                                                                       [](const Unpaired& one) { return one.is_last; });
  if (!can_append) {
    return copy_of(writer, session, wanted);
  }
  if (!wanted.dry_run) {
    std::string leaf;
    {
      ASSIGN_OR_RETURN(const auto guard, session->read_index());
      leaf = guard.index().id(guard.leaf()).text;
    }
    RETURN_IF_ERROR(writer.append_text(session, outputs_of(unpaired, format, leaf, wanted.force)));
  }
  return PairRepair{"append an output to " + counted(unpaired.size(), "call") + " that says that it was interrupted",
                    ""};
}

}  // namespace arborfs
