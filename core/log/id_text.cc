#include "core/log/id_text.h"

#include "core/json/document.h"

namespace arborfs {

std::string id_json(const EntryId& id) {
  switch (id.kind) {
    case EntryId::Kind::missing:
      return "null";
    case EntryId::Kind::string:
      return json::stringify_string(id.text);
    case EntryId::Kind::other:
      break;
  }
  return id.text;
}

}  // namespace arborfs
