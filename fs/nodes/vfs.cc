#include "fs/nodes/vfs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/views/session_facts.h"
#include "fs/nodes/node_table.h"
#include "fs/nodes/request_context.h"

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

/// The extended attributes of entries and sessions (CONTRACT.md 2.4, -o xattr): names with their `user.arborfs.`
/// prefix, and values; empty for files that have none. Errors: as NodeRow.
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

}  // namespace

OpenFilePtr ImplicitHandles::find(NodeId node, Clock::time_point now) {
  if (!has_some_.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(node);
  if (found == held_.end()) {
    return nullptr;
  }
  found->second.read = now;
  return found->second.file;
}

void ImplicitHandles::hold(NodeId node, OpenFilePtr file, Clock::time_point now) {
  OpenFilePtr dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  held_.try_emplace(node, Held{std::move(file), now}).first->second.read = now;
  has_some_ = true;
  if (held_.size() > kMost) {
    const auto oldest = std::min_element(held_.begin(), held_.end(), [](const auto& one, const auto& other) {
      return one.second.read < other.second.read;
    });
    dropped = std::move(oldest->second.file);
    held_.erase(oldest);
  }
}

void ImplicitHandles::evict_idle(Clock::time_point now) {
  if (!has_some_.load(std::memory_order_relaxed)) {
    return;
  }
  std::vector<OpenFilePtr> dropped;  // freed after the lock
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](auto& row) {
    const bool is_over = now - row.second.read >= kLinger;
    if (is_over) {
      dropped.push_back(std::move(row.second.file));
    }
    return is_over;
  });
  has_some_ = !held_.empty();
}

namespace {

constexpr std::uint64_t kDotNames = 2;
constexpr int kLookups = 8;  // attempts for a name whose session keeps changing

Error not_a(const char* what) {
  return {Errc::invalid_argument, std::string("this is not a ") + what};
}

/// The parent of a folder, computed from its node id.
NodeId parent_of(MountState& state, NodeId node) {
  const auto slot = state.slots.at(node.slot());
  switch (node.kind()) {
    case Kind::project:
      return {Kind::projects, 0, 0};
    case Kind::search_query:
      return {Kind::search, 0, 0};
    case Kind::file_path:
      return search_nodes::parent_of_path(state, node);
    case Kind::session: {
      const auto view = state.catalog.view();
      const auto found = slot ? view->where.find(slot->session) : view->where.end();
      if (found == view->where.end()) {
        return NodeId::root();
      }
      const std::uint32_t starter = found->second.starter;
      return starter == 0 ? NodeId(Kind::project, 0, found->second.project->number)
                          : NodeId(Kind::children, state.slots.slot_of(starter, 0), 0);
    }
    case Kind::branch:
      return {Kind::branches, node.slot(), 0};
    case Kind::branch_entries:
      return {Kind::branch, node.slot(), node.item()};
    case Kind::artifact_dir:
    case Kind::checkpoint_dir:
    case Kind::native_dir: {
      const auto path = state.artifact_paths.text_of(node.item());
      const std::size_t slash = path ? path->rfind('/') : std::string::npos;
      if (!path) {
        return {Kind::session, node.slot(), 0};
      }
      const bool is_top = slash == std::string::npos;
      return {node.kind(), node.slot(), is_top ? 0 : state.artifact_paths.number_of(path->substr(0, slash))};
    }
    default:
      break;
  }
  return slot ? NodeId(Kind::session, state.slots.slot_of(slot->session, 0), 0) : NodeId::root();
}

/// Emits "." and "..", of which only the inode numbers matter.
Result<bool> emit_dots(MountState& state, RequestContext& call, NodeId node, std::uint64_t offset,
                       const DirectorySnapshot::Emit& emit) {
  for (; offset < kDotNames; ++offset) {
    const NodeId shown = offset == 0 ? node : parent_of(state, node);
    auto attr = attr_of(state, call, shown);
    if (call.is_deferred()) {
      return attr.error();
    }
    const Attr shown_attr = attr ? *attr : directory_attr(shown, stable_ino(0, "gone"), 0);
    if (!emit({offset == 0 ? "." : "..", shown_attr, CacheTtl::moment, false, offset + 1})) {
      return false;
    }
  }
  return true;
}

/// All stores' blobs are one folder.
std::optional<LogFolder> submount_with_blobs(const Catalog& catalog) {
  for (LogFolder& submount : catalog.submounts()) {
    if (submount.name == kWholeStore && !catalog.stores().at(submount.store)->paths().blobs.empty()) {
      return std::move(submount);
    }
  }
  return std::nullopt;
}

}  // namespace

