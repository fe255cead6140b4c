// Pieces of a record's text, found without parsing it (codex/FORMAT.md B). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace arborfs::codex {

/// The first line of a segment is at most this long; a longer one is not read.
inline constexpr std::uint64_t kLongestHead = 1 << 20;

/// True for the text of one JSON object in UTF-8.
bool is_object(std::string_view text);

/// The value of a number that counts something; nothing for other values.
std::optional<std::uint64_t> count_of(std::string_view literal);

/// Running sums of usage as a text that is the same in all versions: their numbers, in a fixed order.
std::string sums_text(std::string_view total_token_usage);

/// The kind of a message's text (codex/FORMAT.md E1).
enum class Origin : std::uint8_t {
  typed,         // by the user
  harness,       // put in by Codex: instructions, the environment
  interruption,  // the mark of a turn that was stopped
  shell,         // a command that the user ran, with its output
  summary,       // what a compaction left of the conversation
};

/// The kind of a content item, from its recorded kind ("" if the record names none) and its text.
Origin origin_of(std::string_view kind, std::string_view text);

/// The member of a message that names the kinds of its items.
inline constexpr std::string_view kItemKinds = "internal_chat_message_metadata_passthrough";

/// The kind of a whole message of role user: typed if any of its items is. The arguments are the texts of its members
/// `content` and kItemKinds, "" for none.
Origin origin_of_message(std::string_view content, std::string_view metadata);

}  // namespace arborfs::codex
