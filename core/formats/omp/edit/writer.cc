#include "core/formats/omp/edit/writer.h"

#include <algorithm>
#include <string>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/omp/edit/entry_draft.h"
#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/edit/log_rewrite.h"
#include "core/formats/omp/edit/new_log.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/store/log_change.h"
#include "core/json/change_member.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/log_index.h"
#include "core/os/environment.h"
#include "core/write/command_text.h"
#include "core/write/resolve_target.h"

namespace arborfs::omp {

namespace {

constexpr std::size_t kMaxTitle = 64 * 1024;
constexpr std::uint64_t kLineOverhead = 256;
constexpr int kTries = 4;  // attempts while other programs write
/// Agents do not send it to the model, and continue after it.
constexpr std::string_view kPinType = "arborfs.branch";

Result<void> check_condition(const std::optional<std::string>& if_leaf, const EntryId& leaf) {
  const std::string now = leaf.kind == EntryId::Kind::missing ? "root" : id_text(leaf);
  return !if_leaf || *if_leaf == now ? Result<void>() : leaf_has_moved();
}

/// By the last known state of the log. Its present state is only known under its lock.
Dialect known_dialect(const SessionPtr& session) {
  const auto guard = session->read();
  return guard ? dialect_of(guard->index()) : Dialect::omp13;
}

/// `kept`: `text` is needed again, in case the log has the other dialect.
Result<AppendCommand> append_command(std::string& text, bool kept, Dialect dialect, bool is_json) {
  if (!is_json) {
    return text_command(text, dialect, now_ms());
  }
  return json_command(kept ? std::string(text) : std::move(text), dialect, now_ms());
}

/// A command that adds lines; they are taken back if `add` fails.
Command adding(std::string_view verb, bool force, std::uint64_t bytes, std::function<Result<void>(AppendBatch&)> add) {
  Command command;
  command.verb = verb;
  command.policy = live_policy(force);
  command.bytes = bytes;
  command.change = change_of<LogPlan>([add = std::move(add)](LogPlan& plan) {
    const auto before = plan.batch->mark();
    auto added = add(*plan.batch);
    if (!added) {
      plan.batch->take_back(before);
    }
    return added;
  });
  return command;
}

CreateResult made_of(const SessionPtr& session) {
  return {session, session->id(), session->shown_path()};
}

/// How the header of a new session spells the session that it continues.
Result<std::string> parent_of(const std::string& spelled, const DialectRules& rules, const Catalog& catalog) {
  if (!rules.parent_is_path || spelled.empty() || spelled.front() == '/') {
    return spelled;
  }
  ASSIGN_OR_RETURN(const auto parent, catalog.find(spelled));
  return parent->store().path_of(parent->place());
}

/// The header of a log that moves away from `path` to another working directory.
Result<std::string> moved_header(std::string_view present, const std::string& cwd, const std::string& path,
                                 Dialect dialect) {
  auto moved = json::change_member(present, "cwd", json::stringify_string(cwd));
  if (!moved || !rules_of(dialect).lists_old_places) {
    return moved;
  }
  json::Document header;
  json::Value previous(rapidjson::kArrayType);
  if (json::parse(present, header)) {
    if (const auto* there = json::member(header, "previousSessionFiles"); there != nullptr && there->IsArray()) {
      previous = json::copy(*there, header);
    }
  }
  previous.PushBack(json::make_string(path, header), header.GetAllocator());
  return json::change_member(*moved, "previousSessionFiles", json::stringify(previous));
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

Writer::Writer(Catalog& catalog, WriteSettings settings)
    : arborfs::Writer(catalog, std::move(settings)),
      editor_(catalog, syncs(),
              [this](const SessionPtr& session, LivePolicy policy) { return changes_.hold(session, policy); }),
      changes_(catalog, {syncs(), this->settings().write_live, {}, kTries}, editor_) {}

void Writer::take_back_parts() {
  changes_.take_back_parts("omp");
  changes_.take_back_parts("pi");
}

/// A log of an old version, and one whose title has no place of its own, are written anew beside the present log.
RoomWanted Writer::room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) {
  RoomWanted room = arborfs::Writer::room_for(session, verb, bytes);
  const auto guard = session->read_index();
  const bool renames = verb == "title" && guard && !guard->index().header().has_slot &&
                       !rules_of(dialect_of(guard->index())).names_by_entry;
  if (guard && (renames || guard->index().header().migrated)) {
    room.bytes += guard->stat().size;
    room.grown_file.clear();
  }
  return room;
}

Result<void> Writer::put_blobs(const Session& session, const std::vector<EntryDraft>& drafts) {
  for (const EntryDraft& draft : drafts) {
    for (const PendingBlob& blob : draft.blobs) {
      RETURN_IF_ERROR(session.store().blobs()->put(blob.hash, blob.bytes, syncs()));
    }
  }
  return {};
}

Result<AppendResult> Writer::append(const SessionPtr& session, AppendCommand command, const std::string& at) {
  return append_at(session, std::move(command), [&at](AppendBatch& batch) -> Result<void> {
    if (at.empty()) {
      return {};
    }
    ASSIGN_OR_RETURN(const auto target, find_leaf_target(batch.index(), at));
    batch.set_leaf(target == kNoEntry ? EntryId{} : batch.index().id(target));
    return {};
  });
}

/// A command that is too long to be in memory twice is parsed only once.
Result<AppendResult> Writer::append_text(const SessionPtr& session, AppendText wanted) {
  std::string& text = wanted.text;
  const bool is_json = wanted.is_json;
  constexpr std::size_t kKept = 1 << 20;
  const std::uint64_t needed = is_json ? memory_for_json(text) : std::min<std::uint64_t>(4 * text.size(), 8 << 20);
  if (needed > kMaxCommandMemory) {
    return Error{Errc::too_large, "the command has too many values for its length; split it into several entries"};
  }
  MemoryBudget::Share share(memory().running);
  share.grow(needed);
  const bool kept = !is_json || text.size() <= kKept;
  if (!session->read()) {
    static_cast<void>(session->refresh(Depth::index));
  }
  for (;;) {
    const Dialect dialect = known_dialect(session);
    auto command = append_command(text, kept, dialect, is_json);
    if (command) {
      command->dialect = dialect;
    } else {
      static_cast<void>(session->refresh(Depth::index));
    }
    auto written = command ? append(session, *std::move(command), wanted.at) : Result<AppendResult>(command.error());
    if (written || !kept || dialect == known_dialect(session)) {
      return written;
    }
  }
}

Result<void> Writer::check_json(const SessionPtr& session, std::string_view text) {
  ASSIGN_OR_RETURN(const auto command, json_command(std::string(text), known_dialect(session), now_ms()));
  return check(session, command.force);
}

/// `set_leaf` chooses the parent of the first line, under the log's lock.
Result<AppendResult> Writer::append_at(const SessionPtr& session, AppendCommand command, const SetLeaf& set_leaf) {
  RETURN_IF_ERROR(put_blobs(*session, command.drafts));
  AppendResult written;
  std::uint64_t bytes = 0;
  for (const EntryDraft& draft : command.drafts) {
    bytes += draft.before.size() + draft.after.size() + kLineOverhead;
  }
  const auto add = [&](AppendBatch& batch) -> Result<void> {
    RETURN_IF_ERROR(check_condition(command.if_leaf, batch.leaf()));
    if (command.dialect && *command.dialect != dialect_of(batch.index())) {
      return {Errc::stale, "another program rewrote the log in another agent's format; try again"};
    }
    RETURN_IF_ERROR(set_leaf(batch));
    written.parent_id = id_text(batch.leaf());
    batch.expect(bytes);
    for (const EntryDraft& draft : command.drafts) {
      written.id = batch.add(draft);
    }
    return {};
  };
  RETURN_IF_ERROR(changes_.make(session, adding(command.verb, command.force, bytes, add)));
  return written;
}

Result<AppendResult> Writer::label(const SessionPtr& session, const std::vector<LabelChange>& changes, bool force) {
  if (!std::all_of(changes.begin(), changes.end(), [](const auto& one) { return json::is_valid_utf8(one.label); })) {
    return Error{Errc::not_utf8, "a label must be UTF-8"};
  }
  ASSIGN_OR_RETURN(const auto known, writable_state_of(session));
  AppendResult written;
  const auto add = [&](AppendBatch& batch) -> Result<void> {
    written.parent_id = id_text(batch.leaf());
    for (const LabelChange& change : changes) {
      ASSIGN_OR_RETURN(auto target, find_target(batch.index(), change.target));
      target = change.label.empty() ? target : named_entry(batch.index(), target);
      EntryFields fields("label");
      fields.value("targetId", id_json(batch.index().id(target)));
      if (!change.label.empty()) {
        fields.text("label", change.label);
      }
      ASSIGN_OR_RETURN(auto draft, fields.draft(known.dialect));
      written.id = batch.add(draft);
    }
    return {};
  };
  RETURN_IF_ERROR(changes_.make(session, adding("label", force, changes.size() * kLineOverhead, add)));
  return written;
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view title, bool force,
                                      std::string_view source) {
  if (!json::is_valid_utf8(title)) {
    return Error{Errc::not_utf8, "a title must be UTF-8"};
  }
  if (title.size() > kMaxTitle) {
    return Error{Errc::too_large, "a title may have at most 64 KiB"};
  }
  const std::string clean = clean_title(title);
  if (clean.empty()) {
    return Error{Errc::invalid_argument, "a title cannot be empty"};
  }
  ASSIGN_OR_RETURN(const auto known, writable_state_of(session));
  const bool names_by_entry = rules_of(known.dialect).names_by_entry;
  const bool is_users = source == "auto" && !known.title.empty() && (names_by_entry || known.title_source == "user");
  if (is_users || clean == known.title) {
    return known.title;
  }
  if (names_by_entry) {
    RETURN_IF_ERROR(append_name(session, clean, known.dialect, force));
    return clean;
  }
  if (known.has_slot) {
    RETURN_IF_ERROR(set_slot_title(session, clean, source, known.title, force));
    return clean;
  }
  RETURN_IF_ERROR(rewrite_header(session, "title", force, [&](std::string_view present) -> Result<std::string> {
    auto titled = json::change_member(present, "title", json::stringify_string(clean));
    return titled && known.dialect == Dialect::omp18
               ? json::change_member(*titled, "titleSource", json::stringify_string(source))
               : titled;
  }));
  return clean;
}

/// `mends`: also a log that takes no other changes.
Result<void> Writer::rewrite_with(const SessionPtr& session, std::string_view verb, LivePolicy policy,
                                  const WriteDraft& write, bool mends) {
  const Rewrite anew{write};
  Command command;
  command.verb = verb;
  command.policy = policy;
  command.is_alone = true;
  command.mends = mends;
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    plan.anew = anew;
    return {};
  });
  return changes_.make(session, std::move(command));
}

