// The Writer's calls that create, move and remove whole sessions.
#include <string>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/store/omp_log_change.h"
#include "core/formats/omp/write/dialect_rules.h"
#include "core/formats/omp/write/header_text.h"
#include "core/formats/omp/write/ids.h"
#include "core/formats/omp/writer/adopted_log.h"
#include "core/formats/omp/writer/entry_fields.h"
#include "core/formats/omp/writer/foreign_store.h"
#include "core/formats/omp/writer/new_log.h"
#include "core/formats/omp/writer/omp_writer.h"
#include "core/formats/omp/writer/writable_state.h"
#include "core/formats/omp/writer/write_queue.h"
#include "core/json/document.h"
#include "core/writer/resolve_target.h"

namespace arborfs {

namespace {

bool is_below(const std::string& path, const std::string& folder) {
  return !folder.empty() && path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

CreateResult made_of(const SessionPtr& session) {
  return {session, session->head().header.id, session->shown_path()};
}

/// How the header of a new session spells the session that it continues.
Result<std::string> parent_of(const std::string& spelled, const DialectRules& rules, const Catalog& catalog) {
  if (!rules.parent_is_path || spelled.empty() || spelled.front() == '/') {
    return spelled;
  }
  ASSIGN_OR_RETURN(const auto parent, catalog.find(spelled));
  return parent->store().path_of(parent->place());
}

/// `model`: provider/model.
Result<EntryDraft> model_draft(const std::string& model, Dialect dialect) {
  EntryFields fields("model_change");
  if (dialect != Dialect::pi) {
    return fields.text("model", model).text("role", "default").draft(dialect);
  }
  const std::size_t slash = model.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == model.size()) {
    return Error{Errc::invalid_argument, "the model of a session of pi has the form provider/model"};
  }
  return fields.text("provider", model.substr(0, slash)).text("modelId", model.substr(slash + 1)).draft(dialect);
}

}  // namespace

Result<CreateResult> OmpWriter::fork(const SessionPtr& session, const std::string& target, bool force,
                                     const std::optional<std::string>& title) {
  RETURN_IF_ERROR(writable_state_of(session));
  ForkPlan plan;
  plan.title = title;
  if (!target.empty()) {
    plan.what = ForkOf::path;
    {
      const auto guard = session->read();
      if (!guard) {
        return session_changed();
      }
      ASSIGN_OR_RETURN(plan.leaf, find_target(guard->index(), target));
    }
    RETURN_IF_ERROR(force ? Result<void>() : check_branch_end(*session, plan.leaf));
  }
  ASSIGN_OR_RETURN(const auto place,
                   write_fork(catalog(), *session, plan, settings().durability == Durability::synced));
  return made_at(place);
}

Result<CreateResult> OmpWriter::create(const NewSession& wanted) {
  if (is_below(wanted.cwd, settings().mountpoint)) {
    return Error{Errc::invalid_argument, "a mount of arborfs cannot be a working directory"};
  }
  ASSIGN_OR_RETURN(auto cwd, resolved_cwd(wanted.cwd));
  ASSIGN_OR_RETURN(const auto where, store_for_new_logs(catalog(), wanted.agent));
  const DialectRules& rules = rules_of(where.dialect);
  if (!wanted.provider.empty()) {
    return Error{Errc::invalid_argument,
                 "sessions of " + std::string(rules.agent) + " store no provider other than that of the model"};
  }
  const std::string title = clean_title(wanted.title);
  NewHeader header;
  header.dialect = where.dialect;
  header.timestamp_ms = now_ms();
  header.id = new_session_id(where.dialect, header.timestamp_ms);
  header.cwd = std::move(cwd);
  header.title = rules.names_by_entry ? "" : title;
  ASSIGN_OR_RETURN(header.parent_session, parent_of(wanted.parent_session, rules, catalog()));
  std::vector<EntryDraft> entries;
  if (rules.names_by_entry && !title.empty()) {
    ASSIGN_OR_RETURN(auto draft, EntryFields("session_info").text("name", title).draft(where.dialect));
    entries.push_back(std::move(draft));
  }
  if (!wanted.model.empty()) {
    ASSIGN_OR_RETURN(auto draft, model_draft(wanted.model, where.dialect));
    entries.push_back(std::move(draft));
  }
  ASSIGN_OR_RETURN(const auto place, write_new_log(catalog(), where.store, std::move(header), entries,
                                                   settings().durability == Durability::synced));
  return made_at(place);
}

Result<AdoptResult> OmpWriter::adopt(const Conversation& conversation, const std::string& agent) {
  ASSIGN_OR_RETURN(const auto where, store_for_new_logs(catalog(), agent));
  ASSIGN_OR_RETURN(const auto place, write_adopted_log(catalog(), where.store, conversation, where.dialect,
                                                       settings().durability == Durability::synced));
  ASSIGN_OR_RETURN(auto made, made_at(place));
  return AdoptResult{std::move(made), conversation.as_text, 0};
}

Result<CreateResult> OmpWriter::made_at(const LogPlace& place) {
  const auto session = catalog().at(place);
  return session ? Result<CreateResult>(made_of(session))
                 : Result<CreateResult>(Errc::stale, "another program has already removed the new session");
}

Result<CreateResult> OmpWriter::move(const SessionPtr& session, const std::string& cwd, bool force) {
  ASSIGN_OR_RETURN(const auto known, writable_state_of(session));
  if (known.dialect != Dialect::pi) {
    RETURN_IF_ERROR(check_takes_logs(catalog(), session->store_number()));
  }
  ASSIGN_OR_RETURN(const auto target, resolved_cwd(cwd));
  const LogPlace from = session->place();
  const LogPlace to{folder_for(target, known.dialect, catalog(), from), from.file, from.store};
  const HeaderChange change = [&](std::string_view present) -> Result<std::string> {
    auto moved = with_member(present, "cwd", json::stringify_string(target));
    if (!moved || !rules_of(known.dialect).lists_old_places) {
      return moved;
    }
    json::Document header;
    json::Value previous(rapidjson::kArrayType);
    if (json::parse(present, header)) {
      if (const auto* there = json::member(header, "previousSessionFiles"); there != nullptr && there->IsArray()) {
        previous = json::copy(*there, header);
      }
    }
    const std::string path = session->store().path_of(from);
    previous.PushBack(json::make_string(path, header), header.GetAllocator());
    return with_member(*moved, "previousSessionFiles", json::stringify(previous));
  };
  const auto move_to = to == from ? std::nullopt : std::optional(to);
  RETURN_IF_ERROR(rewrite_header(session, force, change, move_to));
  catalog().relocate(session, to);
  return made_of(session);
}

Result<void> OmpWriter::remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_allows_delete());
  RETURN_IF_ERROR(check_writable(session->format()));
  const LogPlace place = session->place();
  const std::string title = Trash::shown_title(*session);
  auto done = queue_->exclusive(session, force, [&](LogWriter& writer) -> Result<void> {
    const SessionStore& store = session->store();
    Transfer transfer(settings().trash, store.disk());
    auto taken = transfer.take(store, place, title, belongings_of_omp(store, place));
    writer.release();
    if (!taken) {
      return taken.error();
    }
    keep_written(*session, *taken, transfer.trash());
    return {};
  });
  catalog().rescan_folder(place.in());
  return done;
}

std::unique_ptr<Belongings> belongings_of_omp(const SessionStore& store, const LogPlace& place) {
  if (!store.may_have_logs(place.folder) || !store.is_log_name(place.file)) {
    return nullptr;
  }
  return std::make_unique<NamedBelongings>(store, place.folder, [log = place.file](const Dir& folder) {
    auto names = omp_belongings(folder, log);
    if (names) {
      std::stable_partition(names->begin(), names->end(), [&](const std::string& name) { return name != log; });
    }
    return names;
  });
}

}  // namespace arborfs