/// Without OPEN, a reader gets the present state at the lookup of a name, so the kernel must look the name up each time
/// unless it leads to one state forever.
CacheTtl Vfs::name_life(const Attr& attr, CacheTtl life) const {
  const bool lasts = attr.type != FileType::file || (life == CacheTtl::forever && attr.life == CacheTtl::forever);
  return state_.read_only && !lasts ? CacheTtl::glance : life;
}

std::optional<LogFolder> Vfs::submount_of(NodeId node) {
  const Kind kind = node.kind();
  const bool is_shortcut = kind >= Kind::by_id_link && kind <= Kind::terminal_link;
  if (!state_.catalog.has_submounts() || is_shortcut || reads_all_sessions(node)) {
    return std::nullopt;
  }
  if (kind == Kind::blobs || kind == Kind::blob) {
    return submount_with_blobs(state_.catalog);
  }
  const auto slot = state_.slots.at(node.slot());
  const auto session = slot ? state_.catalog.view()->session(slot->session) : nullptr;
  return session ? state_.catalog.submount_of(session->place().in()) : std::nullopt;
}

Result<TurnState> Vfs::turn(NodeId node) {
  ASSIGN_OR_RETURN(const auto ref, session_of(state_, node));
  return turn_state(*ref.session, state_.catalog);
}

Result<Found> Vfs::lookup(RequestContext& call, NodeId parent, std::string_view name) {
  implicit_handles_.evict_idle();
  auto found = look_up(call, parent, name);
  for (int i = 1; i < kLookups && !found && found.error().code == Errc::stale && !call.is_deferred(); ++i) {
    found = look_up(call, parent, name);
  }
  return found;
}

Result<Found> Vfs::look_up(RequestContext& call, NodeId parent, std::string_view name) {
  const NodeRow& row = row_of(parent.kind());
  if (row.lookup == nullptr) {
    return not_a("folder");
  }
  ASSIGN_OR_RETURN(const auto child, row.lookup(state_, call, parent, name));
  state_.kernel.note(child.node);
  ASSIGN_OR_RETURN(const auto attr, child.attr ? Result<Attr>(*child.attr) : attr_of(state_, call, child.node));
  state_.note_told(attr);
  state_.documents.pin(call.client(), attr.node);
  if (child.name_life == CacheTtl::moment) {
    state_.kernel.note(child.node);  // again: it may have taken long
    state_.kernel.note_name(parent, name);
  }
  return Found{attr, name_life(attr, child.name_life)};
}

/// An open file keeps the attributes that it was opened with.
Result<Attr> Vfs::getattr(RequestContext& call, NodeId node) {
  state_.kernel.note(node);
  auto attr = attr_of(state_, call, node);
  if (attr) {
    state_.note_told(*attr);
    state_.kernel.note(node);  // again: it may have taken long
  }
  if (attr || call.is_deferred()) {
    return attr;
  }
  const auto open = state_.documents.find(node);
  return open ? Result<Attr>(open->attr) : std::move(attr);
}

Result<std::string> Vfs::readlink(RequestContext& call, NodeId node) {
  const NodeRow& row = row_of(node.kind());
  return row.target == nullptr ? not_a("symbolic link") : row.target(state_, call, node);
}

Result<OpenFilePtr> Vfs::open(RequestContext& call, NodeId node) {
  const NodeRow& row = row_of(node.kind());
  if (row.open == nullptr) {
    return not_a("regular file");
  }
  auto file = row.open(state_, call, node);
  if (file) {
    state_.documents.unpin(call.client());
  }
  if (file || file.error().code != Errc::stale) {
    return file;
  }
  auto found = state_.documents.second_chance(call.client(), node);
  return found ? Result<OpenFilePtr>(file_of(std::move(found))) : std::move(file);
}

Result<std::size_t> Vfs::read(RequestContext& call, OpenFile& file, std::uint64_t offset, std::span<char> into) {
  return file.read(state_, call, offset, into);
}