Result<void> Writer::rewrite_header(const SessionPtr& session, std::string_view verb, bool force,
                                    const HeaderChange& change) {
  return rewrite_with(session, verb, live_policy(force), [&](TempFile& draft) {
    return write_log_anew(*session, {change, {}, {}}, draft);
  });
}

Result<void> Writer::rewrite(const SessionPtr& session, bool force) {
  return rewrite_header(session, "doctor --repair", force, {});
}

Result<void> Writer::edit(const SessionPtr& session, const EditPlan& plan, bool maybe_live) {
  const auto write = [&](TempFile& draft) -> Result<CopiedLog> {
    ASSIGN_OR_RETURN(const auto edits, plan(*session));
    return write_log_edited(*session, edits, draft);
  };
  return rewrite_with(session, "doctor --repair", maybe_live ? LivePolicy::on_maybe_live : LivePolicy::on_quiet, write,
                      true);
}

/// As pi does it (pi/FORMAT.md C6).
Result<void> Writer::append_name(const SessionPtr& session, const std::string& title, Dialect dialect, bool force) {
  AppendCommand command;
  command.verb = "title";
  command.force = force;
  command.dialect = dialect;
  ASSIGN_OR_RETURN(auto draft, EntryFields("session_info").text("name", title).draft(dialect));
  command.drafts.push_back(std::move(draft));
  RETURN_IF_ERROR(append(session, std::move(command)));
  return {};
}

