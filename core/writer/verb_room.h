// The disk space that commands take which create sessions, checkpoints and working files (Verb::room). Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "core/writer/verbs.h"

namespace arborfs {

std::vector<RoomAt> room_of_fork(Writer& writer, const Subject& subject, std::string_view text);
std::vector<RoomAt> room_of_new(Writer& writer, const Subject& subject, std::string_view text);
std::vector<RoomAt> room_of_checkpoint(Writer& writer, const Subject& subject, std::string_view text);
std::vector<RoomAt> room_of_rewind(Writer& writer, const Subject& subject, std::string_view text);

}  // namespace arborfs