/// A node means one state forever, so its known document is correct even if the session has changed.
Result<OpenFilePtr> Vfs::file_to_read(RequestContext& call, NodeId node) {
  if (auto known = state_.documents.find(node)) {
    return file_of(std::move(known));
  }
  return open(call, node);
}

Result<std::size_t> Vfs::read_without_open(RequestContext& call, NodeId node, std::uint64_t offset,
                                           std::span<char> into) {
  if (const auto held = implicit_handles_.find(node)) {
    return held->read(state_, call, offset, into);
  }
  ASSIGN_OR_RETURN(auto file, file_to_read(call, node));
  auto got = file->read(state_, call, offset, into);
  if (got && (offset != 0 || *got == into.size())) {
    implicit_handles_.hold(node, std::move(file));
  }
  return got;
}

Result<ListingPtr> Vfs::listing_of(RequestContext& call, NodeId node) {
  const NodeRow& row = row_of(node.kind());
  return row.list == nullptr ? Result<ListingPtr>(not_a("folder")) : row.list(state_, call, node);
}

/// True if this is the version that was listed last.
bool Vfs::note_listed(NodeId node, std::uint64_t version) {
  const std::lock_guard lock(listed_mutex_);
  if (listed_.size() >= kMaxListed) {
    listed_.clear();
  }
  const auto [place, is_new] = listed_.try_emplace(node, version);
  const bool is_same = !is_new && place->second == version;
  place->second = version;
  return is_same;
}

/// A handle was rewound and lists another version than at its open: the listing that the kernel then caches may match
/// neither.
void Vfs::forget_listed(NodeId node, std::uint64_t version) {
  const std::lock_guard lock(listed_mutex_);
  const auto found = listed_.find(node);
  if (found != listed_.end() && found->second != version) {
    listed_.erase(found);
  }
}

Result<OpenDirPtr> Vfs::opendir(RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(auto listing, listing_of(call, node));
  auto dir = std::make_shared<OpenDir>(node);
  dir->listing_ = std::move(listing);
  dir->keeps_cache_ = note_listed(node, dir->listing_->version());
  return dir;
}

Result<ListingPtr> Vfs::snapshot(RequestContext& call, OpenDir& dir, bool afresh) {
  {
    const std::lock_guard lock(dir.mutex_);
    if (!afresh || dir.is_fresh_) {
      return dir.listing_;
    }
  }
  ASSIGN_OR_RETURN(auto listing, listing_of(call, dir.node()));
  forget_listed(dir.node(), listing->version());
  const std::lock_guard lock(dir.mutex_);
  dir.listing_ = listing;
  return listing;
}

Result<void> Vfs::readdir(RequestContext& call, OpenDir& dir, std::uint64_t offset,
                          const DirectorySnapshot::Emit& emit) {
  ASSIGN_OR_RETURN(const auto listing, snapshot(call, dir, offset == 0));
  if (offset < kDotNames) {
    ASSIGN_OR_RETURN(const auto goes_on, emit_dots(state_, call, dir.node(), offset, emit));
    if (!goes_on) {
      return {};
    }
    offset = kDotNames;
  }
  auto done = listing->walk(state_, call, offset - kDotNames, [&](const DirectoryItem& item) {
    if (item.is_complete) {
      state_.note_told(item.attr);
      if (item.name_life == CacheTtl::moment) {
        state_.kernel.note_name(dir.node(), item.name);
      }
    }
    const CacheTtl life = name_life(item.attr, item.name_life);
    return emit({item.name, item.attr, life, item.is_complete, item.next + kDotNames});
  });
  if (done && !call.is_deferred()) {
    const std::lock_guard lock(dir.mutex_);
    dir.is_fresh_ = false;
  }
  return done;
}

Result<std::string> Vfs::xattr(RequestContext& call, NodeId node, std::string_view name) {
  ASSIGN_OR_RETURN(const auto all, xattrs_of(state_, call, node));
  for (const auto& [key, value] : all) {
    if (key == name) {
      return value;
    }
  }
  return Error{Errc::not_found, "no such attribute"};
}

Result<std::string> Vfs::xattr_names(RequestContext& call, NodeId node) {
  ASSIGN_OR_RETURN(const auto all, xattrs_of(state_, call, node));
  std::string names;
  for (const auto& [key, value] : all) {
    names += key;
    names += '\0';
  }
  return names;
}

}  // namespace arborfs
