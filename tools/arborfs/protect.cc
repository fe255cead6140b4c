// arborfs protect: keeps sessions from being deleted by their agent.
#include <vector>

#include "core/entry/text.h"
#include "core/store/store_parts.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kSentence = 4096;  // characters

void note(Operations& operations, Operation operation, std::vector<Effect> effects) {
  if (!effects.empty()) {
    operation.effects = std::move(effects);
    operations.add(std::move(operation));
  }
}

Result<std::vector<std::string>> protect_one(const CommandLine& line, Terminal& io) {
  ASSIGN_OR_RETURN(const auto opened, open_session(line, Depth::head, io));
  const Session& session = *opened.of.session;
  const auto* const part = part_of<CanProtect>(session.store());
  if (part == nullptr) {
    return Error{Errc::unsupported, std::string(session.agent()) +
                                        " is not known to delete sessions by itself, so there is nothing to protect"};
  }
  ASSIGN_OR_RETURN(auto done, part->protect(session.place()));
  note(opened.catalog->operations(), operation_on(session, "protect"), std::move(done.effects));
  return std::vector<std::string>{std::move(done.words)};
}

Result<std::vector<std::string>> protect_all(const CommandLine& line, Terminal& io) {
  ASSIGN_OR_RETURN(const auto catalog, open_catalog(line, io));
  std::vector<std::string> changes;
  for (const auto& store : catalog->stores()) {
    if (const auto* const part = part_of<CanProtect>(*store); part != nullptr && store->present()) {
      ASSIGN_OR_RETURN(auto done, part->protect_all());
      changes.push_back(std::move(done.words));
      Operation operation;
      operation.verb = "protect --all";
      operation.agent = store->format().agent;
      operation.dir = store->paths().agent_dir;
      note(catalog->operations(), std::move(operation), std::move(done.effects));
    }
  }
  if (changes.empty()) {
    return Error{Errc::not_found, "there is no store of an agent that deletes sessions by itself, as Claude Code does"};
  }
  return changes;
}

}  // namespace

int run_protect(const CommandLine& line, Terminal& io) {
  if (!line.all && line.session.empty()) {
    return misused(io, "protect", "a session is needed, or --all");
  }
  const auto changes = line.all ? protect_all(line, io) : protect_one(line, io);
  if (!changes) {
    return fail(io, changes.error());
  }
  if (line.json) {
    io.out << terminal_safe_json(JsonText::object().add_json("changed", JsonText::array_of(*changes).str()).str())
           << "\n";
    return kDone;
  }
  for (const std::string& change : *changes) {
    io.out << visible_line(change, kSentence) << "\n";
  }
  return kDone;
}

}  // namespace arborfs::cli
