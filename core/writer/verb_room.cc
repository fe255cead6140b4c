#include "core/writer/verb_room.h"

#include <string>
#include <utility>

#include "core/json/document.h"
#include "core/writer/command_text.h"

namespace arborfs {
namespace {

/// The most by which another agent's record of an entry is longer than the text in it.
constexpr std::uint64_t kRecord = 1 << 10;
constexpr std::uint64_t kNewSession = 4 << 10;

/// "" unless the text is a JSON object with this member.
std::string member_of(std::string_view text, std::string_view key) {
  json::Document command;
  const bool is_object = JsonCommand::is_one(text) && json::parse(text, command) && command.IsObject();
  return is_object ? std::string(json::string_member(command, key).value_or("")) : std::string();
}

}  // namespace

std::vector<RoomAt> room_of_fork(Writer& writer, const Subject& subject, std::string_view text) {
  const Session& session = *subject.session;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  if (const auto guard = subject.session->refresh(Depth::index) ? session.read() : std::nullopt) {
    bytes = guard->stat().size;
    entries = guard->index().size();
  }
  const std::string agent = member_of(text, "agent");
  const bool is_own = agent.empty() || agent == session.agent();
  if (!is_own || !session.format().takes("fork")) {
    return writer.room_for_new(is_own ? std::string(session.agent()) : agent, 2 * bytes + entries * kRecord, entries);
  }
  auto folder = session.store().folder(session.place());
  std::vector<RoomAt> room;
  if (folder) {
    room.push_back({*std::move(folder), RoomWanted::for_new_session(bytes + kNewSession)});
  }
  return room;
}

std::vector<RoomAt> room_of_new(Writer& writer, const Subject& /*subject*/, std::string_view text) {
  return writer.room_for_new(member_of(text, "agent"), kNewSession + text.size(), 0);
}

std::vector<RoomAt> room_of_checkpoint(Writer& writer, const Subject& subject, std::string_view text) {
  const auto wanted = checkpoint_of_text(text);
  return wanted ? writer.room_for_checkpoint(subject.session, *wanted) : std::vector<RoomAt>();
}

std::vector<RoomAt> room_of_rewind(Writer& writer, const Subject& subject, std::string_view text) {
  const auto wanted = rewind_of_text(text);
  return wanted && !wanted->dry_run ? writer.room_for_rewind(subject.session, wanted->checkpoint)
                                    : std::vector<RoomAt>();
}

}  // namespace arborfs