/// As newer agents do it: an entry that records the change, and the slot (omp/FORMAT.md E4).
Result<void> Writer::set_slot_title(const SessionPtr& session, const std::string& title, std::string_view source,
                                    const std::string& previous, bool force) {
  EntryFields fields("title_change");
  fields.text("title", title).text("source", source);
  if (!previous.empty()) {
    fields.text("previousTitle", previous);
  }
  ASSIGN_OR_RETURN(auto draft, fields.draft(Dialect::omp18));
  Command command;
  command.verb = "title";
  command.policy = live_policy(force);
  command.is_alone = true;
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    plan.batch->add(draft);
    plan.slot = title_slot_line(title, source, now_ms());
    return {};
  });
  return changes_.make(session, std::move(command));
}

/// The entry at which a branch is to end.
struct Writer::Target {
  Dialect dialect = Dialect::omp13;
  Ordinal ordinal = kNoEntry;
  EntryId id;
};

Result<Writer::Target> Writer::find_branch(const SessionPtr& session, const std::string& target, bool force) {
  ASSIGN_OR_RETURN(const auto known, writable_state_of(session));
  Target found{known.dialect, kNoEntry, {}};
  {
    const auto guard = session->read();
    if (!guard) {
      return session_changed();
    }
    ASSIGN_OR_RETURN(found.ordinal, find_leaf_target(guard->index(), target));
    if (found.ordinal != kNoEntry) {
      found.id = guard->index().id(found.ordinal);
    }
  }
  if (!force && found.ordinal != kNoEntry) {
    RETURN_IF_ERROR(check_branch_end(*session, found.ordinal));
  }
  return found;
}

