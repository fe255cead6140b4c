#include "core/session/agent_look.h"

namespace arborfs {

namespace {

/// For formats whose running agents arborfs cannot recognise.
class NoAgents final : public AgentLook {
 public:
  [[nodiscard]] bool is_empty() const override { return true; }
  [[nodiscard]] std::vector<std::string> reasons(const Session& /*session*/, const FileStat& /*now*/,
                                                 const WriteMarks& /*marks*/) const override {
    return {};
  }
  [[nodiscard]] bool is_leased(const Session& /*session*/) const override { return false; }
};

std::unique_ptr<AgentLook> look(const SessionStore& store, bool may_be_recent) {
  const AgentFinder* const finder = store.format().agents;
  return finder == nullptr ? std::make_unique<NoAgents>() : finder->look(store, may_be_recent);
}

}  // namespace

std::unique_ptr<AgentLook> AgentLook::now(const SessionStore& store) {
  return look(store, false);
}

std::unique_ptr<AgentLook> AgentLook::recent(const SessionStore& store) {
  return look(store, true);
}

}  // namespace arborfs
