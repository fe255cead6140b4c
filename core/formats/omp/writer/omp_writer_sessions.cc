// The Writer's calls that create, move and remove whole sessions.
#include <string>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/store/omp_format.h"
#include "core/formats/omp/write/header_text.h"
#include "core/formats/omp/write/ids.h"
#include "core/formats/omp/writer/adopted_log.h"
#include "core/formats/omp/writer/entry_fields.h"
#include "core/formats/omp/writer/foreign_store.h"
#include "core/formats/omp/writer/new_log.h"
#include "core/formats/omp/writer/omp_trash.h"
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
  if (!wanted.provider.empty()) {
    return Error{Errc::invalid_argument, "sessions of omp keep no provider but that of the model"};
  }
  ASSIGN_OR_RETURN(auto cwd, resolved_cwd(wanted.cwd));
  ASSIGN_OR_RETURN(const auto store, store_for_new_logs(catalog()));
  NewHeader header;
  header.timestamp_ms = now_ms();
  header.id = new_session_id(Dialect::omp13, header.timestamp_ms);
  header.cwd = std::move(cwd);
  header.title = clean_title(wanted.title);
  header.parent_session = wanted.parent_session;
  std::vector<EntryDraft> entries;
  if (!wanted.model.empty()) {
    ASSIGN_OR_RETURN(
        auto draft,
        EntryFields("model_change").text("model", wanted.model).text("role", "default").draft(Dialect::omp13));
    entries.push_back(std::move(draft));
  }
  ASSIGN_OR_RETURN(const auto place, write_new_log(catalog(), store, std::move(header), entries,
                                                   settings().durability == Durability::synced));
  return made_at(place);
}

Result<AdoptResult> OmpWriter::adopt(const Conversation& conversation, const std::string& agent) {
  const std::uint8_t store = *catalog().stores().first_of(agent);
  const Dialect dialect = agent == pi_format().agent ? Dialect::pi : Dialect::omp13;
  RETURN_IF_ERROR(dialect == Dialect::pi ? Result<void>() : check_takes_logs(catalog(), store));
  ASSIGN_OR_RETURN(const auto place, write_adopted_log(catalog(), store, conversation, dialect,
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
  RETURN_IF_ERROR(check_takes_logs(catalog(), session->store_number()));
  ASSIGN_OR_RETURN(const auto target, resolved_cwd(cwd));
  const LogPlace from = session->place();
  const LogPlace to{folder_for(target, catalog()), from.file, from.store};
  const HeaderChange change = [&](std::string_view present) -> Result<std::string> {
    auto moved = with_member(present, "cwd", json::stringify_string(target));
    if (!moved || known.dialect == Dialect::omp13) {
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
  auto done = queue_->exclusive(session, force, [&](LogWriter& writer) -> Result<void> {
    OmpTrash trash(settings().trash, session->store().disk());
    auto taken = trash.take(session->store(), place, session->head().header.title);
    writer.release();
    if (!taken) {
      return taken.error();
    }
    ErasedEntries& erased = catalog().state_of(*session).erased;
    if (auto kept = trash.keep_written(*taken, erased.written(place.file)); !kept) {
      write_log(LogLevel::warning, "the entries that were appended to " + place.file +
                                       " will not be protected after it is restored: " + kept.error().message);
    }
    erased.forget(place.file);
    return {};
  });
  catalog().rescan_folder(place.in());
  return done;
}

}  // namespace arborfs
