#include "core/manager/writer.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>

#include "core/base/log.h"
#include "core/json/document.h"
#include "core/manager/log_rewrite.h"
#include "core/manager/new_log.h"
#include "core/manager/targets.h"
#include "core/manager/trash.h"
#include "core/manager/write_queue.h"
#include "core/session/document_cache.h"
#include "core/write/header_text.h"
#include "core/write/ids.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxTitle = 64 * 1024;
constexpr std::uint64_t kLineOverhead = 256;

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// A JSON object in the making.
class EntryFields {
 public:
  explicit EntryFields(std::string_view type) {
    document_.SetObject();
    text("type", type);
  }
  EntryFields& text(std::string_view key, std::string_view value) {
    json::set(document_, key, json::make_string(value, document_), document_);
    return *this;
  }
  EntryFields& value(std::string_view key, std::string_view json_text) {
    json::Document parsed;
    json::parse(json_text, parsed);
    json::set(document_, key, json::copy(parsed, document_), document_);
    return *this;
  }
  [[nodiscard]] Result<EntryDraft> draft(Flavour flavour) const { return make_draft(document_, flavour); }

 private:
  json::Document document_;
};

std::string json_string(std::string_view text) {
  std::string out;
  json::stringify_string(text, out);
  return out;
}

/// What may be known of a session before anything is written to it.
struct Known {
  Flavour flavour = Flavour::omp13;
  bool has_slot = false;
  std::string title;
  std::string title_source;  // "" when it is not known
};
Result<Known> known_of(const SessionPtr& session) {
  if (auto read = session->refresh(Depth::index); !read) {
    return read.error();
  }
  const auto guard = session->read();
  if (!guard) {
    return Error{Errc::stale, "the session changed while it was read"};
  }
  if (auto may = check_writable(*guard); !may) {
    return may.error();
  }
  const Header& header = guard->index().header();
  json::Document parsed;
  json::parse(header.json, parsed);
  return Known{guard->index().flavour(), header.has_slot, header.title,
               std::string(json::string_member(parsed, "titleSource").value_or(std::string_view()))};
}

Result<void> check_condition(const std::optional<std::string>& if_leaf, const EntryId& leaf) {
  const std::string now = leaf.kind == EntryId::Kind::missing ? "root" : id_text(leaf);
  return !if_leaf || *if_leaf == now ? Result<void>()
                                     : Result<void>(Errc::stale, "the leaf is no longer the one that ifLeaf names");
}

Made made_of(const SessionPtr& session) {
  return {session, session->head().header.id, session->shown_path()};
}

}  // namespace

Writer::Writer(Catalog& catalog, WriteSettings settings)
    : catalog_(catalog),
      settings_(std::move(settings)),
      queue_(std::make_unique<WriteQueue>(
          catalog, WriteQueue::Settings{settings_.durability == Durability::synced, settings_.write_live})) {}

Writer::~Writer() = default;

Result<void> Writer::check(const SessionPtr& session, bool force) {
  return queue_->check(session, force);
}

