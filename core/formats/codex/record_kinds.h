// What becomes of each kind of record (codex/FORMAT.md G). Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace arborfs::codex {

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
  bool has_call_id = false;
  bool has_output = false;
  bool has_arguments = false;
  bool has_input = false;
  bool has_summary = false;
};
/// The type that such an item has in other logs; "" if it is of none.
std::string_view item_type_of(const ItemShape& shape);

}  // namespace arborfs::codex
