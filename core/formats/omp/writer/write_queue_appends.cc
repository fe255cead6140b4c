// Appends to a log, and removal of the partial appends of killed processes.
#include "core/base/log.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/writer/log_rewrite.h"
#include "core/formats/omp/writer/write_queue.h"

namespace arborfs {

/// Appends the lines, or rewrites the log if an append is not enough.
Result<void> WriteQueue::put_lines(const SessionPtr& session, std::unique_ptr<LogWriter> writer, Lines& lines,
                                   LivePolicy policy) {
  bool fits = true;
  if (!lines.slot.empty()) {
    ASSIGN_OR_RETURN(fits, fits_in_place(*lines.log, lines.slot));
  }
  if (fits && !lines.migrates) {
    return append_lines(session, *writer, lines);
  }
  return rewrite_with(session, std::move(writer), lines, policy);
}

Result<void> WriteQueue::append_lines(const SessionPtr& session, LogWriter& writer, Lines& lines) {
  std::vector<Damage> damage;
  std::shared_ptr<const LogSource> log;
  {
    const auto guard = session->read();
    if (!guard) {
      return Error{Errc::not_found, "the session is gone"};
    }
    damage = guard->index().damage();
    log = guard->log();
  }
  ASSIGN_OR_RETURN(const auto lead, lead_for(*log, damage, writer.stat().size));
  lines.text.insert(0, lead);
  lines.lead = lead.size();
  RETURN_IF_ERROR(append_and_overwrite(session, writer, lines));
  return settle(session, writer, lines);
}

Result<void> WriteQueue::append_and_overwrite(const SessionPtr& session, LogWriter& writer, const Lines& lines) {
  if (!lines.slot.empty()) {
    RETURN_IF_ERROR(writer.try_replace());  // where only appends are possible, the lines could not be taken back
  }
  const auto note = catalog_.state_of(*session).pending.note(session->place(), writer.stat(), lines.text);
  auto written = writer.append(lines.text);
  if (!written || lines.slot.empty()) {
    return written;
  }
  auto overwritten = writer.overwrite(0, lines.slot);
  if (overwritten) {
    return {};
  }
  auto undone = writer.undo_append();
  return undone ? overwritten : undone;
}

/// Cuts off the partial append of a killed process before anything is written after it, but not while an agent may have
/// read it. Returns true if the log must be locked again.
bool WriteQueue::take_back_part(const SessionPtr& session, LogWriter& writer) {
  const std::string log = session->place().file;
  PendingAppends& pending = catalog_.state_of(*session).pending;
  if (!pending.has(log)) {
    return false;
  }
  const auto look = look_ahead(*session, LivePolicy::on_quiet);
  if (!refuse_live(session, writer, look.get(), LivePolicy::on_quiet) || !pending.take_back(writer, log)) {
    return false;
  }
  writer.release();
  if (auto synced = settings_.sync ? writer.sync() : Result<void>(); !synced) {
    write_log(LogLevel::warning, log + ": " + synced.error().message);
  }
  return true;
}

void WriteQueue::take_back_parts() {
  for (std::size_t store = 0; store < catalog_.stores().size(); ++store) {
    take_back_parts_in(static_cast<std::uint8_t>(store));
  }
}

void WriteQueue::take_back_parts_in(std::uint8_t store) {
  PendingAppends& pending = catalog_.state(store).pending;
  for (LogPlace& place : pending.all()) {
    place.store = store;
    catalog_.touch(place);
    const auto session = catalog_.at(place);
    const auto done = session ? exclusive(session, false, [](LogWriter&) { return Result<void>(); })
                              : Result<void>(Errc::not_found, "the log is gone");
    if (!done && done.error().code == Errc::not_found) {
      pending.forget(place.file);
    } else if (!done) {
      write_log(LogLevel::warning, place.file + " may end with a partial append: " + done.error().message);
    } else {
      catalog_.touch(place);
    }
  }
}

}  // namespace arborfs
