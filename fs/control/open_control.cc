// Opens a control file: its verb, session and branch, and the content that a read returns.
#include <algorithm>

#include "core/base/result_macros.h"
#include "core/render/names.h"
#include "core/writer/verb_usage.h"
#include "fs/control/client_process.h"
#include "fs/control/write_ops.h"
#include "fs/nodes/node_families.h"

namespace arborfs {

namespace {

const Verb* verb_of(NodeId node) {
  switch (node.kind()) {
    case Kind::new_control:
      return find_verb("new");
    case Kind::branch_append:
      return find_verb("append");
    default:
      break;
  }
  if (is_view(node.kind())) {
    return find_verb(view_of(node.kind()).name);
  }
  const std::uint32_t place = ControlInodes::verb_place(node);
  return place < all_verbs().size() ? &all_verbs()[place] : nullptr;
}

std::string shown_name(MountState& state, const SessionPtr& session) {
  const auto view = state.catalog.view();
  const auto found = view->where.find(session->number());
  return found == view->where.end() ? session->stem() : found->second.name();
}

Result<std::string> leaf_text(MountState& state, RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, resolve_session(state, call, node, Depth::index));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  const Ordinal leaf = guard.leaf();
  return leaf == kNoEntry ? "root\n" : std::string(guard.index().id(leaf).text) + "\n";
}

}  // namespace

std::string spelled_entry(const LogIndex& index, Ordinal ordinal) {
  const EntryId id = index.id(ordinal);
  const bool is_exact = id.kind != EntryId::Kind::missing && index.find(id.text) == ordinal;
  return is_exact ? std::string(id.text) : "#" + std::to_string(ordinal);
}

Result<ControlFilePtr> WriteOps::open_control(RequestContext& call, NodeId node, pid_t client) {
  MountState& state = vfs_.state();
  ControlFile::Target target;
  target.node = ControlInodes::first_inode(node);
  target.verb = verb_of(node);
  if (target.verb == nullptr) {
    return stale_error();
  }
  const Verb& verb = *target.verb;
  std::string file(verb.name);
  if (node.kind() != Kind::new_control) {
    ASSIGN_OR_RETURN(const auto ref, session_of(state, node));
    target.subject.session = ref.session;
  }
  target.content = [usage = usage_text(verb, target.subject)](RequestContext&) { return Result<std::string>(usage); };
  if (node.kind() == Kind::branch_append) {
    ASSIGN_OR_RETURN(const auto guard, guard_of_entry(state, call, node));
    target.subject.at = spelled_entry(guard.index(), node.item());
    file = "branches/" + names::branch_stem(guard.index(), node.item()) + "/" + file;
  } else if (is_view(node.kind())) {
    ASSIGN_OR_RETURN(auto document, document_of_node(state, call, node));
    target.document = document;
    target.content = [shown = std::move(document)](RequestContext&) { return shown->content->read_all(); };
  } else if (verb.name == "branch") {
    target.content = [&state, node](RequestContext& reading) { return leaf_text(state, reading, node); };
  }
  target.opener = thread_group_of(client);
  target.path_tail = [this, session = target.subject.session, file] {
    return (session ? "/" + shown_name(vfs_.state(), session) : mountpoint_) + "/" + file;
  };
  return std::make_shared<ControlFile>(writes_, open_, std::move(target),
                                       std::make_unique<ControlInodes::Stay>(state.control_inodes, node));
}

}  // namespace arborfs
