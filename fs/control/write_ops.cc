#include "fs/control/write_ops.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/entry/names.h"
#include "core/entry/tree.h"
#include "core/write/resolve_target.h"
#include "core/write/verbs.h"
#include "fs/control/client_process.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

void RecursiveRemoves::note(pid_t client, std::uint32_t session) {
  const std::uint64_t process = identity_of(thread_group_of(client));
  if (process == 0) {
    return;
  }
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (last_.size() >= kMost) {
    std::erase_if(last_, [&](const auto& row) { return now - row.second > kMemory; });
  }
  if (last_.size() >= kMost) {
    last_.clear();
  }
  last_[{session, process}] = now;
}

bool RecursiveRemoves::is_at_work(pid_t client, std::uint32_t session) {
  const std::uint64_t process = identity_of(thread_group_of(client));
  const std::lock_guard lock(mutex_);
  const auto found = last_.find({session, process});
  if (found == last_.end() || Clock::now() - found->second > kMemory) {
    return false;
  }
  found->second = Clock::now();
  return true;
}

void RecursiveRemoves::forget(std::uint32_t session) {
  const std::lock_guard lock(mutex_);
  last_.erase(last_.lower_bound({session, 0}), last_.lower_bound({session + 1, 0}));
}

namespace {

Error never_done() {
  return {Errc::not_permitted, "a mount of sessions does not support this"};
}

/// The entry that the last part of a link's target names.
Ordinal entry_of_target(const LogIndex& index, std::string_view target) {
  while (target.ends_with('/')) {
    target.remove_suffix(1);
  }
  return entry_meant(index, target.substr(target.rfind('/') + 1));
}

Result<std::string> label_for_new(const std::string& name) {
  auto label = names::decode_label(name);
  return label ? Result<std::string>(std::move(*label))
               : Result<std::string>(Errc::invalid_argument, "this name cannot be used for a label");
}

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

/// True if the session, or what is left of it, has this name: the kernel may know it by another than the shown one.
bool is_named(MountState& state, const SessionPtr& session, std::string_view name) {
  const auto view = state.catalog.view();
  const auto found = view->where.find(session->number());
  return found == view->where.end() || view->find_in(*found->second.folder, name) == session;
}

/// True if `path` ends with the session's folder and the file in it.
bool leads_to(MountState& state, std::string_view path, const SessionPtr& session, const std::string& file) {
  if (!path.ends_with("/" + file)) {
    return false;
  }
  path.remove_suffix(file.size() + 1);
  return is_named(state, session, path.substr(path.rfind('/') + 1));
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

WriteOps::WriteOps(Vfs& vfs, Writer& writer, InvalidationQueue& queue, std::string mountpoint)
    : vfs_(vfs), writes_(vfs.state(), writer, queue), mountpoint_(std::move(mountpoint)) {}

bool WriteOps::is_control(NodeId node) {
  return node.kind() == Kind::new_control || node.kind() == Kind::control || node.kind() == Kind::branch_append;
}

bool WriteOps::takes_writes(NodeId node) {
  return is_control(node) || (is_view(node.kind()) && find_verb(view_of(node.kind()).name) != nullptr);
}

Result<ControlFilePtr> WriteOps::open_control(RequestContext& call, NodeId node, pid_t client, bool adds) {
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
    target.subject.adds = adds;
  }
  target.content = [&verb, subject = target.subject](RequestContext&) {
    return Result<std::string>(usage_text(verb, subject));
  };
  if (node.kind() == Kind::branch_append) {
    ASSIGN_OR_RETURN(const auto here, state_of(state, call, node));
    target.subject.at = spelled_entry(here.guard.index(), node.item());
    file = "branches/" + names::branch_stem(here.guard.index(), node.item()) + "/" + file;
  } else if (is_view(node.kind())) {
    ASSIGN_OR_RETURN(auto document, document_of_node(state, call, node));
    target.document = document;
    target.content = [shown = std::move(document)](RequestContext&) { return shown->content->read_all(); };
  } else if (verb.name == "branch") {
    target.content = [&state, node](RequestContext& reading) { return leaf_text(state, reading, node); };
  }
  target.opener = thread_group_of(client);
  target.is_path = [this, session = target.subject.session, file](std::string_view path) {
    return session ? leads_to(vfs_.state(), path, session, file) : path.ends_with(mountpoint_ + "/" + file);
  };
  return std::make_shared<ControlFile>(writes_, open_, std::move(target),
                                       std::make_unique<ControlInodes::Lease>(state.control_inodes, node));
}

bool WriteOps::is_inside_session(NodeId folder) const {
  const NodeRow& row = row_of(folder.kind());
  return row.list != nullptr && folder.slot() != 0;
}

/// The session with this name in a project or in children/; null if there is none.
SessionPtr WriteOps::session_at(const NameIn& at) const {
  const auto view = vfs_.state().catalog.view();
  if (at.folder.kind() == Kind::project) {
    const auto project = view->project(at.folder.item());
    return project ? view->find_in(*project, at.name) : nullptr;
  }
  const auto slot = vfs_.state().slots.at(at.folder.slot());
  const auto children = slot ? view->children.find(slot->session) : view->children.end();
  return children != view->children.end() ? view->find_in(*children->second, at.name) : nullptr;
}

/// True if the client removes the session with these children, or one above it, and removing that removes them too.
bool WriteOps::goes_with_starter(NodeId children, pid_t client) {
  const auto view = vfs_.state().catalog.view();
  const auto slot = vfs_.state().slots.at(children.slot());
  auto at = slot ? view->where.find(slot->session) : view->where.end();
  for (; at != view->where.end() && at->second.session()->format().removes_children;
       at = view->where.find(at->second.starter)) {
    if (removals_.is_at_work(client, at->first)) {
      return true;
    }
  }
  return false;
}

std::vector<NodeId> WriteOps::held_folders(const std::vector<NameIn>& names) {
  std::vector<NodeId> held;
  for (const NameIn& at : names) {
    held.push_back(at.folder);
    if (at.folder.kind() != Kind::project && at.folder.kind() != Kind::children) {
      continue;
    }
    if (const auto session = session_at(at)) {
      held.emplace_back(Kind::session, vfs_.state().slots.slot_of(session->number(), 0), 0);
    }
  }
  return held;
}

Result<WriteOps::LabelAt> WriteOps::label_at(RequestContext& call, const NameIn& at) {
  if (at.folder.kind() != Kind::labels) {
    return never_done();
  }
  ASSIGN_OR_RETURN(const auto ref, resolve_session(vfs_.state(), call, at.folder, Depth::index));
  ASSIGN_OR_RETURN(const auto guard, guard_of(ref));
  LabelAt found{ref.session, ""};
  for (const auto& label : named_labels(guard.index())) {
    if (names::encode_label(label.name) == at.name) {
      found.target = spelled_entry(guard.index(), label.target);
    }
  }
  return found;
}

Result<LabelChange> WriteOps::label_wanted(const LabelAt& here, const std::string& name, std::string_view target) {
  if (!here.target.empty()) {
    return Error{Errc::already_exists, "a label with this name already exists"};
  }
  ASSIGN_OR_RETURN(auto label, label_for_new(name));
  const auto guard = here.session->read();
  const Ordinal meant = guard ? entry_of_target(guard->index(), target) : kNoEntry;
  if (meant == kNoEntry) {
    return Error{Errc::not_found, "the link does not lead to an entry of this session"};
  }
  return LabelChange{spelled_entry(guard->index(), meant), std::move(label)};
}

Result<Found> WriteOps::symlink(RequestContext& call, const NameIn& at, std::string_view target) {
  ASSIGN_OR_RETURN(const auto here, label_at(call, at));
  const auto wanted = label_wanted(here, at.name, target);
  if (!wanted) {
    writes_.refused(here.session, "label", wanted.error());
    return wanted.error();
  }
  RETURN_IF_ERROR(
      writes_.run(here.session, "label", [&](Writer& writer) { return writer.label(here.session, {*wanted}); }));
  call.forget_refreshed();
  return vfs_.lookup(call, at.folder, at.name);
}

/// Removes a name inside a session that is not a label; see RecursiveRemoves.
Result<void> WriteOps::remove_inside(NodeId folder, pid_t client) {
  const auto slot = vfs_.state().slots.at(folder.slot());
  if (!is_inside_session(folder) || !slot) {
    return never_done();
  }
  removals_.note(client, slot->session);
  return allows_delete() ? Result<void>() : never_done();
}

Result<void> WriteOps::unlink(RequestContext& call, const NameIn& at, pid_t client) {
  if (at.folder.kind() != Kind::labels) {
    return remove_inside(at.folder, client);
  }
  const auto slot = vfs_.state().slots.at(at.folder.slot());
  if (slot && removals_.is_at_work(client, slot->session)) {
    return remove_inside(at.folder, client);
  }
  ASSIGN_OR_RETURN(const auto here, label_at(call, at));
  if (here.target.empty()) {
    return no_such_name();
  }
  RETURN_IF_ERROR(writes_.run(here.session, "label", [&](Writer& writer) {
    return writer.label(here.session, {{here.target, ""}});
  }));
  return {};
}

Result<void> WriteOps::rmdir(RequestContext& /*call*/, const NameIn& at, pid_t client) {
  const bool is_in_children = at.folder.kind() == Kind::children;
  if ((at.folder.kind() != Kind::project && !is_in_children) ||
      (is_in_children && goes_with_starter(at.folder, client))) {
    return remove_inside(at.folder, client);
  }
  const auto session = session_at(at);
  if (!session) {
    return no_such_name();
  }
  removals_.forget(session->number());
  return writes_.run(session, "remove", [&](Writer& writer) { return writer.remove(session); });
}

Result<void> WriteOps::rename(RequestContext& call, const NameIn& from, const NameIn& to, RenameMode mode) {
  const bool is_label = from.folder.kind() == Kind::labels && from.folder == to.folder;
  const bool is_session = from.folder.kind() == Kind::project && to.folder.kind() == Kind::project;
  if (!is_label && !is_session) {
    return never_done();
  }
  if (mode == RenameMode::exchange) {
    return {Errc::invalid_argument, "a mount of sessions cannot exchange two names"};
  }
  return is_label ? rename_label(call, from, to, mode) : move_session(from, to);
}

Result<void> WriteOps::rename_label(RequestContext& call, const NameIn& from, const NameIn& to, RenameMode mode) {
  ASSIGN_OR_RETURN(const auto old, label_at(call, from));
  ASSIGN_OR_RETURN(const auto other, label_at(call, to));
  if (old.target.empty()) {
    return no_such_name();
  }
  const auto refuse = [&](const Error& why) {
    writes_.refused(old.session, "label", why);
    return why;
  };
  if (!other.target.empty() && mode == RenameMode::no_replace) {
    return refuse({Errc::already_exists, "a label with this name already exists"});
  }
  const auto label = label_for_new(to.name);
  if (!label) {
    return refuse(label.error());
  }
  if (other.target == old.target) {
    return {};
  }
  std::vector<LabelChange> changes;
  if (!other.target.empty()) {
    changes.push_back({other.target, ""});
  }
  changes.push_back({old.target, *label});
  RETURN_IF_ERROR(
      writes_.run(old.session, "label", [&](Writer& writer) { return writer.label(old.session, changes); }));
  return {};
}

Result<void> WriteOps::move_session(const NameIn& from, const NameIn& to) {
  const auto view = vfs_.state().catalog.view();
  const auto source = view->project(from.folder.item());
  const auto target = view->project(to.folder.item());
  const auto session = source ? view->find_in(*source, from.name) : nullptr;
  if (!session || !target) {
    return no_such_name();
  }
  const auto refuse = [&](const Error& why) {
    writes_.refused(session, "move", why);
    return why;
  };
  if (from.name != to.name) {
    return refuse({Errc::invalid_argument,
                   "a session is named after its title: move it without renaming it, or write another title to its "
                   "file 'title'"});
  }
  if (target == source) {
    return {};
  }
  if (view->find_in(*target, to.name)) {
    return refuse({Errc::already_exists, "the project already has a session of this name"});
  }
  if (target->cwd.empty()) {
    return refuse({Errc::invalid_argument, "the session cannot be moved to a project without a working directory"});
  }
  RETURN_IF_ERROR(writes_.run(session, "move", [&](Writer& writer) { return writer.move(session, target->cwd); }));
  return {};
}

}  // namespace arborfs
