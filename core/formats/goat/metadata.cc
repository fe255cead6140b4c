#include "core/formats/goat/metadata.h"

#include <string>

#include "core/formats/goat/go_json.h"
#include "core/json/document.h"

namespace arborfs::goat {
namespace {

/// The first of two keys that gives a text.
std::string text_of(const json::Value& object, std::string_view key, std::string_view other_key) {
  std::string text = go_string(go_member(object, key));
  return text.empty() ? go_string(go_member(object, other_key)) : text;
}

}  // namespace

Header header_of(std::optional<std::string_view> metadata, std::string_view folder) {
  Header header;
  json::Document object;
  if (!metadata) {
    header.problem = "there is no metadata.json, so goat does not list the session";
    return header;
  }
  if (!json::parse(*metadata, object) || !object.IsObject()) {
    header.problem = "metadata.json is not a JSON object, so goat does not list the session";
    return header;
  }
  header.valid = true;
  header.json = json::stringify(object);
  header.id = folder.empty() ? text_of(object, "id", "session_id") : std::string(folder);
  header.cwd = go_string(go_member(object, "cwd"));
  header.title = go_string(go_member(object, "leaf_title"));
  header.parent_session = go_string(go_member(object, "parent_session_id"));
  header.timestamp = go_string(go_member(object, "created_at"));
  const json::Value* cost = go_member(object, "total_cost_usd");
  if (cost != nullptr && cost->IsNumber() && cost->GetDouble() > 0) {  // 0 until goat knows it
    header.cost = cost->GetDouble();
  }
  return header;
}

}  // namespace arborfs::goat
