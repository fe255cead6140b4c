#include <array>

#include "core/base/result_macros.h"
#include "core/writer/verbs.h"
#include "fs/nodes/node_families.h"

namespace arborfs::control_nodes {

namespace {

Attr control_attr(const MountState& state, NodeId node, std::uint64_t ino) {
  Attr attr{node, ino, FileType::file, CacheTtl::forever, 0, state.mounted_ns};
  attr.writable = true;
  return attr;
}

}  // namespace

bool is_in(const MountState& state, const Session& session, std::string_view verb) {
  const Verb* row = find_verb(verb);
  return !state.read_only && row != nullptr && row->is_taken_by(session.format());
}

namespace {

Result<Attr> attr(MountState& state, RequestContext& call, NodeId node) {
  if (node.kind() == Kind::new_control) {
    return control_attr(state, node, stable_ino(0, word_of(node)));
  }
  ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
  if (node.kind() == Kind::control) {
    if (ControlInodes::verb_place(node) >= all_verbs().size()) {
      return stale_error();
    }
    return control_attr(state, node,
                        stable_ino(ref.seed, word_of(node), all_verbs()[ControlInodes::verb_place(node)].name));
  }
  ASSIGN_OR_RETURN(const auto guard, guard_of_entry(state, call, node));
  return control_attr(state, node, entry_ino(ref.seed, word_of(node), guard.index(), node.item()));
}

}  // namespace

NodeRows rows() {
  static constexpr std::array kRows = {
      file_row(Kind::new_control, "new", attr, nullptr),
      file_row(Kind::control, "control", attr, nullptr),
      file_row(Kind::branch_append, "branch-append", attr, nullptr),
  };
  return kRows;
}

}  // namespace arborfs::control_nodes
