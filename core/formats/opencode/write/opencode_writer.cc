#include "core/formats/opencode/write/opencode_writer.h"

#include "core/base/result_macros.h"
#include "core/formats/opencode/opencode_format.h"
#include "core/formats/opencode/write/run_summary.h"
#include "core/json/utf8.h"
#include "core/writer/title_text.h"

namespace arborfs {
namespace {

/// How often sessions are moved to the trash again because they changed before they could be removed.
constexpr int kMostTries = 5;

Error refuse_json() {
  return {Errc::invalid_argument, "sessions of OpenCode accept the text of a message, not JSON"};
}

Result<void> check_message(std::string_view text) {
  if (!json::is_valid_utf8(text)) {
    return Error{Errc::not_utf8, "the text is not UTF-8"};
  }
  if (text.size() > kMaxCommandBytes / 2) {
    return Error{Errc::too_large, "a message may have at most 32 MiB"};
  }
  return text.empty() ? Result<void>(Errc::invalid_argument, "the message is empty") : Result<void>();
}

/// Makes a change that has just been written visible. It never returns an error that would make the caller write again.
Result<void> show(Session& session, Depth depth) {
  session.forget_look();
  const auto read = session.refresh(depth);
  session.note_own_write();
  if (!read) {
    return Error{Errc::io, "it was written, but the session cannot be read back: " + read.error().message};
  }
  return {};
}

}  // namespace

opencode::SessionWrites& OpenCodeWriter::writes_of(const SessionPtr& session) {
  if (&session->format() == &opencode_files_format()) {
    return in_files_;
  }
  return in_database_;
}

Result<AppendResult> OpenCodeWriter::add(const SessionPtr& session, const opencode::NewMessage& wanted) {
  RETURN_IF_ERROR(check_message(wanted.text));
  ASSIGN_OR_RETURN(auto made, writes_of(session).add(session->store(), session->place(), wanted));
  RETURN_IF_ERROR(show(*session, Depth::index));
  return made;
}

Result<void> OpenCodeWriter::check_text(const SessionPtr& session, const std::string& at) {
  return writes_of(session).check_add(session->store(), session->place(), {"", at, false, settings().write_live});
}

RoomWanted OpenCodeWriter::room_for(const SessionPtr& session, std::string_view /*verb*/, std::uint64_t bytes) {
  return writes_of(session).room_for(session->store(), session->place(), bytes);
}

Result<void> OpenCodeWriter::check_json(const SessionPtr& /*session*/, std::string_view /*text*/) {
  return refuse_json();
}

Result<AppendResult> OpenCodeWriter::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check(session));
  if (text.is_json) {
    return refuse_json();
  }
  text.text.resize(text.text.size() - (text.text.ends_with('\n') ? 1 : 0));
  return add(session, {std::move(text.text), std::move(text.at), false, settings().write_live});
}

Result<AppendResult> OpenCodeWriter::summarize(const SessionPtr& session, const std::string& text, bool force) {
  RETURN_IF_ERROR(check(session));
  std::string summary = text;
  if (text.empty()) {
    opencode::RunFacts facts;
    RETURN_IF_ERROR(writes_of(session).each_message(
        session->store(), session->place(),
        [&](const std::string& of, std::string_view message) { facts.add(of, message); }));
    summary = facts.text();
  }
  return add(session, {std::move(summary), "", true, force || settings().write_live});
}

Result<std::string> OpenCodeWriter::set_title(const SessionPtr& session, std::string_view title, bool /*force*/,
                                              std::string_view source) {
  RETURN_IF_ERROR(check(session));
  ASSIGN_OR_RETURN(const auto wanted, checked_title(title));
  ASSIGN_OR_RETURN(auto in_force,
                   writes_of(session).set_title(session->store(), session->place(), wanted, source == "auto"));
  RETURN_IF_ERROR(show(*session, Depth::head));
  return in_force;
}

Result<void> OpenCodeWriter::remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_allows_delete());
  RETURN_IF_ERROR(check(session));
  const LogPlace place = session->place();
  Result<void> done;
  for (int tries = 0; tries == 0 || (!done && done.error().code == Errc::stale && tries < kMostTries); ++tries) {
    done = writes_of(session).remove(session->store(), place, Trash::shown_title(*session),
                                     force || settings().write_live);
  }
  catalog().rescan_folder(place.in());
  return done;
}

Result<void> OpenCodeWriter::check_remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(Writer::check_remove(session, force));
  return force || settings().write_live ? Result<void>()
                                        : writes_of(session).check_quiet(session->store(), session->place());
}

}  // namespace arborfs
