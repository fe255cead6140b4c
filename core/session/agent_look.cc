#include "core/session/agent_look.h"

#include "core/session/program_look.h"

namespace arborfs {

namespace {

std::unique_ptr<AgentLook> look(const SessionStore& store, bool may_be_recent) {
  const AgentFinder* const finder = store.format().agents;
  return finder == nullptr ? look_for_programs(store, may_be_recent) : finder->look(store, may_be_recent);
}

}  // namespace

std::unique_ptr<AgentLook> AgentLook::now(const SessionStore& store) {
  return look(store, false);
}

std::unique_ptr<AgentLook> AgentLook::recent(const SessionStore& store) {
  return look(store, true);
}

}  // namespace arborfs
