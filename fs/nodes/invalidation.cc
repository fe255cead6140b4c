#include "fs/nodes/invalidation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "core/session/catalog_view.h"
#include "fs/nodes/node_table.h"

namespace arborfs {

namespace {

constexpr std::array kGenerationFolders = {Kind::entries, Kind::texts, Kind::images, Kind::damage};

/// One change that replaces two changes of one session.
Change merged(const Change& one, const Change& other) {
  Change both = other;
  const bool is_revised = one.kind == Change::Kind::session_revised && other.kind != Change::Kind::session_rewritten;
  if (one.kind == Change::Kind::session_rewritten || is_revised) {
    both.kind = one.kind;
  }
  return both;
}

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_of_catalog(Change::Kind kind) {
  return kind == Change::Kind::session_added || kind == Change::Kind::session_removed ||
         kind == Change::Kind::session_renamed || kind == Change::Kind::catalog_changed;
}

}  // namespace

std::vector<Invalidation> InvalidationMap::invalidations_of(const std::vector<Change>& changes) const {
  std::vector<Invalidation> out;
  std::map<std::uint32_t, Change> by_session;
  for (const auto& change : changes) {
    if (is_of_catalog(change.kind)) {
      add_catalog(change, out);
    } else if (const auto [place, is_new] = by_session.emplace(change.session, change); !is_new) {
      place->second = merged(place->second, change);
    }
  }
  for (const auto& [number, change] : by_session) {
    add_session(change, out);
  }
  if (std::any_of(changes.begin(), changes.end(), [](const Change& one) { return is_of_catalog(one.kind); })) {
    add_folder_names(out);
  }
  if (!changes.empty()) {
    add_all_in(NodeId(Kind::recent, 0, 0), out);
    add_all_in(NodeId(Kind::terminals, 0, 0), out);
  }
  return known(std::move(out));
}

std::vector<Invalidation> InvalidationMap::known(std::vector<Invalidation> all) const {
  std::erase_if(all, [this](const Invalidation& one) { return !state_.kernel.may_know(one); });
  return all;
}

bool leads_elsewhere(const Invalidation& name) {
  return (name.node.kind() == Kind::session && name.name == "leaf") ||
         (name.node.kind() == Kind::branches && name.name == "current");
}

/// A folder in which every name may lead to another node.
void InvalidationMap::add_all_in(NodeId folder, std::vector<Invalidation>& out) const {
  out.push_back({folder, ""});
  auto names = state_.kernel.names_in(folder);
  std::move(names.begin(), names.end(), std::back_inserter(out));
}

/// What shows a session in the folders of the one that started it, of the one that started that, and so on.
void InvalidationMap::add_pages_above(std::uint32_t starter, std::vector<Invalidation>& out) const {
  const auto view = state_.catalog.view();
  for (; starter != 0; starter = view->starter_of(starter)) {
    const std::uint32_t home = state_.slots.find(starter, 0);
    for (const ViewRow& row : session_views()) {
      if (home != 0 && row.validity == Validity::family) {
        out.push_back({NodeId(Kind::session, home, 0), std::string(row.name)});
      }
    }
  }
}

/// A session without a slot was never looked up, so the kernel has nothing of it cached.
void InvalidationMap::add_session(const Change& change, std::vector<Invalidation>& out) const {
  const std::uint32_t home = state_.slots.find(change.session, 0);
  const auto view = state_.catalog.view();
  add_pages_above(view->starter_of(change.session), out);
  const auto session = view->session(change.session);
  if (home == 0 || !session) {
    return;
  }
  const NodeId folder(Kind::session, home, 0);
  out.push_back({folder, ""});
  for (const auto name : changing_names(change.kind)) {
    out.push_back({folder, std::string(name)});
  }
  out.push_back({NodeId(Kind::labels, home, 0), ""});
  const Versions versions = session->versions();
  for (const ViewRow& row : session_views()) {
    if (grows(row)) {
      const bool is_raw = row.validity == Validity::raw_generation;
      const std::uint32_t item = is_raw ? versions.raw : state_.transcript_versions.last_of(change.session);
      out.push_back({NodeId(kind_of(row), home, item), ""});
    }
  }
  if (const std::uint32_t slot = state_.slots.find(change.session, versions.entries);
      versions.entries != 0 && slot != 0) {
    for (const Kind kind : kGenerationFolders) {
      out.push_back({NodeId(kind, slot, 0), ""});
    }
    if (change.kind == Change::Kind::session_revised) {
      add_all_in(NodeId(Kind::entries, slot, 0), out);
      add_all_in(NodeId(Kind::texts, slot, 0), out);
    }
    add_all_in(NodeId(Kind::branches, slot, 0), out);
  }
}

/// The names of the store's own folders, which projects/ resolves but does not list.
void InvalidationMap::add_folder_names(std::vector<Invalidation>& out) const {
  const auto view = state_.catalog.view();
  for (auto& known : state_.kernel.names_in(NodeId(Kind::projects, 0, 0))) {
    if (!view->project(known.name)) {
      out.push_back(std::move(known));
    }
  }
}

/// Names in by-id/, or in the folder of an agent, that a session with this id affects: prefixes of the id, the id
/// itself, and longer names of others with the same id.
void InvalidationMap::add_ids(NodeId folder, const std::string& id, std::vector<Invalidation>& out) const {
  for (std::size_t length = 1; length < id.size(); ++length) {
    out.push_back({folder, id.substr(0, length)});
  }
  auto names = state_.kernel.names_in(folder, id);
  std::move(names.begin(), names.end(), std::back_inserter(out));
}

/// The names of sessions that are not in the project any more. A name that leads to a session still stays: see
/// add_folder.
void InvalidationMap::add_lost_names(NodeId folder, const CatalogView& view, const Project& project,
                                     std::vector<Invalidation>& out) const {
  for (auto& known : state_.kernel.names_in(folder)) {
    if (!view.find_in(project, known.name)) {
      out.push_back(std::move(known));
    }
  }
}

void InvalidationMap::add_catalog(const Change& change, std::vector<Invalidation>& out) const {
  const NodeId projects(Kind::projects, 0, 0);
  const NodeId by_id(Kind::by_id, 0, 0);
  out.push_back({projects, ""});
  out.push_back({by_id, ""});
  const auto view = state_.catalog.view();
  add_all_in(NodeId(Kind::by_agent, 0, 0), out);
  for (const auto& [agent, places] : view->by_agent) {
    out.push_back({shortcut_nodes::agent_folder(agent), ""});
  }
  if (!change.session_id.empty()) {
    const std::string name = encoded_name(change.session_id);
    add_ids(by_id, name, out);
    for (const auto& [agent, places] : view->by_agent) {
      const NodeId folder = shortcut_nodes::agent_folder(agent);
      add_ids(folder, name, out);
      out.push_back({folder, last_part(change.path)});
      out.push_back({folder, last_part(change.path_before)});
    }
  }
  if (change.kind == Change::Kind::session_renamed) {
    add_folder(change.session, out);
  } else {
    add_place(change.path, change.starter, out);
  }
}

/// The folder that lists a renamed session. Its former name still leads to it, and the new one did not lead elsewhere:
/// to invalidate one of them would take the folder away from the shell that is in it.
void InvalidationMap::add_folder(std::uint32_t session, std::vector<Invalidation>& out) const {
  const auto view = state_.catalog.view();
  const auto at = view->where.find(session);
  if (at == view->where.end()) {
    return;
  }
  const std::uint32_t starter = at->second.starter;
  add_pages_above(starter, out);
  out.push_back({starter == 0 ? NodeId(Kind::project, 0, at->second.project->number)
                              : NodeId(Kind::children, state_.slots.find(starter, 0), 0),
                 ""});
}

void InvalidationMap::add_place(const std::string& path, std::uint32_t starter, std::vector<Invalidation>& out) const {
  const std::size_t first = path.find('/');
  const std::size_t second = first == std::string::npos ? first : path.find('/', first + 1);
  if (second == std::string::npos) {
    return;
  }
  if (starter != 0) {
    add_children(starter, out);
    return;
  }
  const std::string project_name = path.substr(first + 1, second - first - 1);
  out.push_back({NodeId(Kind::projects, 0, 0), project_name});
  const auto view = state_.catalog.view();
  if (const auto project = view->project(project_name)) {
    const NodeId node(Kind::project, 0, project->number);
    out.push_back({node, ""});
    out.push_back({node, path.substr(second + 1)});
    add_lost_names(node, *view, *project, out);
  }
}

/// A session without a slot was never looked up.
void InvalidationMap::add_children(std::uint32_t starter, std::vector<Invalidation>& out) const {
  add_pages_above(starter, out);
  if (const std::uint32_t home = state_.slots.find(starter, 0); home != 0) {
    out.push_back({NodeId(Kind::session, home, 0), ""});
    out.push_back({NodeId(Kind::session, home, 0), "children"});
    add_all_in(NodeId(Kind::children, home, 0), out);
  }
}

namespace {

constexpr std::size_t kBatch = 1024;
thread_local int notifies_here = 0;

}  // namespace

class InvalidationQueue::Hold {
 public:
  Hold(InvalidationQueue& queue, std::size_t most) : invalidations_(queue) { folders_.reserve(most); }
  ~Hold() { invalidations_.release(folders_); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void add(NodeId folder) {
    const std::lock_guard lock(invalidations_.mutex_);
    ++invalidations_.held_[folder];
    folders_.push_back(folder);
  }

 private:
  InvalidationQueue& invalidations_;
  std::vector<NodeId> folders_;
};

InvalidationQueue::NotifiesHere::NotifiesHere() {
  ++notifies_here;
}

InvalidationQueue::NotifiesHere::~NotifiesHere() {
  --notifies_here;
}

InvalidationQueue::InvalidationQueue(ChangeFeed& feed) : feed_(feed) {
  feed_.on_publish([this] {
    if (notifies_here > 0) {
      return;
    }
    // The lock makes sure that a wait that has just checked its condition is not missed.
    { const std::lock_guard lock(mutex_); }
    work_.notify_one();
  });
}

std::shared_ptr<void> InvalidationQueue::hold(const std::vector<NodeId>& folders) {
  auto held = std::make_shared<Hold>(*this, folders.size());
  for (const NodeId folder : folders) {
    held->add(folder);
  }
  return held;
}

void InvalidationQueue::release(const std::vector<NodeId>& folders) {
  const std::lock_guard lock(mutex_);
  for (const NodeId folder : folders) {
    if (--held_[folder] > 0) {
      continue;
    }
    held_.erase(folder);
    if (auto node = deferred_.extract(folder)) {
      more_.insert(more_.end(), node.mapped().begin(), node.mapped().end());
    }
  }
  work_.notify_one();
}

void InvalidationQueue::notify_and_wait(std::vector<Invalidation> more) {
  const std::uint64_t sequence = feed_.last_sequence();
  std::unique_lock lock(mutex_);
  if (!is_open_) {
    return;
  }
  more_.insert(more_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  const std::uint64_t ticket = ++ticket_;
  ++waiting_;
  work_.notify_one();
  hurry_.notify_one();
  notified_.wait_for(lock, kPatience,
                     [&] { return !is_open_ || (notified_sequence_ >= sequence && notified_ticket_ >= ticket); });
  --waiting_;
}

bool InvalidationQueue::notify_at_once(const std::vector<Invalidation>& nodes) {
  if (std::any_of(nodes.begin(), nodes.end(), [](const Invalidation& one) { return !one.name.empty(); })) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!is_open_) {
      return true;
    }
  }
  for (const Invalidation& one : nodes) {
    notify_node_(one.node);
  }
  return true;
}

void InvalidationQueue::open(NotifyNode notify_node) {
  const std::lock_guard lock(mutex_);
  notify_node_ = std::move(notify_node);
  is_open_ = true;
  notified_sequence_ = feed_.last_sequence();
}

void InvalidationQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
  }
  work_.notify_all();
  hurry_.notify_all();
  notified_.notify_all();
}

bool InvalidationQueue::wait(Work& work) {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] {
    return !is_open_ || !more_.empty() || ticket_ > notified_ticket_ || feed_.last_sequence() > notified_sequence_;
  });
  work.changes = feed_.after(notified_sequence_, kBatch);
  work.more = std::exchange(more_, {});
  work.ticket = ticket_;
  work.sequence = work.changes.empty() ? notified_sequence_ : work.changes.back().sequence;
  return is_open_;
}

bool InvalidationQueue::defer(const Invalidation& one) {
  const std::lock_guard lock(mutex_);
  if (!held_.contains(one.node)) {
    return false;
  }
  auto& names = deferred_[one.node];
  const auto same = [&](const Invalidation& other) { return other.name == one.name; };
  if (std::none_of(names.begin(), names.end(), same)) {
    names.push_back(one);
  }
  return true;
}

void InvalidationQueue::note_notified(const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    notified_sequence_ = work.sequence;
    notified_ticket_ = work.ticket;
  }
  notified_.notify_all();
}

void InvalidationQueue::pause(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  hurry_.wait_for(lock, longest, [&] { return !is_open_ || waiting_ > 0; });
}

}  // namespace arborfs
