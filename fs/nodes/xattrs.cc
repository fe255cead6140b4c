#include "fs/nodes/xattrs.h"

#include "core/base/result_macros.h"
#include "core/views/attributes.h"
#include "fs/tree/resolve_session.h"

namespace arborfs {

namespace {

Result<std::vector<std::pair<std::string, std::string>>> facts_of(MountState& state, RequestContext& call,
                                                                  NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::index));
  if (node.kind() == Kind::session) {
    return session_attributes(*ref.session);
  }
  auto facts = entry_attributes(*ref.session, node.item());
  RETURN_IF_ERROR(guard_of(ref));  // fails if the facts were read from another generation
  return facts;
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> xattrs_of(MountState& state, RequestContext& call,
                                                                   NodeId node) {
  const bool has_some = node.kind() == Kind::session || node.kind() == Kind::entry || node.kind() == Kind::text;
  if (!has_some) {
    return std::vector<std::pair<std::string, std::string>>{};
  }
  auto facts = facts_of(state, call, node);
  if (facts) {
    for (auto& [name, value] : *facts) {
      name = "user.arborfs." + name;
    }
  }
  return facts;
}

}  // namespace arborfs
