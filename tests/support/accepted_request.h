// What the interfaces of models refuse in the messages of a session (claude/FORMAT.md G3), for tests of new sessions.
#pragma once

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include "tests/support/sent_messages.h"

namespace arborfs::testing {

inline bool is_accepted_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || c == '_' || c == '-';
  });
}

inline bool is_accepted_image(std::string_view type, std::string_view base64) {
  const std::string_view shown = base64.starts_with("iVBOR")   ? "image/png"
                                 : base64.starts_with("/9j/")  ? "image/jpeg"
                                 : base64.starts_with("R0lGO") ? "image/gif"
                                 : base64.starts_with("UklGR") ? "image/webp"
                                                               : type;
  return type == shown && (type == "image/png" || type == "image/jpeg" || type == "image/gif" || type == "image/webp");
}

/// Why the interface of a model refuses the messages; "" if it accepts them.
inline std::string why_refused(const SentMessages& sent) {
  using Kind = SentItem::Kind;
  std::set<std::string> ids;
  std::set<std::string> open;
  bool is_first = true;
  for (const SentMessage& message : sent.list()) {
    const bool is_user = message.role == SentMessage::Role::user;
    if (is_first && !is_user) {
      return "the assistant speaks first";
    }
    is_first = false;
    for (const SentItem& item : message.items) {
      const bool is_blank = item.text.find_first_not_of(" \t\r\n") == std::string::npos;
      if ((item.kind == Kind::text || item.kind == Kind::reasoning) && is_blank) {
        return "a blank text";
      }
      if (item.kind == Kind::image && !is_accepted_image(item.name, item.text)) {
        return "an image of the type " + item.name;
      }
      if (item.kind == Kind::call && !is_accepted_name(item.name)) {
        return "a tool with the name " + item.name;
      }
      if (item.kind == Kind::call && (!ids.insert(item.id).second || !open.insert(item.id).second)) {
        return "two calls with the id " + item.id;
      }
      json::Document input;
      if (item.kind == Kind::call && !(json::parse(item.text, input) && input.IsObject())) {
        return "arguments that are no object";
      }
      if (item.kind == Kind::result && open.erase(item.id) == 0) {
        return "a result without a call: " + item.id;
      }
      if (is_user && item.kind != Kind::result && item.kind != Kind::image && !open.empty()) {
        return "a call without a result: " + *open.begin();
      }
    }
  }
  return open.empty() ? "" : "a call without a result: " + *open.begin();
}

}  // namespace arborfs::testing