/// Refuses a command if no client waits for it any more: the lock may have taken a while.
Result<MovedLeaf> Writer::move_leaf(const SessionPtr& session, const Target& target, bool force) {
  LeafMove move;
  MovedLeaf moved;
  Command command;
  command.policy = live_policy(force);
  command.work = [&, is_wanted = command.is_wanted](Held& held) -> Result<void> {
    if (!is_wanted()) {
      return nobody_waits();
    }
    {
      const auto guard = session->read();
      if (!guard || target.ordinal > guard->index().size()) {
        return session_changed();
      }
      const LogIndex& index = guard->index();
      const Ordinal last = index.size();
      move.made = {last, last == kNoEntry ? EntryId{} : index.id(last), std::nullopt};
      if (target.ordinal != kNoEntry) {
        move.made.leaf = index.id(target.ordinal);
      }
      moved.leaf = target.ordinal == kNoEntry ? "root" : id_text(*move.made.leaf);
      moved.agent_leaf = index.leaf() == target.ordinal ? "" : id_text(index.id(index.leaf()));
    }
    held.writer->release();
    LeafStore& leaves = catalog().state_of(*session).leaves;
    const std::string log = session->place().file;
    move.before = leaves.load(log);
    const std::string before = leaves.text(log);
    auto saved = leaves.save(log, move.made, syncs());
    session->reload_leaf();
    if (saved) {
      note_effects(*session, "branch", {effect_of_leaf(before, leaves.text(log))});
    }
    return saved;
  };
  RETURN_IF_ERROR(changes_.make(session, std::move(command)));
  moved.move = std::move(move);
  return moved;
}

