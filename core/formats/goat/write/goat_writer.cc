#include "core/formats/goat/write/goat_writer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/metadata.h"
#include "core/formats/goat/write/metadata_file.h"
#include "core/json/utf8.h"
#include "core/writer/not_synced.h"
#include "core/writer/resolve_target.h"
#include "core/writer/title_text.h"

namespace arborfs {
namespace {

Result<void> check_log(const Session::Guard& guard) {
  RETURN_IF_ERROR(check_writable(guard.format()));
  if (!guard.index().header().valid) {
    return Error{Errc::read_only, guard.index().header().problem};
  }
  if (guard.log()->is_decoded()) {
    return Error{Errc::read_only, "the messages are not stored as UTF-8"};
  }
  return {};
}

/// The name of a session's transcript for PendingAppends.
std::string transcript_name(const LogPlace& place) {
  return place.folder + "." + goat::kTranscriptFile;
}

/// A line feed if the last line of a file has none: the next line is never joined to it.
Result<std::string> lead_for(const LogSource& log, std::uint64_t size) {
  if (size == 0) {
    return std::string();
  }
  ASSIGN_OR_RETURN(const auto last, log.read(size - 1, 1));
  return std::string(last == "\n" ? "" : "\n");
}

/// The shape of the first message; nested if there is none.
Result<goat::Shape> shape_of(const LogSource& log, std::uint64_t offset, std::uint64_t length) {
  if (length == 0 || length > goat::kLongestLine) {
    return goat::Shape::nested;
  }
  ASSIGN_OR_RETURN(const auto line, log.read(offset, length));
  return goat::go_member(line, "message").starts_with('{') ? goat::Shape::nested : goat::Shape::flat;
}

/// The end of a session, after which the next message is appended.
struct End {
  std::shared_ptr<const LogSource> log;
  FileStat stat;
  std::string leaf;
  std::uint64_t first_offset = 0;
  std::uint64_t first_length = 0;  // 0 if there is no message
};

Result<End> end_of(const Session& session) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  RETURN_IF_ERROR(check_log(guard));
  End end{guard.log(), guard.stat(), "", 0, 0};
  if (guard.index().size() > 0) {
    end.leaf = guard.index().id(guard.index().size()).text;
    end.first_offset = guard.index().entry(1).offset;
    end.first_length = guard.index().length(1);
  }
  return end;
}

/// The number of messages that the log has now.
Result<std::string> count_messages(Session& session) {
  RETURN_IF_ERROR(session.refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  return std::to_string(guard.index().size());
}

/// Fails unless `at` names the last message.
Result<void> check_end(const Session& session, const std::string& at, const std::string& leaf) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  ASSIGN_OR_RETURN(const auto found, find_leaf_target(guard.index(), at));
  const std::string id = found == kNoEntry ? "" : guard.index().id(found).text;
  return id == leaf ? Result<void>()
                    : Error{Errc::stale, "that entry is not the last message, and sessions of goat have no branches"};
}

}  // namespace

GoatWriter::GoatWriter(Catalog& catalog, WriteSettings settings, std::chrono::milliseconds quiet)
    : Writer(catalog, std::move(settings)),
      updates_([this](const SessionPtr& session) { update_metadata(session); }, quiet) {}

Result<void> GoatWriter::check(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(session->refresh(Depth::index));
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    RETURN_IF_ERROR(check_log(guard));
  }
  return check_quiet(session, force);
}

/// A title is in the metadata, which are written anew.
RoomWanted GoatWriter::room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) {
  RoomWanted room = Writer::room_for(session, verb, bytes);
  if (verb == "title") {
    const auto folder = session->store().folder(session->place());
    const auto metadata = folder ? folder->stat(goat::kMetadataFile) : Result<FileStat>(folder.error());
    room.bytes += metadata ? metadata->size : 0;
    room.grown_file.clear();
  }
  return room;
}

Result<void> GoatWriter::check_json(const SessionPtr& session, std::string_view text) {
  ASSIGN_OR_RETURN(const auto records, goat::new_records({std::string(text), true, ""}, ""));
  return check(session, records.force);
}

/// Cuts off the part of an append that a killed process left. True if the log must be locked again.
Result<bool> GoatWriter::take_back_part(const SessionPtr& session, LogWriter& writer) {
  PendingAppends& pending = catalog().state_of(*session).pending;
  const std::string name = session->place().file;
  if (!pending.has(name) || !pending.take_back(writer, name)) {
    return false;
  }
  writer.release();
  RETURN_IF_ERROR(syncs() ? writer.sync() : Result<void>());
  session->forget_look();
  return true;
}

