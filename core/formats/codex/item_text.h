// The content of Codex's items and events, for people (codex/FORMAT.md E, G). Pure; any thread.
#pragma once

#include <string_view>

#include "core/json/document.h"
#include "core/model/message.h"

namespace arborfs::codex {

/// The item of a record, or of a line of the first formats that is an item itself; null for other records.
const json::Value* item_of(const json::Value& record);
/// Its type; for an item without one, the type of items of its shape; "" if there is none.
std::string_view type_of_item(const json::Value& item);

/// An item of an unknown type is a value.
Message message_of_item(const json::Value& item);
/// The same for the payload of an event.
Message message_of_event(const json::Value& event);

}  // namespace arborfs::codex
