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

/// The texts of a message, a line feed between two; `content` is the text of its member.
std::string text_in(std::string_view content);

// What becomes of each kind of record (codex/FORMAT.md G). Pure; any thread.

/// What an event is for.
enum class EventUse : std::uint8_t {
  unknown,
  bookkeeping,  // nothing to read, or a repetition of what a call and its output say
  prompt,       // what the user typed; an item says it as a rule (G3)
  answer,       // the same for the assistant
  thought,      // and for its reasoning
  shown,        // says what no item says
  usage,        // F2
  rollback,     // C4
};

struct EventKind {
  EventUse use = EventUse::unknown;
  std::string_view name;  // of one that is shown: the word in its entry's name
};

/// By the `type` of an event's payload; for `item_completed`, by the type of its item.
EventKind event_kind(std::string_view type);
EventKind turn_item_kind(std::string_view type);

/// True for the `type` of a record, other than of items and events, that says nothing to people.
bool is_bookkeeping_record(std::string_view type);
/// True for the `type` of an item of the conversation.
bool is_item_type(std::string_view type);

/// The members of an item by which one without a `type` is known.
struct ItemShape {
  bool has_role = false;
  bool has_content = false;
  bool has_output = false;
  bool has_arguments = false;
  bool has_input = false;
  bool has_summary = false;
};
/// The type that such an item has in other logs; "" if it is of none.
std::string_view item_type_of(const ItemShape& shape);

}  // namespace arborfs::codex
