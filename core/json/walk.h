// Visits a JSON value in document order without recursing.
#pragma once

#include <vector>

#include "core/json/document.h"

namespace arborfs::json {

/// For each value, calls `scalar(value)` on `visitor`, or `begin(value)` and, after its content, `end(value)`. Before
/// each member's value calls `key(name, index)`, before each array element `element(index)`.
template <class Visitor>
void walk(const Value& root, Visitor& visitor) {
  struct Open {
    const Value* container;
    rapidjson::SizeType next;
  };
  std::vector<Open> open;
  const Value* value = &root;
  for (;;) {
    if (value->IsObject() || value->IsArray()) {
      visitor.begin(*value);
      open.push_back({value, 0});
    } else {
      visitor.scalar(*value);
    }
    value = nullptr;
    while (value == nullptr) {
      if (open.empty()) {
        return;
      }
      auto& [container, next] = open.back();
      const bool is_object = container->IsObject();
      if (next == (is_object ? container->MemberCount() : container->Size())) {
        visitor.end(*container);
        open.pop_back();
      } else if (is_object) {
        const auto entry = container->MemberBegin() + static_cast<std::ptrdiff_t>(next);
        visitor.key(entry->name, next++);
        value = &entry->value;
      } else {
        visitor.element(next);
        value = container->Begin() + next++;
      }
    }
  }
}

}  // namespace arborfs::json
