#include "core/formats/opal/write/opal_writer.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opal/write/new_lines.h"
#include "core/formats/opal/write/tool_calls.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/session/agent_look.h"
#include "core/writer/not_synced.h"
#include "core/writer/resolve_target.h"
#include "core/writer/title_text.h"

namespace arborfs {
namespace {

std::string id_of(const LogIndex& index, Ordinal ordinal) {
  return ordinal == kNoEntry ? "" : std::string(index.id(ordinal).text);
}

Result<std::vector<std::string>> new_ids(std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto id, opal::new_message_id());
    ids.push_back(std::move(id));
  }
  return ids;
}

Error leaf_has_moved() {
  return {Errc::stale, "the leaf is no longer that entry"};
}

Result<void> check_log(const Session::Guard& guard) {
  RETURN_IF_ERROR(check_writable(guard.format()));
  if (!guard.index().header().valid) {
    return Error{Errc::read_only, guard.index().header().problem};
  }
  const auto& damage = guard.index().damage();
  if (guard.log()->is_decoded() ||
      std::any_of(damage.begin(), damage.end(), [](const Damage& run) { return !run.is_replaced(); })) {
    return Error{Errc::read_only, "the log has damaged lines, with which Opal does not load it"};
  }
  return {};
}

/// True if the last line with the same id as this one is removed.
bool is_dead_line_of(std::string_view line, const std::vector<std::string>& removed) {
  const auto id = skim::string_value(skim::member(line, "id"));
  return id && std::find(removed.begin(), removed.end(), *id) != removed.end();
}

/// The end of the line whose record ends at `at`.
Result<std::uint64_t> end_of_line(const LogSource& log, std::uint64_t at, std::uint64_t end) {
  constexpr std::uint64_t kAhead = 256;
  while (at < end) {
    ASSIGN_OR_RETURN(const auto bytes, log.read(at, std::min(kAhead, end - at)));
    const std::size_t feed = bytes.find('\n');
    if (feed != std::string::npos || bytes.empty()) {
      return feed == std::string::npos ? end : at + feed + 1;
    }
    at += bytes.size();
  }
  return end;
}

}  // namespace

Result<void> OpalWriter::check(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(session->refresh(Depth::index));
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    RETURN_IF_ERROR(check_log(guard));
  }
  return check_quiet(session, force);
}

RoomWanted OpalWriter::room_for(const SessionPtr& session, std::string_view /*verb*/, std::uint64_t bytes) {
  const auto log = session->store().stat(session->place());
  return {bytes + (log ? log->size : 0) + RoomWanted::kBeside, 2};
}

/// Writes the lines after the header, with the edits of the draft.
Result<void> OpalWriter::write_rest(TempFile& file, const LogSource& log, std::uint64_t at, std::uint64_t end,
                                    const Draft& draft) {
  using What = opal::LineEdit::What;
  const auto copy = [&](std::uint64_t from, std::uint64_t until) {
    return copy_bytes(log, from, until, [&](std::string_view bytes) { return file.write(bytes); });
  };
  const std::string parent = draft.new_parent.empty() ? "null" : json::stringify_string(draft.new_parent);
  for (const opal::LineEdit& edit : draft.edits) {
    RETURN_IF_ERROR(copy(at, edit.offset));
    ASSIGN_OR_RETURN(const auto line, log.read(edit.offset, edit.length));
    at = edit.offset + edit.length;
    if (edit.what == What::relinked) {
      RETURN_IF_ERROR(file.write(opal::with_member(line, "parent_id", parent)));
    } else if (edit.what == What::removed || is_dead_line_of(line, draft.removed)) {
      ASSIGN_OR_RETURN(at, end_of_line(log, at, end));
    } else {
      RETURN_IF_ERROR(file.write(line));
    }
  }
  RETURN_IF_ERROR(copy(at, end));
  return file.end_line();
}