Result<Reservation> Writer::reserve(const SessionPtr& session, std::uint64_t bytes) {
  auto folder = catalog_.store().folder(session->place());
  if (!folder) {
    return Reservation();  // a store without a disk
  }
  UniqueFd file(::openat(folder->fd(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {
    return errno == EOPNOTSUPP || errno == EISDIR ? Result<Reservation>(Reservation())
                                                  : error_from_errno(errno, "reserve room");
  }
  const int failed = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (failed != 0 && failed != EOPNOTSUPP && failed != EINVAL) {
    return error_from_errno(failed, "reserve room");
  }
  return Reservation(std::move(file), bytes);
}

Result<void> Writer::put_blobs(const std::vector<EntryDraft>& drafts) {
  for (const EntryDraft& draft : drafts) {
    for (const PendingBlob& blob : draft.blobs) {
      if (auto put = catalog_.store().blobs()->put(blob.hash, blob.bytes, settings_.durability == Durability::synced);
          !put) {
        return put;
      }
    }
  }
  return {};
}

Result<Written> Writer::append(const SessionPtr& session, AppendCommand command, const std::string& at) {
  if (auto put = put_blobs(command.drafts); !put) {
    return put.error();
  }
  Written written;
  AppendRequest request;
  request.force = command.force;
  for (const EntryDraft& draft : command.drafts) {
    request.bytes += draft.before.size() + draft.after.size() + kLineOverhead;
  }
  request.plan = [&](LineBatch& batch) -> Result<void> {
    if (auto holds = check_condition(command.if_leaf, batch.leaf()); !holds) {
      return holds;
    }
    if (!at.empty()) {
      const auto target = find_leaf_target(batch.index(), at);
      if (!target) {
        return target.error();
      }
      batch.set_leaf(*target == kNoEntry ? EntryId{} : batch.index().id(*target));
    }
    written.parent_id = id_text(batch.leaf());
    for (const EntryDraft& draft : command.drafts) {
      written.id = batch.add(draft);
    }
    return {};
  };
  auto done = queue_->append(session, std::move(request));
  return done ? Result<Written>(std::move(written)) : done.error();
}

Result<void> Writer::move_leaf(const SessionPtr& session, Ordinal ordinal, bool force) {
  return queue_->exclusive(session, force, [&](LogWriter& writer) -> Result<void> {
    KeptLeaf kept;
    {
      const auto guard = session->read();
      if (!guard || ordinal > guard->index().size()) {
        return Error{Errc::stale, "the session changed while it was read"};
      }
      const LogIndex& index = guard->index();
      kept.entries = index.size();
      kept.last = index.size() == kNoEntry ? EntryId{} : index.id(index.size());
      kept.leaf = ordinal == kNoEntry ? std::nullopt : std::optional(index.id(ordinal));
    }
    writer.release();
    auto saved = catalog_.leaves().save(session->place().file, kept);
    session->reload_leaf();
    return saved;
  });
}

Result<MovedLeaf> Writer::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                 bool force) {
  const auto known = known_of(session);
  if (!known) {
    return known.error();
  }
  Ordinal ordinal = kNoEntry;
  MovedLeaf moved{"root", ""};
  {
    const auto guard = session->read();
    const auto found = guard ? find_leaf_target(guard->index(), target)
                             : Result<Ordinal>(Errc::stale, "the session changed while it was read");
    if (!found) {
      return found.error();
    }
    ordinal = *found;
    if (ordinal != kNoEntry) {
      moved.leaf = id_text(guard->index().id(ordinal));
    }
  }
  if (auto fits = force || ordinal == kNoEntry ? Result<void>() : check_branch_end(*session, ordinal); !fits) {
    return fits.error();
  }
  if (summary.empty()) {
    auto done = move_leaf(session, ordinal, force);
    return done ? Result<MovedLeaf>(std::move(moved)) : done.error();
  }
  auto draft = EntryFields("branch_summary").text("summary", summary).draft(known->flavour);
  if (!draft) {
    return draft.error();
  }
  AppendCommand command;
  command.force = force;
  command.drafts.push_back(std::move(*draft));
  auto written = append(session, std::move(command), moved.leaf);
  if (!written) {
    return written.error();
  }
  return MovedLeaf{written->id, written->id};
}

Result<Written> Writer::label(const SessionPtr& session, const std::vector<LabelChange>& changes, bool force) {
  const auto known = known_of(session);
  if (!known) {
    return known.error();
  }
  Written written;
  AppendRequest request;
  request.force = force;
  request.bytes = changes.size() * kLineOverhead;
  request.plan = [&](LineBatch& batch) -> Result<void> {
    written.parent_id = id_text(batch.leaf());
    for (const LabelChange& change : changes) {
      const auto target = find_target(batch.index(), change.target);
      if (!target) {
        return target.error();
      }
      EntryFields fields("label");
      fields.value("targetId", parent_json(batch.index().id(*target)));
      if (!change.label.empty()) {
        fields.text("label", change.label);
      }
      auto draft = fields.draft(known->flavour);
      if (!draft) {
        return draft.error();
      }
      written.id = batch.add(*draft);
    }
    return {};
  };
  auto done = queue_->append(session, std::move(request));
  return done ? Result<Written>(std::move(written)) : done.error();
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view title, bool force,
                                      std::string_view source) {
  if (title.size() > kMaxTitle) {
    return Error{Errc::too_large, "a title has up to 64 KiB"};
  }
  const std::string clean = clean_title(title);
  if (clean.empty()) {
    return Error{Errc::invalid_argument, "a title cannot be empty"};
  }
  const auto known = known_of(session);
  if (!known) {
    return known.error();
  }
  if (source == "auto" && !known->title.empty() && known->title_source == "user") {
    return known->title;
  }
  if (known->has_slot) {
    auto done = set_slot_title(session, clean, source, known->title, force);
    return done ? Result<std::string>(clean) : done.error();
  }
  RewriteRequest request;
  request.force = force;
  request.header = [&](std::string_view present, const Header& /*header*/) -> Result<std::string> {
    auto titled = with_member(present, "title", json_string(clean));
    return titled && known->flavour == Flavour::omp18 ? with_member(*titled, "titleSource", json_string(source))
                                                      : titled;
  };
  auto done = queue_->rewrite(session, request);
  return done ? Result<std::string>(clean) : done.error();
}

Result<void> Writer::rewrite(const SessionPtr& session, bool force) {
  RewriteRequest request;
  request.force = force;
  return queue_->rewrite(session, request);
}

/// As the younger agents do it: an entry that tells of the change, and the slot (FACTS E4).
Result<void> Writer::set_slot_title(const SessionPtr& session, const std::string& title, std::string_view source,
                                    const std::string& previous, bool force) {
  EntryFields fields("title_change");
  fields.text("title", title).text("source", source);
  if (!previous.empty()) {
    fields.text("previousTitle", previous);
  }
  auto draft = fields.draft(Flavour::omp18);
  if (!draft) {
    return draft.error();
  }
  AppendRequest request;
  request.force = force;
  request.bytes = title.size() + kLineOverhead;
  request.slot = title_slot_line(title, source, now_ms());
  request.plan = [&](LineBatch& batch) -> Result<void> {
    batch.add(*draft);
    return {};
  };
  return queue_->append(session, std::move(request));
}

Result<Made> Writer::fork(const SessionPtr& session, const std::string& target, bool force) {
  if (auto known = known_of(session); !known) {
    return known.error();
  }
  ForkPlan plan;
  if (!target.empty()) {
    plan.what = ForkOf::path;
    {
      const auto guard = session->read();
      const auto found = guard ? find_target(guard->index(), target)
                               : Result<Ordinal>(Errc::stale, "the session changed while it was read");
      if (!found) {
        return found.error();
      }
      plan.leaf = *found;
    }
    if (auto fits = force ? Result<void>() : check_branch_end(*session, plan.leaf); !fits) {
      return fits.error();
    }
  }
  auto place = write_fork(catalog_, *session, plan, settings_.durability == Durability::synced);
  return place ? made_at(*place) : place.error();
}

Result<Made> Writer::create(const NewSession& wanted) {
  const auto cwd = resolved_cwd(wanted.cwd);
  if (!cwd) {
    return cwd.error();
  }
  NewHeader header;
  header.timestamp_ms = now_ms();
  header.id = new_session_id(Flavour::omp13, header.timestamp_ms);
  header.cwd = *cwd;
  header.title = clean_title(wanted.title);
  header.parent_session = wanted.parent_session;
  std::vector<EntryDraft> entries;
  if (!wanted.model.empty()) {
    auto draft = EntryFields("model_change").text("model", wanted.model).text("role", "default").draft(Flavour::omp13);
    if (!draft) {
      return draft.error();
    }
    entries.push_back(std::move(*draft));
  }
  auto place = write_new_log(catalog_, std::move(header), entries, settings_.durability == Durability::synced);
  return place ? made_at(*place) : place.error();
}

Result<Made> Writer::made_at(const LogPlace& place) {
  const auto session = catalog_.at(place);
  return session ? Result<Made>(made_of(session)) : Result<Made>(Errc::stale, "the new session is gone already");
}

Result<Made> Writer::move(const SessionPtr& session, const std::string& cwd, bool force) {
  const auto known = known_of(session);
  const auto target = known ? resolved_cwd(cwd) : Result<std::string>(known.error());
  if (!target) {
    return target.error();
  }
  const LogPlace from = session->place();
  const LogPlace to{folder_for(*target, catalog_), from.file};
  RewriteRequest request;
  request.force = force;
  request.header = [&](std::string_view present, const Header& /*header*/) -> Result<std::string> {
    auto moved = with_member(present, "cwd", json_string(*target));
    if (!moved || known->flavour == Flavour::omp13) {
      return moved;
    }
    json::Document header;
    json::Value previous(rapidjson::kArrayType);
    if (json::parse(present, header)) {
      if (const auto* there = json::member(header, "previousSessionFiles"); there != nullptr && there->IsArray()) {
        previous = json::copy(*there, header);
      }
    }
    const std::string path = catalog_.store().paths().sessions + "/" + from.folder + "/" + from.file;
    previous.PushBack(json::make_string(path, header), header.GetAllocator());
    return with_member(*moved, "previousSessionFiles", json::stringify(previous));
  };
  if (!(to == from)) {
    request.move_to = to;
  }
  if (auto done = queue_->rewrite(session, request); !done) {
    return done.error();
  }
  catalog_.relocate(session, to);
  return made_of(session);
}

Result<void> Writer::remove(const SessionPtr& session, bool force) {
  if (!settings_.allow_delete) {
    return Error{Errc::not_permitted, "sessions are deleted only in a mount with -o allow_delete, or by arborfs rm"};
  }
  const LogPlace place = session->place();
  auto done = queue_->exclusive(session, force, [&](LogWriter& writer) -> Result<void> {
    Trash trash(settings_.trash, catalog_.store().disk());
    auto taken = trash.take(catalog_.store(), place, session->head().header.title);
    writer.release();
    return taken ? Result<void>() : Result<void>(taken.error());
  });
  catalog_.rescan_folder(place.folder);
  return done;
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
