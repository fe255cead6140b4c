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
#include "core/writer/command_text.h"
#include "core/writer/commit.h"
#include "core/writer/resolve_target.h"

namespace arborfs {
namespace {

/// The number of messages that the log has now.
Result<std::string> count_messages(Session& session) {
  RETURN_IF_ERROR(session.refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  return std::to_string(guard.index().size());
}

}  // namespace

GoatWriter::GoatWriter(Catalog& catalog, WriteSettings settings, std::chrono::milliseconds quiet)
    : Writer(catalog, std::move(settings)),
      updates_([this](const SessionPtr& session) { update_metadata(session); }, quiet),
      message_editor_(goat::kMessagesFile, [this](const SessionPtr& session) { updates_.add(session); }),
      transcript_editor_(goat::kTranscriptFile, [](const SessionPtr&) {}),
      messages_(catalog, {syncs(), this->settings().write_live}, message_editor_),
      transcript_(catalog, {syncs(), this->settings().write_live}, transcript_editor_) {}

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

void GoatWriter::take_back_parts() {
  messages_.take_back_parts("goat");
  transcript_.take_back_parts("goat");
}

Result<AppendResult> GoatWriter::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(const auto records, goat::new_records(text, session->stem()));
  AppendResult result;
  Command command;
  command.policy = live_policy(records.force);
  command.bytes = text.text.size();
  command.change = change_of<goat::Plan>([&](goat::Plan& plan) -> Result<void> {
    ASSIGN_OR_RETURN(result, plan.add(records, records.is_transcript ? "" : text.at));
    return {};
  });
  RETURN_IF_ERROR((records.is_transcript ? transcript_ : messages_).make(session, std::move(command)));
  return result;
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
    return read_back(*session, Depth::head);
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
  RETURN_IF_ERROR(read_back(*session, Depth::head));
  return in_force;
}

}  // namespace arborfs
