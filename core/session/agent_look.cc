#include "core/session/agent_look.h"

#include "core/session/program_look.h"

namespace arborfs {

namespace {

using namespace std::chrono_literals;

std::unique_ptr<AgentLook> look(const SessionStore& store, std::chrono::milliseconds max_age) {
  const AgentFinder* const finder = store.format().agents;
  return finder == nullptr ? look_for_programs(store, max_age) : finder->look(store, max_age);
}

}  // namespace

std::unique_ptr<AgentLook> AgentLook::now(const SessionStore& store) {
  return look(store, 0ms);
}

std::unique_ptr<AgentLook> AgentLook::recent(const SessionStore& store) {
  return look(store, 1s);
}

}  // namespace arborfs