Result<void> Writer::move_back(const SessionPtr& session, const LeafMove& move) {
  Command command;
  command.policy = LivePolicy::on_live;
  command.work = [&](Held& held) -> Result<void> {
    held.writer->release();
    LeafStore& leaves = catalog().state_of(*session).leaves;
    const std::string log = session->place().file;
    if (leaves.load(log) != move.made) {
      return {};
    }
    auto done = Result<void>();
    if (move.before) {
      done = leaves.save(log, *move.before, syncs());
    } else {
      leaves.forget(log);
    }
    session->reload_leaf();
    return done;
  };
  return changes_.make(session, std::move(command));
}

Result<void> Writer::check_branch(const SessionPtr& session, const std::string& target) {
  RETURN_IF_ERROR(find_branch(session, target, false));
  return {};
}

Result<MovedLeaf> Writer::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                 bool force, bool pin) {
  ASSIGN_OR_RETURN(const auto found, find_branch(session, target, force));
  if (summary.empty() && !pin) {
    return move_leaf(session, found, force);
  }
  EntryFields fields(summary.empty() ? "custom" : "branch_summary");
  if (summary.empty()) {
    fields.text("customType", kPinType).value("data", "{}");
  } else {
    fields.text("summary", summary);
  }
  ASSIGN_OR_RETURN(auto draft, fields.draft(found.dialect));
  AppendCommand command;
  command.verb = "branch";
  command.force = force;
  command.drafts.push_back(std::move(draft));
  const auto written = append_at(session, std::move(command), [&found](AppendBatch& batch) -> Result<void> {
    if (found.ordinal != kNoEntry && batch.index().find(found.id) == kNoEntry) {
      return {Errc::stale, "another program rewrote the log without the entry; choose another entry"};
    }
    batch.set_leaf(found.id);
    return {};
  });
  RETURN_IF_ERROR(written);
  MovedLeaf moved;
  moved.leaf = written->id;
  (summary.empty() ? moved.pin_id : moved.summary_id) = written->id;
  return moved;
}

Result<CreateResult> Writer::fork(const SessionPtr& session, const std::string& target, bool force,
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
  ASSIGN_OR_RETURN(const auto place, write_fork(catalog(), *session, plan, syncs()));
  return made_at(place);
}