void GoatWriter::take_back_parts() {
  for (std::size_t number = 0; number < catalog().stores().size(); ++number) {
    const auto store = static_cast<std::uint8_t>(number);
    if (catalog().stores().at(store)->format().agent != "goat") {
      continue;
    }
    PendingAppends& pending = catalog().state(store).pending;
    for (LogPlace& place : pending.all()) {
      place.store = store;
      if (place.file == transcript_name(place)) {
        continue;  // the next record of the transcript completes it
      }
      catalog().touch(place);
      const auto session = catalog().at(place);
      if (!session) {
        pending.forget(place.file);
        continue;
      }
      auto writer = check_quiet(session, false) ? session->store().writer(place)
                                                : Result<std::unique_ptr<LogWriter>>(Errc::busy, "the session is live");
      const auto done = writer ? take_back_part(session, **writer) : Result<bool>(writer.error());
      if (!done) {
        write_log(LogLevel::warning, place.file + " may end with a partial append: " + done.error().message);
      }
      catalog().touch(place);
    }
  }
}

/// The right to append to a session's messages.
struct GoatWriter::Held {
  std::shared_ptr<const Dir> folder;
  std::unique_ptr<LogWriter> writer;
  Result<void> quiet;  // an error if an agent may have the session open

  Result<void> refresh(Session& session) const {
    session.forget_look();
    return session.refresh(Depth::index, [&] { return session.store().stat_in(*folder, session.place()); });
  }
};

/// Takes goat's lock. Signs of an agent that are seen under it may pass within one write, for which it is released.
Result<GoatWriter::Held> GoatWriter::hold(const SessionPtr& session, bool is_forced) {
  SessionStore& store = session->store();
  ASSIGN_OR_RETURN(auto dir, store.folder(session->place()));
  Held held;
  held.folder = std::make_shared<const Dir>(std::move(dir));
  held.writer = goat::try_lock_log(store.disk(), held.folder, goat::kMessagesFile);
  if (held.writer == nullptr || !is_surely_quiet(*session, *held.folder, *held.writer)) {
    held.writer.reset();
    held.quiet = check_quiet(session, false);
    RETURN_IF_ERROR(is_forced ? Result<void>() : held.quiet);
    ASSIGN_OR_RETURN(held.writer, goat::lock_log(store.disk(), held.folder, goat::kMessagesFile));
  }
  ASSIGN_OR_RETURN(const bool is_cut, take_back_part(session, *held.writer));
  if (is_cut) {
    ASSIGN_OR_RETURN(held.writer, goat::lock_log(store.disk(), held.folder, goat::kMessagesFile));
  }
  return held;
}

/// Appends the lines, with a line feed before them if necessary, in one write.
Result<void> GoatWriter::append_lines(const SessionPtr& session, const Held& held, const std::string& lines) {
  LogWriter& writer = *held.writer;
  {
    const auto note = catalog().state_of(*session).pending.note(session->place(), writer.stat(), lines);
    RETURN_IF_ERROR(writer.append(lines));
  }
  writer.release();
  const auto synced = syncs() ? writer.sync() : Result<void>();
  const auto read = held.refresh(*session);
  session->note_own_write();
  if (!synced) {
    return written_but_not_synced(synced.error());
  }
  if (!read) {
    return Error{Errc::io, "it was written, but the session cannot be read back: " + read.error().message};
  }
  updates_.add(session);
  return {};
}

Result<void> GoatWriter::append_batch(const SessionPtr& session, const std::vector<Waiting*>& batch) {
  const Session::Use use(session);
  RETURN_IF_ERROR(session->has(Depth::index) ? Result<void>() : session->refresh(Depth::index));
  RETURN_IF_ERROR(end_of(*session));  // a log that refuses appends gets no lock file; below it is read as it is now
  const bool is_forced =
      std::any_of(batch.begin(), batch.end(), [](const Waiting* one) { return one->records->force; });
  ASSIGN_OR_RETURN(const auto held, hold(session, is_forced));
  RETURN_IF_ERROR(held.refresh(*session));
  ASSIGN_OR_RETURN(End end, end_of(*session));
  ASSIGN_OR_RETURN(const auto shape, shape_of(*end.log, end.first_offset, end.first_length));
  ASSIGN_OR_RETURN(std::string lines, lead_for(*end.log, held.writer->stat().size));
  const std::string time = goat::timestamp_now();
  std::vector<Waiting*> written;
  for (Waiting* one : batch) {
    const auto& records = *one->records;
    auto may = records.force ? Result<void>() : held.quiet;
    may = may && !one->at->empty() ? check_end(*session, *one->at, end.leaf) : may;
    if (may && !records.if_leaf.empty() && records.if_leaf != (end.leaf.empty() ? "root" : end.leaf)) {
      may = Error{Errc::stale, "the leaf is no longer that entry"};
    }
    if (!may) {
      one->result = may.error();
      continue;
    }
    AppendResult result{records.records.back().id, end.leaf};
    for (const auto& record : records.records) {
      lines += goat::message_line(shape, record, time);
    }
    end.leaf = result.id;
    one->result = std::move(result);
    written.push_back(one);
  }
  const auto done = written.empty() ? Result<void>() : append_lines(session, held, lines);
  for (Waiting* one : written) {
    one->result = done ? std::move(one->result) : Result<AppendResult>(done.error());
  }
  return {};
}

