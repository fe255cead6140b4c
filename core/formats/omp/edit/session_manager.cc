#include "core/formats/omp/edit/session_manager.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/edit/new_log.h"
#include "core/formats/omp/store/log_files.h"
#include "core/formats/omp/store/memory_store.h"
#include "core/session/store_state.h"
#include "core/store/store_parts.h"
#include "core/views/session_views.h"

namespace arborfs::omp {

namespace {

Error no_such_entry() {
  return {Errc::not_found, "no entry has this id"};
}

/// An entry of this type without other members.
json::Document entry_of(std::string_view type) {
  json::Document entry;
  entry.SetObject();
  json::set(entry, "type", json::make_string(type, entry), entry);
  return entry;
}

Result<std::string> view_text(const SessionPtr& session, const ViewRow& view, Catalog& catalog) {
  RETURN_IF_ERROR(session->refresh(view.depth));
  ASSIGN_OR_RETURN(const auto made, make_view(*session, view, 0, catalog));
  return made.content->read_all();
}

}  // namespace

struct SessionManager::Impl {
  Impl(std::shared_ptr<arborfs::Store> of, const ManagerSettings& settings, const std::string& state)
      : store(std::move(of)), catalog(store, home_of(settings), state), writer(catalog, settings.writes) {
    catalog.rescan();
  }
  static std::string home_of(const ManagerSettings& settings) {
    const char* home = std::getenv("HOME");
    return settings.home.empty() && home != nullptr ? home : settings.home;
  }
  const std::shared_ptr<arborfs::Store> store;
  Catalog catalog;
  Writer writer;
};

SessionManager::SessionManager(std::unique_ptr<Impl> disk, ManagerSettings settings)
    : settings_(std::move(settings)), disk_(std::move(disk)) {}

SessionManager::~SessionManager() = default;

SessionManager::Impl& SessionManager::impl() const {
  return memory_ ? *memory_ : *disk_;
}

bool SessionManager::is_on_disk() const {
  return !memory_;
}

/// Creates a session in memory.
Result<void> SessionManager::start(const std::string& cwd, const std::string& parent_session) {
  ASSIGN_OR_RETURN(const auto resolved, resolved_cwd(cwd));
  memory_ = std::make_unique<Impl>(make_memory_store(), settings_, "");
  NewHeader header;
  header.dialect = settings_.dialect;
  header.timestamp_ms = now_ms();
  header.id = new_session_id(settings_.dialect, header.timestamp_ms);
  header.cwd = resolved;
  header.parent_session = parent_session;
  ASSIGN_OR_RETURN(const auto place, write_new_log(memory_->catalog, 0, header, {}, false));
  session_ = memory_->catalog.at(place);
  return session_->refresh(Depth::index);
}

Result<SessionManager::Ptr> SessionManager::create(std::shared_ptr<arborfs::Store> store, const std::string& cwd,
                                                   ManagerSettings settings) {
  auto impl = std::make_unique<Impl>(std::move(store), settings, settings.state);
  Ptr manager(new SessionManager(std::move(impl), std::move(settings)));
  RETURN_IF_ERROR(manager->start(cwd, ""));
  return manager;
}

Result<SessionManager::Ptr> SessionManager::in_memory(const std::string& cwd, ManagerSettings settings) {
  Ptr manager(new SessionManager(nullptr, std::move(settings)));
  RETURN_IF_ERROR(manager->start(cwd, ""));
  return manager;
}

Result<SessionManager::Ptr> SessionManager::open(std::shared_ptr<arborfs::Store> store, const std::string& spelled,
                                                 ManagerSettings settings) {
  auto impl = std::make_unique<Impl>(std::move(store), settings, settings.state);
  ASSIGN_OR_RETURN(auto session, impl->catalog.find(spelled));
  RETURN_IF_ERROR(session->refresh(Depth::index));
  Ptr manager(new SessionManager(std::move(impl), std::move(settings)));
  manager->session_ = std::move(session);
  return manager;
}

Result<SessionManager::Ptr> SessionManager::continue_recent(std::shared_ptr<arborfs::Store> store,
                                                            const std::string& cwd, const std::string& terminal,
                                                            ManagerSettings settings) {
  ASSIGN_OR_RETURN(const auto resolved, resolved_cwd(cwd));
  auto impl = std::make_unique<Impl>(store, settings, settings.state);
  SessionPtr found;
  for (const auto& crumb : breadcrumbs_of(*store)) {
    if (crumb.terminal == terminal && crumb.cwd == resolved) {
      found = impl->catalog.at(crumb.place);
    }
  }
  if (!found) {
    const auto recent = impl->catalog.recent(SIZE_MAX);
    const auto here = std::find_if(recent.begin(), recent.end(),
                                   [&](const SessionPtr& session) { return session->head().header.cwd == resolved; });
    found = here == recent.end() ? nullptr : *here;
  }
  if (!found) {
    return create(std::move(store), cwd, std::move(settings));
  }
  RETURN_IF_ERROR(found->refresh(Depth::index));
  Ptr manager(new SessionManager(std::move(impl), std::move(settings)));
  manager->session_ = std::move(found);
  return manager;
}

Result<SessionManager::Ptr> SessionManager::fork_from(std::shared_ptr<arborfs::Store> store, const std::string& source,
                                                      const std::string& cwd, ManagerSettings settings) {
  ASSIGN_OR_RETURN(auto manager, open(std::move(store), source, std::move(settings)));
  ForkPlan plan;
  ASSIGN_OR_RETURN(plan.cwd, resolved_cwd(cwd));
  Impl& impl = manager->impl();
  ASSIGN_OR_RETURN(const auto place, write_fork(impl.catalog, *manager->session_, plan,
                                                impl.writer.settings().durability == Durability::synced));
  manager->session_ = impl.catalog.at(place);
  RETURN_IF_ERROR(manager->session_->refresh(Depth::index));
  return manager;
}

Dialect SessionManager::dialect() const {
  const auto guard = session_->read();
  return guard && guard->index().size() > 0 ? dialect_of(guard->index()) : settings_.dialect;
}

/// Copies the log to disk, its blobs first, and switches to the copy.
Result<void> SessionManager::put_on_disk() {
  if (!disk_) {
    return {};
  }
  const bool sync = settings_.writes.durability == Durability::synced;
  const auto blobs = memory_->store->blobs()->list();
  for (const std::string& hash : blobs ? *blobs : std::vector<std::string>()) {
    const auto bytes = memory_->store->blobs()->read_blob(hash);
    RETURN_IF_ERROR(disk_->store->blobs()->put(hash, *bytes, sync));
  }
  const LogPlace place = session_->place();
  ASSIGN_OR_RETURN(const auto log, memory_->store->open(place));
  ASSIGN_OR_RETURN(const auto size, log->size());
  ASSIGN_OR_RETURN(const auto bytes, log->read(0, size));
  ASSIGN_OR_RETURN(const auto draft, log_files(*disk_->store).draft(place, kAnyPermissions));
  RETURN_IF_ERROR(draft->write(bytes));
  RETURN_IF_ERROR(draft->finish(sync));
  RETURN_IF_ERROR(log_files(*disk_->store).publish(*draft, place, Disk::Existing::keep, sync));
  if (const auto made = disk_->store->stat(place)) {
    disk_->catalog.state(0).marks.note_made(place.file, *made);
  }
  disk_->catalog.rescan_folder(place.in());
  const std::string leaf = leaf_id();
  session_ = disk_->catalog.at(place);
  memory_.reset();
  RETURN_IF_ERROR(session_->refresh(Depth::index));
  return leaf_id() != leaf ? branch(leaf) : Result<void>();
}

Result<void> SessionManager::ensure_on_disk() {
  return memory_ ? put_on_disk() : Result<void>();
}

Result<std::string> SessionManager::append_drafts(std::vector<EntryDraft> drafts, const std::string& at) {
  const bool begins = std::any_of(drafts.begin(), drafts.end(), [](const EntryDraft& one) { return one.is_assistant; });
  AppendCommand command;
  command.drafts = std::move(drafts);
  ASSIGN_OR_RETURN(auto written, impl().writer.append(session_, std::move(command), at));
  RETURN_IF_ERROR(begins && memory_ ? put_on_disk() : Result<void>());
  return written.id;
}

Result<std::string> SessionManager::append_all(const std::vector<const json::Value*>& entries) {
  std::vector<EntryDraft> drafts;
  for (const json::Value* entry : entries) {
    ASSIGN_OR_RETURN(auto draft, make_draft(*entry, dialect()));
    drafts.push_back(std::move(draft));
  }
  return append_drafts(std::move(drafts), "");
}

Result<std::string> SessionManager::append(const json::Value& entry) {
  return append_all({&entry});
}

Result<std::string> SessionManager::append_message(const json::Value& message) {
  auto entry = entry_of("message");
  json::set(entry, "message", json::copy(message, entry), entry);
  return append(entry);
}

Result<std::string> SessionManager::set_label(const std::string& target_id, const std::string& label) {
  {
    const auto guard = session_->read();
    if (!guard || guard->index().find(target_id) == kNoEntry) {
      return no_such_entry();
    }
  }
  ASSIGN_OR_RETURN(auto written, impl().writer.label(session_, {{target_id, label}}));
  return std::move(written.id);
}

Result<void> SessionManager::branch(const std::string& id) {
  {
    const auto guard = session_->read();
    if (!guard || guard->index().find(id) == kNoEntry) {
      return no_such_entry();
    }
  }
  RETURN_IF_ERROR(impl().writer.branch(session_, id, "", true));
  return {};
}

Result<void> SessionManager::reset_leaf() {
  RETURN_IF_ERROR(impl().writer.branch(session_, "root", "", true));
  return {};
}

Result<std::string> SessionManager::branch_with_summary(const std::string& id, std::string_view summary,
                                                        const json::Value& fields) {
  auto entry = entry_of("branch_summary");
  json::set(entry, "summary", json::make_string(summary, entry), entry);
  if (fields.IsObject()) {
    for (const auto& member : json::members(fields)) {
      json::set(entry, json::as_string(member.name), json::copy(member.value, entry), entry);
    }
  }
  ASSIGN_OR_RETURN(auto draft, make_draft(entry, dialect()));
  std::vector<EntryDraft> drafts;
  drafts.push_back(std::move(draft));
  return append_drafts(std::move(drafts), id.empty() ? "root" : id);
}

Result<void> SessionManager::hold(Result<CreateResult> made) {
  RETURN_IF_ERROR(made);
  session_ = made->session;
  return session_->refresh(Depth::index);
}

Result<void> SessionManager::fork() {
  auto ready = ensure_on_disk();
  return ready ? hold(impl().writer.fork(session_)) : ready;
}

Result<void> SessionManager::create_branched_session(const std::string& leaf_id) {
  auto ready = ensure_on_disk();
  return ready ? hold(impl().writer.fork(session_, leaf_id, true)) : ready;
}

Result<void> SessionManager::new_session(const std::string& parent_session) {
  auto started = start(header().cwd, parent_session);
  return started && settings_.dialect == Dialect::omp18 ? ensure_on_disk() : started;  // omp/FORMAT.md I4
}

Result<void> SessionManager::move_to(const std::string& cwd) {
  return hold(impl().writer.move(session_, cwd));
}

Result<std::string> SessionManager::set_title(std::string_view title, std::string_view source) {
  return impl().writer.set_title(session_, title, false, source);
}

Result<void> SessionManager::rewrite() {
  return impl().writer.rewrite(session_);
}

Result<void> SessionManager::reopen() {
  impl().catalog.state(0).leaves.forget(session_->place().file);
  session_->reload_leaf();
  return session_->refresh(Depth::index);
}

Header SessionManager::header() const {
  return session_->head().header;
}

std::string SessionManager::leaf_id() const {
  const auto guard = session_->read();
  return guard && guard->leaf() != kNoEntry ? guard->index().id(guard->leaf()).text : "";
}

Result<std::string> SessionManager::entry(const std::string& id) const {
  std::shared_ptr<const LogSource> log;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  {
    const auto guard = session_->read();
    const Ordinal found = guard ? guard->index().find(id) : kNoEntry;
    if (found == kNoEntry) {
      return no_such_entry();
    }
    log = guard->log();
    offset = guard->index().entry(found).offset;
    length = guard->index().length(found);
  }
  return log->read(offset, length);
}

std::vector<std::string> SessionManager::children(const std::string& id) const {
  std::vector<std::string> found;
  const auto guard = session_->read();
  const Ordinal parent = guard ? guard->index().find(id) : kNoEntry;
  for (Ordinal ordinal = 1; parent != kNoEntry && ordinal <= guard->index().size(); ++ordinal) {
    if (guard->index().parent(ordinal) == parent) {
      found.push_back(guard->index().id(ordinal).text);
    }
  }
  return found;
}

std::vector<std::string> SessionManager::branch_path(const std::string& id) const {
  std::vector<std::string> ids;
  const auto guard = session_->read();
  if (guard) {
    for (const Ordinal step : path_to(guard->index(), id.empty() ? guard->leaf() : guard->index().find(id))) {
      ids.push_back(guard->index().id(step).text);
    }
  }
  return ids;
}

Tree SessionManager::tree() const {
  const auto guard = session_->read();
  return guard ? tree_of(guard->index()) : Tree();
}

std::string SessionManager::label(const std::string& id) const {
  const auto guard = session_->read();
  const Label* label = guard ? label_of(guard->index(), EntryId{EntryId::Kind::string, id}) : nullptr;
  return label == nullptr ? "" : label->text;
}

Result<std::string> SessionManager::context() const {
  return view_text(session_, *find_view("context.json"), impl().catalog);
}

Result<std::string> SessionManager::usage() const {
  return view_text(session_, *find_view("usage.json"), impl().catalog);
}

}  // namespace arborfs::omp
