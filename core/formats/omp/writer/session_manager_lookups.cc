// The queries of SessionManager, which change nothing.
#include "core/base/result_macros.h"
#include "core/formats/omp/writer/session_manager_impl.h"
#include "core/views/session_views.h"

namespace arborfs {

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

namespace {

Result<std::string> text_of(const SessionPtr& session, const ViewRow& view, Catalog& catalog) {
  RETURN_IF_ERROR(session->refresh(view.depth));
  ASSIGN_OR_RETURN(const auto made, make_view(*session, view, 0, catalog));
  return made.content->read_all();
}

}  // namespace

Result<std::string> SessionManager::context() const {
  return text_of(session_, *find_view("context.json"), impl().catalog);
}

Result<std::string> SessionManager::usage() const {
  return text_of(session_, *find_view("usage.json"), impl().catalog);
}

}  // namespace arborfs