void GoatWriter::run(const SessionPtr& session, const std::vector<Waiting*>& batch) {
  Result<void> done;
  try {
    done = append_batch(session, batch);
  } catch (const std::exception&) {
    done = Error{Errc::io, "there is not enough memory for the append"};
  }
  for (Waiting* one : batch) {
    one->result = done ? std::move(one->result) : Result<AppendResult>(done.error());
  }
}

Result<AppendResult> GoatWriter::append_to_transcript(const SessionPtr& session, const goat::NewRecords& records) {
  RETURN_IF_ERROR(check(session, records.force));
  ASSIGN_OR_RETURN(auto dir, session->store().folder(session->place()));
  const auto folder = std::make_shared<const Dir>(std::move(dir));
  ASSIGN_OR_RETURN(auto writer, goat::lock_log(session->store().disk(), folder, goat::kTranscriptFile));
  ASSIGN_OR_RETURN(const auto transcript, File::open_in(*folder, goat::kTranscriptFile));
  const LogPlace noted{session->place().folder, transcript_name(session->place())};
  PendingAppends& pending = catalog().state_of(*session).pending;
  if (pending.has(noted.file) && pending.take_back(*writer, noted.file)) {
    writer->release();
    RETURN_IF_ERROR(syncs() ? writer->sync() : Result<void>());
    return append_to_transcript(session, records);
  }
  const std::uint64_t size = writer->stat().size;
  ASSIGN_OR_RETURN(const auto last, transcript.read(size - std::min<std::uint64_t>(size, 1), 1));
  std::string lines = size == 0 || last == "\n" ? "" : "\n";
  for (const auto& record : records.records) {
    lines += record.json + "\n";
  }
  {
    const auto note = pending.note(noted, writer->stat(), lines);
    RETURN_IF_ERROR(writer->append(lines));
  }
  writer->release();
  if (const auto synced = syncs() ? writer->sync() : Result<void>(); !synced) {
    return written_but_not_synced(synced.error());
  }
  return AppendResult{records.records.back().id, ""};
}

Result<AppendResult> GoatWriter::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(const auto records, goat::new_records(text, session->stem()));
  if (records.is_transcript) {
    return append_to_transcript(session, records);
  }
  Waiting mine;
  mine.records = &records;
  mine.at = &text.at;
  appends_.wait(session->number(), mine, [&](const std::vector<Waiting*>& batch) { run(session, batch); });
  return std::move(mine.result);
}

/// Adds no fields that the file does not have: the flat shape has neither. The messages are counted after the metadata
/// is read: another program changes it after it has appended, so no count replaces one of more messages.
void GoatWriter::update_metadata(const SessionPtr& session) {
  const auto update = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(const auto folder, session->store().folder(session->place()));
    const auto change = [&](std::string text) -> Result<std::string> {
      ASSIGN_OR_RETURN(const std::string count, count_messages(*session));
      for (const auto& [key, value] :
           {std::pair("updated_at", goat::go_literal(goat::timestamp_now())), std::pair("message_count", count)}) {
        text = goat::metadata_value(text, key).empty() ? text : goat::with_metadata(text, key, value);
      }
      return text;
    };
    RETURN_IF_ERROR(goat::change_metadata(session->store().disk(), folder, syncs(), change));
    return show_metadata(session);
  };
  try {
    if (const auto done = update(); !done) {
      write_log(LogLevel::warning,
                "the metadata of " + session->stem() + " is behind its messages: " + done.error().message);
    }
  } catch (const std::exception&) {
    write_log(LogLevel::warning, "the metadata of " + session->stem() + " is behind its messages");
  }
}

/// Makes a change to the metadata visible.
Result<void> GoatWriter::show_metadata(const SessionPtr& session) {
  session->forget_look();
  const auto read = session->refresh(Depth::head);
  session->note_own_write();
  if (!read) {
    return Error{Errc::io, "it was written, but the session cannot be read back: " + read.error().message};
  }
  return {};
}

Result<std::string> GoatWriter::set_title(const SessionPtr& session, std::string_view title, bool force,
                                          std::string_view source) {
  ASSIGN_OR_RETURN(const std::string wanted, checked_title(title));
  RETURN_IF_ERROR(check(session, force));
  std::string in_force = wanted;
  const auto change = [&](std::string text) -> Result<std::string> {
    const std::string present = goat::go_string(goat::metadata_value(text, "leaf_title")).value_or("");
    if (present == wanted || (source == "auto" && !present.empty())) {
      in_force = present;
      return text;
    }
    return goat::with_metadata(std::move(text), "leaf_title", goat::go_literal(wanted));
  };
  ASSIGN_OR_RETURN(const auto folder, session->store().folder(session->place()));
  RETURN_IF_ERROR(goat::change_metadata(session->store().disk(), folder, syncs(), change));
  RETURN_IF_ERROR(show_metadata(session));
  return in_force;
}

}  // namespace arborfs