Result<CreateResult> Writer::create(const NewSession& wanted) {
  if (is_below(wanted.cwd, settings().mountpoint)) {
    return Error{Errc::invalid_argument, "a mount of arborfs cannot be a working directory"};
  }
  ASSIGN_OR_RETURN(auto cwd, resolved_cwd(wanted.cwd));
  ASSIGN_OR_RETURN(const auto where, store_for_new_logs(catalog(), wanted.agent));
  const DialectRules& rules = rules_of(where.dialect);
  if (!wanted.provider.empty()) {
    return Error{Errc::not_permitted,
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
  ASSIGN_OR_RETURN(const auto place, write_new_log(catalog(), where.store, header, entries, syncs()));
  return made_at(place);
}

Result<AdoptResult> Writer::adopt(const Conversation& conversation, const std::string& agent) {
  ASSIGN_OR_RETURN(const auto where, store_for_new_logs(catalog(), agent));
  ASSIGN_OR_RETURN(const auto place, write_adopted_log(catalog(), where, conversation, syncs()));
  ASSIGN_OR_RETURN(auto made, made_at(place));
  return AdoptResult{std::move(made), conversation.as_text, 0};
}

Result<CreateResult> Writer::made_at(const LogPlace& place) {
  const auto session = catalog().at(place);
  return session ? Result<CreateResult>(made_of(session))
                 : Result<CreateResult>(Errc::stale, "another program has already removed the new session");
}

Result<LogPlace> Writer::place_for(const SessionPtr& session, Dialect dialect, const std::string& target) {
  if (dialect != Dialect::pi) {
    RETURN_IF_ERROR(check_takes_logs(catalog(), session->store_number()));
  }
  const LogPlace from = session->place();
  return LogPlace{folder_for(target, dialect, catalog(), from), from.file, from.store};
}

Result<CreateResult> Writer::move(const SessionPtr& session, const std::string& cwd, bool force) {
  ASSIGN_OR_RETURN(const auto known, writable_state_of(session));
  ASSIGN_OR_RETURN(const auto target, resolved_cwd(cwd));
  ASSIGN_OR_RETURN(const auto to, place_for(session, known.dialect, target));
  const std::string known_cwd = session->identity().cwd;
  const HeaderChange change = [&, path = session->store().path_of(session->place())](std::string_view present) {
    return moved_header(present, target, path, known.dialect);
  };
  if (to == session->place()) {
    RETURN_IF_ERROR(rewrite_header(session, "mv", force, change));
  } else {
    const Rewrite anew{[&](TempFile& draft) { return write_log_anew(*session, {change, {}, {}}, draft); }};
    Command command;
    command.policy = live_policy(force);
    command.work = [&](Held& held) { return editor_.move(session, held, anew, to); };
    RETURN_IF_ERROR(changes_.make(session, std::move(command)));
    note_final(*session, "mv", "move the session back to " + known_cwd);
  }
  catalog().relocate(session, to);
  return made_of(session);
}

/// The header is the last to change: from it the agents take the working directory, whatever the folder is.
Result<Relocation> Writer::describe_relocation(const SessionPtr& session, const FolderMove& move) {
  ASSIGN_OR_RETURN(const auto known, writable_state_of(session));
  ASSIGN_OR_RETURN(auto wanted, start_relocation(*session, move));
  ASSIGN_OR_RETURN(wanted.to, place_for(session, known.dialect, wanted.cwd_after));
  const arborfs::Store& store = session->store();
  const LogPlace from = session->place();
  std::shared_ptr<const LogSource> log;
  Header header;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    log = guard.log();
    header = guard.index().header();
  }
  if (header.length == 0 || header.length > kLongestHeader) {
    return Error{Errc::read_only, "the log has no header that could be changed; see arborfs doctor"};
  }
  ASSIGN_OR_RETURN(const auto present, log->read(header.offset, header.length));
  LogPlace old = from;
  if (wanted.to == from) {  // an earlier move was killed before the header had changed
    ASSIGN_OR_RETURN(old, place_for(session, known.dialect, wanted.cwd_before));
  }
  ASSIGN_OR_RETURN(const auto moved, moved_header(present, wanted.cwd_after, store.path_of(old), known.dialect));
  wanted.edits.push_back(edit_of(header.offset, present, moved));
  wanted.edits.back().file = from.file;
  if (wanted.to.folder != from.folder) {
    const auto what = belongings_of(store, from);
    ASSIGN_OR_RETURN(const Dir* const folder, what->root(false));
    ASSIGN_OR_RETURN(wanted.files, what->in_store(*folder));
  }
  return wanted;
}

Result<void> Writer::remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_allows_delete());
  RETURN_IF_ERROR(check_writable(session->format()));
  const LogPlace place = session->place();
  Command command;
  command.policy = live_policy(force);
  command.work = [&](Held& held) -> Result<void> {
    auto done = move_to_trash(session, belongings_of(session->store(), place));
    held.writer->release();
    return done;
  };
  auto done = changes_.make(session, std::move(command));
  catalog().rescan_folder(place.in());
  return done;
}

std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place) {
  if (!store.may_have_logs(place.folder) || !store.is_log_name(place.file)) {
    return nullptr;
  }
  return std::make_unique<NamedBelongings>(store, place.folder, [log = place.file](const Dir& folder) {
    using Role = Belonging::Role;
    Result<std::vector<Belonging>> items = std::vector<Belonging>();
    auto names = belonging_names(folder, log);
    if (!names) {
      return Result<std::vector<Belonging>>(names.error());
    }
    for (std::string& name : *names) {
      const Role role = name == log ? Role::own : name.starts_with(log) ? Role::backup : Role::rest;
      items->push_back({"", std::move(name), role});
    }
    const auto rank = [](const Belonging& item) { return item.is_own() ? 1 : item.role == Role::backup ? 2 : 0; };
    std::stable_sort(items->begin(), items->end(),
                     [&](const Belonging& one, const Belonging& other) { return rank(one) < rank(other); });
    return items;
  });
}

}  // namespace arborfs::omp
