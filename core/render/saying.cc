// RecordRenderer::saying: what an entry says, for the name of its session.
#include <utility>

#include "core/render/record_renderer.h"

namespace arborfs {
namespace {

bool is_summary(std::string_view name) {
  return name == "compaction" || name == "summary" || name == "branch_summary";
}

/// Keeps what goes before, and of equals the first.
void keep(Saying& best, Saying::By by, std::string text) {
  if (by > best.by && text.find_first_not_of(" \t\r\n") != std::string::npos) {
    best = {by, std::move(text)};
  }
}

}  // namespace

Saying RecordRenderer::saying(const SpokenEntry& entry) const {
  std::vector<Turn> turns;
  add_turns(entry, turns);
  Saying best;
  std::string typed;
  for (const Turn& turn : turns) {
    for (const TurnPart& part : turn.parts) {
      const bool is_text = part.kind == TurnPart::Kind::text || part.kind == TurnPart::Kind::tool_result;
      if (!is_text) {
        continue;
      }
      if (turn.speaker != Turn::Speaker::user) {
        keep(best, Saying::By::other, part.text);
        continue;
      }
      keep(best, Saying::By::command, command_in(part.text));
      const std::string own = turn.is_note && !is_summary(entry.name) ? "" : typed_in(part.text);
      turn.is_note ? keep(best, Saying::By::other, own)
                   : void(typed.append(typed.empty() || own.empty() ? "" : " ").append(own));
    }
  }
  keep(best, Saying::By::person, std::move(typed));
  return best;
}

}  // namespace arborfs
