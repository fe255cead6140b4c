#include "core/writer/writer.h"

#include <sys/resource.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/log/id_text.h"
#include "core/write/header_text.h"
#include "core/writer/entry_fields.h"
#include "core/writer/resolve_target.h"
#include "core/writer/writable_state.h"
#include "core/writer/write_queue.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxTitle = 64 * 1024;
constexpr std::uint64_t kLineOverhead = 256;

Result<void> check_condition(const std::optional<std::string>& if_leaf, const EntryId& leaf) {
  const std::string now = leaf.kind == EntryId::Kind::missing ? "root" : id_text(leaf);
  return !if_leaf || *if_leaf == now ? Result<void>()
                                     : Result<void>(Errc::stale, "the leaf is not the entry that ifLeaf names");
}

/// Checks RLIMIT_FSIZE, because a file beside the log cannot show how large the log itself may become.
Result<void> check_size_limit(const Dir& folder, const std::string& file, std::uint64_t bytes) {
  rlimit limit{};
  const auto log = folder.stat(file);
  const bool fits = !log || ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
                    log->size + bytes <= limit.rlim_cur;
  return fits ? Result<void>() : error_from_errno(EFBIG, "cannot reserve disk space");
}

}  // namespace

Writer::Writer(Catalog& catalog, WriteSettings settings)
    : catalog_(catalog),
      settings_(std::move(settings)),
      queue_(std::make_unique<WriteQueue>(
          catalog, WriteQueue::Settings{settings_.durability == Durability::synced, settings_.write_live})) {}

Writer::~Writer() = default;

void Writer::take_back_parts() {
  queue_->take_back_parts();
}

Result<void> Writer::check(const SessionPtr& session, bool force) {
  return queue_->check(session, force);
}

Result<DiskReservation> Writer::reserve(const SessionPtr& session, std::uint64_t bytes) {
  auto folder = session->store().folder(session->place());
  if (!folder) {
    return DiskReservation();  // the store is not on a disk
  }
  RETURN_IF_ERROR(check_size_limit(*folder, session->place().file, bytes));
  auto room = session->store().disk().reserve(*folder, bytes);
  return room ? Result<DiskReservation>(DiskReservation(std::move(*room))) : room.error();
}

Result<void> Writer::put_blobs(const Session& session, const std::vector<EntryDraft>& drafts) {
  for (const EntryDraft& draft : drafts) {
    for (const PendingBlob& blob : draft.blobs) {
      if (auto put = session.store().blobs()->put(blob.hash, blob.bytes, settings_.durability == Durability::synced);
          !put) {
        return put;
      }
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

/// `set_leaf` chooses the parent of the first line, under the log's lock.
Result<AppendResult> Writer::append_at(const SessionPtr& session, AppendCommand command, const SetLeaf& set_leaf) {
  RETURN_IF_ERROR(put_blobs(*session, command.drafts));
  AppendResult written;
  AppendRequest request;
  request.force = command.force;
  for (const EntryDraft& draft : command.drafts) {
    request.bytes += draft.before.size() + draft.after.size() + kLineOverhead;
  }
  request.plan = [&, bytes = request.bytes](AppendBatch& batch) -> Result<void> {
    RETURN_IF_ERROR(check_condition(command.if_leaf, batch.leaf()));
    if (command.dialect && *command.dialect != batch.index().dialect()) {
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
  auto done = queue_->append(session, std::move(request));
  return done ? Result<AppendResult>(std::move(written)) : done.error();
}

Result<AppendResult> Writer::label(const SessionPtr& session, const std::vector<LabelChange>& changes, bool force) {
  if (!std::all_of(changes.begin(), changes.end(), [](const auto& one) { return json::is_valid_utf8(one.label); })) {
    return Error{Errc::not_utf8, "a label must be UTF-8"};
  }
  ASSIGN_OR_RETURN(const auto known, writable_state_of(session));
  AppendResult written;
  AppendRequest request;
  request.force = force;
  request.bytes = changes.size() * kLineOverhead;
  request.plan = [&](AppendBatch& batch) -> Result<void> {
    written.parent_id = id_text(batch.leaf());
    for (const LabelChange& change : changes) {
      ASSIGN_OR_RETURN(const auto target, find_target(batch.index(), change.target));
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
  auto done = queue_->append(session, std::move(request));
  return done ? Result<AppendResult>(std::move(written)) : done.error();
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
  const bool is_users = source == "auto" && !known.title.empty() && known.title_source == "user";
  if (is_users || clean == known.title) {
    return known.title;
  }
  if (known.has_slot) {
    auto done = set_slot_title(session, clean, source, known.title, force);
    return done ? Result<std::string>(clean) : done.error();
  }
  auto done = rewrite_header(session, force, [&](std::string_view present) -> Result<std::string> {
    auto titled = with_member(present, "title", json::stringify_string(clean));
    return titled && known.dialect == Dialect::omp18
               ? with_member(*titled, "titleSource", json::stringify_string(source))
               : titled;
  });
  return done ? Result<std::string>(clean) : done.error();
}

Result<void> Writer::rewrite_header(const SessionPtr& session, bool force, const HeaderChange& change,
                                    std::optional<LogPlace> move_to) {
  RewriteRequest request;
  request.policy = live_policy(force);
  request.move_to = std::move(move_to);
  request.write = [&](LogDraft& draft) { return write_log_anew(*session, {change, {}, {}}, draft); };
  return queue_->rewrite(session, request);
}

Result<void> Writer::rewrite(const SessionPtr& session, bool force) {
  return rewrite_header(session, force, {});
}

Result<void> Writer::edit(const SessionPtr& session, const EditPlan& plan, bool maybe_live) {
  RewriteRequest request;
  request.policy = maybe_live ? LivePolicy::on_maybe_live : LivePolicy::on_quiet;
  request.write = [&](LogDraft& draft) {
    auto edits = plan(*session);
    return edits ? write_log_edited(*session, *edits, draft) : Result<CopiedLog>(edits.error());
  };
  return queue_->rewrite(session, request);
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
  AppendRequest request;
  request.force = force;
  request.bytes = title.size() + kLineOverhead;
  request.slot = title_slot_line(title, source, now_ms());
  request.plan = [&](AppendBatch& batch) -> Result<void> {
    batch.add(draft);
    return {};
  };
  return queue_->append(session, std::move(request));
}

void Writer::note_outcome(const SessionPtr& session, std::string_view doing, const Error* error) {
  const std::string text = error == nullptr ? "" : std::string(doing) + ": " + error->message;
  if (session && session->write_error() != text) {
    session->set_write_error(text);
  }
  if (error == nullptr) {
    return;
  }
  const std::string where = session ? session->stem() : "the store";
  write_log(LogLevel::warning, where + ": " + text);
  catalog_.note_error(where + ": " + text);
}

}  // namespace arborfs