Result<void> OpalWriter::replace_log(const SessionPtr& session, const LogSource& log, const FileStat& stat,
                                     std::uint64_t header_end, const Draft& draft) {
  const bool is_synced = settings().durability == Durability::synced;
  const LogPlace place = session->place();
  Disk& disk = session->store().disk();
  ASSIGN_OR_RETURN(const auto folder, session->store().folder(place));
  ASSIGN_OR_RETURN(const auto file, TempFile::create(disk, folder, 0600));
  ASSIGN_OR_RETURN(const auto original, File::open_in(folder, place.file));
  RETURN_IF_ERROR(file->keep_attributes(original));
  RETURN_IF_ERROR(file->write(draft.header));
  RETURN_IF_ERROR(write_rest(*file, log, header_end, stat.size, draft));
  RETURN_IF_ERROR(file->write(draft.lines));
  RETURN_IF_ERROR(file->finish(is_synced));
  ASSIGN_OR_RETURN(const auto held, opal::hold_log(folder, place.file, stat));
  ASSIGN_OR_RETURN(const auto written, file->stat());
  if (!draft.puts_back) {
    session->expect_own_log(written);  // else reading it shows that they are there again
  }
  ASSIGN_OR_RETURN(const bool is_done, file->replace(place.file, [&](const File& old) {
    const auto now = old.stat();
    return now && *now == stat;
  }));
  RETURN_IF_ERROR(is_done ? Result<void>() : log_changed());
  ErasedEntries& erased = catalog().state_of(*session).erased;
  if (!draft.removed.empty()) {
    erased.forget(place.file, draft.removed);
  }
  if (!draft.lines.empty() && !draft.puts_back) {
    erased.acknowledge(place.file, draft.lines);
  }
  return {};
}

Result<void> OpalWriter::sync_name(const SessionPtr& session) const {
  if (settings().durability != Durability::synced) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto folder, session->store().folder(session->place()));
  return session->store().disk().sync_folder(folder);
}

/// Otherwise a running program would be taken for the writer of the log.
void OpalWriter::note_own_write(const Session& session, const FileStat& before) {
  const LogPlace place = session.place();
  if (const auto after = session.store().stat(place)) {
    const bool agents_run = !AgentLook::recent(session.store())->is_empty();
    catalog().state_of(session).marks.note_written(place.file, before, *after, agents_run);
  }
}

Result<void> OpalWriter::rewrite(const SessionPtr& session, const std::vector<Waiting*>& batch) {
  session->forget_look();
  RETURN_IF_ERROR(session->refresh(Depth::index));
  const Session::Use use(session);
  std::shared_ptr<const LogSource> log;
  FileStat stat;
  Header header;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    RETURN_IF_ERROR(check_log(guard));
    log = guard.log();
    stat = guard.stat();
    header = guard.index().header();
  }
  Draft draft;
  ASSIGN_OR_RETURN(draft.header, log->read(header.offset, header.length));
  const std::string before = draft.header;
  const auto quiet = check_quiet(session, false);
  bool is_changed = false;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    if (!(guard.stat() == stat)) {
      return session_changed();
    }
    draft.index = &guard.index();
    draft.leaf = id_of(guard.index(), guard.leaf());
    for (Waiting* one : batch) {
      one->result = quiet || one->force ? one->change(draft) : quiet;
    }
    is_changed = draft.is_moved || !draft.lines.empty() || !draft.edits.empty() || draft.header != before;
    draft.index = nullptr;
  }
  if (!is_changed) {
    return {};
  }
  if (draft.is_moved) {
    draft.header = opal::with_member(std::move(draft.header), "current_id",
                                     draft.leaf.empty() ? "null" : json::stringify_string(draft.leaf));
  }
  RETURN_IF_ERROR(replace_log(session, *log, stat, header.offset + header.length, draft));
  const auto synced = sync_name(session);
  note_own_write(*session, stat);
  session->forget_look();
  const auto read = session->refresh(Depth::index);
  session->note_own_write();
  if (!synced) {
    return written_but_not_synced(synced.error());
  }
  if (!read) {
    return Error{Errc::io, "it was written, but the log cannot be read back: " + read.error().message};
  }
  return {};
}

