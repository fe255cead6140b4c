// One message as OpenCode sends it to the model: without the parts that are not sent, and with the texts that replace
// others (opencode/FORMAT.md E3, E4). Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace arborfs::opencode {

/// The message in the shape of an entry; "" if nothing of it is sent. `entry` is valid JSON. Parts from the one with
/// the id `end_part` on are left out; "" for none.
std::string sent_message(std::string_view entry, std::string_view end_part);

/// True for an answer that failed before it had any content.
bool is_failed_answer(std::string_view entry);

}  // namespace arborfs::opencode
