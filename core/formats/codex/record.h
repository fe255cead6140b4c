// Pieces of a record's text, found without parsing it (codex/FORMAT.md B). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace arborfs::codex {

/// No first line of a segment is longer than this; of a longer one nothing is read.
inline constexpr std::uint64_t kLongestHead = 1 << 20;

/// True for the text of one JSON object in UTF-8.
bool is_object(std::string_view text);

/// The value of a number that counts something; nothing for other values.
std::optional<std::uint64_t> count_of(std::string_view literal);

/// What a message's text is about (codex/FORMAT.md E1).
enum class Origin : std::uint8_t {
  typed,         // by the user
  harness,       // put in by Codex: instructions, the environment
  interruption,  // the mark of a turn that was stopped
  shell,         // a command that the user ran, with its output
};

/// Of a content item by its kind, "" if the record names none, and by its text.
Origin origin_of(std::string_view kind, std::string_view text);

/// The member of a message that tells the kinds of its items.
inline constexpr std::string_view kItemKinds = "internal_chat_message_metadata_passthrough";

/// Of a message of role user as a whole: typed if any of its items is. The arguments are the texts of its members
/// `content` and kItemKinds, "" for none.
Origin origin_of_message(std::string_view content, std::string_view metadata);

}  // namespace arborfs::codex