/// Begins anew if another program wrote meanwhile, until it has been doing so for too long. Opal empties the log before
/// it writes it, so that a log that has just changed may have no header.
Result<void> OpalWriter::rewrite_in_turn(const SessionPtr& session, const std::vector<Waiting*>& batch) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + patience_;
  bool has_met = false;
  for (;;) {
    auto done = rewrite(session, batch);
    const auto now = Clock::now();
    has_met = has_met || (!done && done.error().code == Errc::stale);
    const bool is_met = !done && has_met && (done.error().code == Errc::stale || done.error().code == Errc::read_only);
    if (!is_met || now >= until) {
      return done;
    }
    constexpr unsigned kMostPauses = 8;  // of a millisecond; not the same for two that compete
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + now.time_since_epoch().count() / 1000 % kMostPauses));
  }
}

void OpalWriter::run(const SessionPtr& session, const std::vector<Waiting*>& batch) {
  Result<void> done;
  try {
    done = rewrite_in_turn(session, batch);
  } catch (const std::exception&) {
    done = Error{Errc::io, "there is not enough memory for the change"};
  }
  for (Waiting* one : batch) {
    one->result = one->result && !done ? done : one->result;
  }
}

Result<void> OpalWriter::apply(const SessionPtr& session, Change change, bool force, Shares shares) {
  Waiting mine;
  mine.change = std::move(change);
  mine.force = force;
  mine.is_alone = shares == Shares::nothing;
  changes_.wait(session->number(), mine, [&](const std::vector<Waiting*>& batch) { run(session, batch); });
  return mine.result;
}

Result<void> OpalWriter::check_json(const SessionPtr& session, std::string_view text) {
  ASSIGN_OR_RETURN(const auto messages, opal::new_messages({std::string(text), true, ""}));
  return check(session, messages.force);
}

Result<AppendResult> OpalWriter::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(const auto messages, opal::new_messages(text));
  ASSIGN_OR_RETURN(const auto ids, new_ids(messages.members.size()));
  AppendResult result{ids.back(), ""};
  const auto append = [&](Draft& draft) -> Result<void> {
    std::string parent = draft.leaf;
    if (!messages.if_leaf.empty() && messages.if_leaf != parent) {
      return leaf_has_moved();
    }
    if (!text.at.empty()) {
      ASSIGN_OR_RETURN(const auto ordinal, find_leaf_target(*draft.index, text.at));
      parent = id_of(*draft.index, ordinal);
    }
    result.parent_id = parent;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      draft.lines += opal::message_line(ids[i], parent, messages.members[i]);
      parent = ids[i];
    }
    draft.leaf = parent;
    draft.is_moved = true;
    return {};
  };
  RETURN_IF_ERROR(apply(session, append, messages.force));
  return result;
}

Result<std::size_t> OpalWriter::put_back_erased(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_writable(session->format()));
  const auto erased = catalog().state_of(*session).erased.of(session->place().file);
  std::size_t count = 0;
  const auto put_back = [&](Draft& draft) -> Result<void> {
    count = 0;
    for (const auto& entry : erased) {
      if (draft.index->find(entry.id) == kNoEntry) {
        draft.lines += entry.json + "\n";
        draft.puts_back = true;
        ++count;
      }
    }
    return {};
  };
  RETURN_IF_ERROR(apply(session, put_back, force, Shares::nothing));
  return count;
}

Result<void> OpalWriter::check_branch(const SessionPtr& session, const std::string& target) {
  RETURN_IF_ERROR(check(session, false));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  RETURN_IF_ERROR(find_leaf_target(guard.index(), target));
  return {};
}

