#include "core/formats/omp/writer/omp_writer.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/write/dialect_rules.h"
#include "core/formats/omp/write/header_text.h"
#include "core/formats/omp/writer/entry_fields.h"
#include "core/formats/omp/writer/writable_state.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/log_index.h"
#include "core/writer/resolve_target.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxTitle = 64 * 1024;
constexpr std::uint64_t kLineOverhead = 256;
constexpr int kTries = 4;  // attempts while other programs write

Result<void> check_condition(const std::optional<std::string>& if_leaf, const EntryId& leaf) {
  const std::string now = leaf.kind == EntryId::Kind::missing ? "root" : id_text(leaf);
  return !if_leaf || *if_leaf == now ? Result<void>()
                                     : Result<void>(Errc::stale, "the leaf is not the entry that ifLeaf names");
}

/// By the last known state of the log. Its present state is only known under its lock.
Dialect dialect_of(const SessionPtr& session) {
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
Command adding(bool force, std::uint64_t bytes, std::function<Result<void>(AppendBatch&)> add) {
  Command command;
  command.policy = live_policy(force);
  command.bytes = bytes;
  command.change = change_of<omp::Plan>([add = std::move(add)](omp::Plan& plan) {
    const auto before = plan.batch->mark();
    auto added = add(*plan.batch);
    if (!added) {
      plan.batch->take_back(before);
    }
    return added;
  });
  return command;
}

}  // namespace

OmpWriter::OmpWriter(Catalog& catalog, WriteSettings settings)
    : Writer(catalog, std::move(settings)),
      editor_(catalog, syncs(),
              [this](const SessionPtr& session, LivePolicy policy) { return changes_.hold(session, policy); }),
      changes_(catalog, {syncs(), this->settings().write_live, {}, kTries}, editor_) {}

void OmpWriter::take_back_parts() {
  changes_.take_back_parts("omp");
  changes_.take_back_parts("pi");
}

/// A log of an old version, and one whose title has no place of its own, are written anew beside the present log.
RoomWanted OmpWriter::room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) {
  RoomWanted room = Writer::room_for(session, verb, bytes);
  const auto guard = session->read_index();
  const bool renames = verb == "title" && guard && !guard->index().header().has_slot &&
                       !rules_of(dialect_of(guard->index())).names_by_entry;
  if (guard && (renames || guard->index().header().migrated)) {
    room.bytes += guard->stat().size;
    room.grown_file.clear();
  }
  return room;
}

Result<void> OmpWriter::put_blobs(const Session& session, const std::vector<EntryDraft>& drafts) {
  for (const EntryDraft& draft : drafts) {
    for (const PendingBlob& blob : draft.blobs) {
      RETURN_IF_ERROR(session.store().blobs()->put(blob.hash, blob.bytes, syncs()));
    }
  }
  return {};
}

Result<AppendResult> OmpWriter::append(const SessionPtr& session, AppendCommand command, const std::string& at) {
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
Result<AppendResult> OmpWriter::append_text(const SessionPtr& session, AppendText wanted) {
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
    const Dialect dialect = dialect_of(session);
    auto command = append_command(text, kept, dialect, is_json);
    Error why;
    if (command) {
      command->dialect = dialect;
      auto written = append(session, std::move(*command), wanted.at);
      if (written) {
        return written;
      }
      why = written.error();
    } else {
      static_cast<void>(session->refresh(Depth::index));
      why = command.error();
    }
    if (!kept || dialect == dialect_of(session)) {
      return why;
    }
  }
}

Result<void> OmpWriter::check_json(const SessionPtr& session, std::string_view text) {
  ASSIGN_OR_RETURN(const auto command, json_command(std::string(text), dialect_of(session), now_ms()));
  return check(session, command.force);
}

/// `set_leaf` chooses the parent of the first line, under the log's lock.
Result<AppendResult> OmpWriter::append_at(const SessionPtr& session, AppendCommand command, const SetLeaf& set_leaf) {
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
  RETURN_IF_ERROR(changes_.make(session, adding(command.force, bytes, add)));
  return written;
}

Result<AppendResult> OmpWriter::label(const SessionPtr& session, const std::vector<LabelChange>& changes, bool force) {
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
  RETURN_IF_ERROR(changes_.make(session, adding(force, changes.size() * kLineOverhead, add)));
  return written;
}

Result<std::string> OmpWriter::set_title(const SessionPtr& session, std::string_view title, bool force,
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
  RETURN_IF_ERROR(rewrite_header(session, force, [&](std::string_view present) -> Result<std::string> {
    auto titled = with_member(present, "title", json::stringify_string(clean));
    return titled && known.dialect == Dialect::omp18
               ? with_member(*titled, "titleSource", json::stringify_string(source))
               : titled;
  }));
  return clean;
}

/// `mends`: also a log that takes no other changes.
Result<void> OmpWriter::rewrite_with(const SessionPtr& session, LivePolicy policy, const WriteDraft& write,
                                     bool mends) {
  const omp::Rewrite anew{write};
  Command command;
  command.policy = policy;
  command.is_alone = true;
  command.mends = mends;
  command.change = change_of<omp::Plan>([&](omp::Plan& plan) -> Result<void> {
    plan.anew = anew;
    return {};
  });
  return changes_.make(session, std::move(command));
}

Result<void> OmpWriter::rewrite_header(const SessionPtr& session, bool force, const HeaderChange& change) {
  return rewrite_with(session, live_policy(force), [&](LogDraft& draft) {
    return write_log_anew(*session, {change, {}, {}}, draft);
  });
}

Result<void> OmpWriter::rewrite(const SessionPtr& session, bool force) {
  return rewrite_header(session, force, {});
}

Result<void> OmpWriter::edit(const SessionPtr& session, const EditPlan& plan, bool maybe_live) {
  const auto write = [&](LogDraft& draft) -> Result<CopiedLog> {
    ASSIGN_OR_RETURN(const auto edits, plan(*session));
    return write_log_edited(*session, edits, draft);
  };
  return rewrite_with(session, maybe_live ? LivePolicy::on_maybe_live : LivePolicy::on_quiet, write, true);
}

/// As pi does it (pi/FORMAT.md C6).
Result<void> OmpWriter::append_name(const SessionPtr& session, const std::string& title, Dialect dialect, bool force) {
  AppendCommand command;
  command.force = force;
  command.dialect = dialect;
  ASSIGN_OR_RETURN(auto draft, EntryFields("session_info").text("name", title).draft(dialect));
  command.drafts.push_back(std::move(draft));
  RETURN_IF_ERROR(append(session, std::move(command)));
  return {};
}

/// As newer agents do it: an entry that records the change, and the slot (omp/FORMAT.md E4).
Result<void> OmpWriter::set_slot_title(const SessionPtr& session, const std::string& title, std::string_view source,
                                       const std::string& previous, bool force) {
  EntryFields fields("title_change");
  fields.text("title", title).text("source", source);
  if (!previous.empty()) {
    fields.text("previousTitle", previous);
  }
  ASSIGN_OR_RETURN(auto draft, fields.draft(Dialect::omp18));
  Command command;
  command.policy = live_policy(force);
  command.is_alone = true;
  command.change = change_of<omp::Plan>([&](omp::Plan& plan) -> Result<void> {
    plan.batch->add(draft);
    plan.slot = title_slot_line(title, source, now_ms());
    return {};
  });
  return changes_.make(session, std::move(command));
}

}  // namespace arborfs