Result<MovedLeaf> OpalWriter::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                     bool force, bool /*pin*/) {
  RETURN_IF_ERROR(check(session, force));
  if (!json::is_valid_utf8(summary)) {
    return Error{Errc::not_utf8, "the summary is not UTF-8"};
  }
  Ordinal ordinal = kNoEntry;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    ASSIGN_OR_RETURN(ordinal, find_leaf_target(guard.index(), target));
  }
  if (ordinal != kNoEntry && !force) {
    RETURN_IF_ERROR(opal::check_answered(*session, ordinal));
  }
  ASSIGN_OR_RETURN(const auto id, opal::new_message_id());
  MovedLeaf moved;
  const auto move = [&](Draft& draft) -> Result<void> {
    ASSIGN_OR_RETURN(const auto found, find_leaf_target(*draft.index, target));
    const std::string to = id_of(*draft.index, found);
    if (!summary.empty()) {
      draft.lines += opal::message_line(id, to, opal::branch_summary(summary, draft.leaf));
      moved.summary_id = id;
    }
    draft.leaf = summary.empty() ? to : id;
    draft.is_moved = true;
    moved.leaf = draft.leaf.empty() ? "root" : draft.leaf;
    return {};
  };
  RETURN_IF_ERROR(apply(session, move, force));
  return moved;
}

Result<std::string> OpalWriter::set_title(const SessionPtr& session, std::string_view title, bool force,
                                          std::string_view source) {
  ASSIGN_OR_RETURN(const std::string wanted, checked_title(title));
  RETURN_IF_ERROR(check_writable(session->format()));
  std::string in_force = wanted;
  const auto change = [&](Draft& draft) -> Result<void> {
    in_force = wanted;
    const std::string_view metadata = skim::member(draft.header, "metadata");
    const std::string present = skim::string_value(skim::member(metadata, "title")).value_or("");
    if (present == wanted || (source == "auto" && !present.empty())) {
      in_force = present;
      return {};
    }
    const std::string object = metadata.starts_with('{') ? std::string(metadata) : "{}";
    draft.header = opal::with_member(std::move(draft.header), "metadata",
                                     opal::with_member(object, "title", json::stringify_string(wanted)));
    return {};
  };
  RETURN_IF_ERROR(apply(session, change, force));
  return in_force;
}

Result<AppendResult> OpalWriter::replace(const SessionPtr& session, const Replacement& wanted, bool force) {
  ASSIGN_OR_RETURN(const auto messages, opal::new_messages_of(wanted.messages));
  RETURN_IF_ERROR(check(session, force || messages.force));
  opal::Run run;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    ASSIGN_OR_RETURN(run, opal::find_run(guard.index(), wanted.first, wanted.last));
  }
  if (!force && !messages.force) {
    RETURN_IF_ERROR(opal::check_replaced(*session, run.first, run.last, messages.members));
  }
  ASSIGN_OR_RETURN(const auto ids, new_ids(messages.members.size()));
  AppendResult result;
  const auto change = [&](Draft& draft) -> Result<void> {
    if (!messages.if_leaf.empty() && messages.if_leaf != draft.leaf) {
      return leaf_has_moved();
    }
    ASSIGN_OR_RETURN(const auto found, opal::find_run(*draft.index, wanted.first, wanted.last));
    auto segment = opal::replace_segment(*draft.index, found);
    result = {ids.empty() ? "" : ids.back(), segment.parent};
    std::string parent = segment.parent;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      draft.lines += opal::message_line(ids[i], parent, messages.members[i]);
      parent = ids[i];
    }
    draft.edits = std::move(segment.edits);
    draft.removed = std::move(segment.removed);
    draft.leaf = segment.moves_leaf ? parent : draft.leaf;
    draft.is_moved = segment.moves_leaf;
    draft.new_parent = std::move(parent);
    return {};
  };
  RETURN_IF_ERROR(apply(session, change, force || messages.force, Shares::nothing));
  return result;
}

}  // namespace arborfs
