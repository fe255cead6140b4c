#include "core/formats/omp/write/provider_blocks.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace arborfs {
namespace {

std::string_view text_of(const json::Value& object, std::string_view key) {
  return json::string_member(object, key).value_or(std::string_view());
}

bool is_nonempty_string(const json::Value& object, std::string_view key) {
  const auto text = json::string_member(object, key);
  return text && !text->empty();
}

// A server tool's block that is replayed to its provider byte for byte.
bool is_server_tool_history(const json::Value& object) {
  const json::Value* block = json::member(object, "block");
  if (block == nullptr || !block->IsObject()) {
    return false;
  }
  if (json::is_string(json::member(*block, "type"), "server_tool_use")) {
    const json::Value* name = json::member(*block, "name");
    const bool is_known = json::is_string(name, "web_search") || json::is_string(name, "tool_search_tool_regex") ||
                          json::is_string(name, "tool_search_tool_bm25");
    return is_known && is_nonempty_string(*block, "id");
  }
  const json::Value* type = json::member(*block, "type");
  return (json::is_string(type, "web_search_tool_result") || json::is_string(type, "tool_search_tool_result")) &&
         is_nonempty_string(*block, "tool_use_id") && json::member(*block, "content") != nullptr;
}

// Identifies a reasoning item by its encrypted content, or by its id if there is none.
class ReasoningItems {
 public:
  explicit ReasoningItems(const json::Value& items) {
    for (const json::Value& item : items.GetArray()) {
      if (json::is_string(json::member(item, "type"), "reasoning")) {
        encrypted_.insert(text_of(item, "encrypted_content"));
        ids_.insert(text_of(item, "id"));
      }
    }
  }

  [[nodiscard]] bool has(std::string_view signature) const {
    json::Document item;
    if (!json::parse(signature, item) || !json::is_string(json::member(item, "type"), "reasoning")) {
      return false;
    }
    const std::string_view encrypted = text_of(item, "encrypted_content");
    const std::string_view id = text_of(item, "id");
    return encrypted.empty() ? !id.empty() && ids_.count(id) == 1 : encrypted_.count(encrypted) == 1;
  }

 private:
  std::unordered_set<std::string_view> encrypted_;
  std::unordered_set<std::string_view> ids_;
};

}  // namespace

bool is_bound_to_its_bytes(const json::Value& object) {
  struct Row {
    std::string_view type;
    std::string_view proof;
  };
  static constexpr Row kRows[] = {
      {"thinking", "thinkingSignature"}, {"text", "textSignature"},          {"toolCall", "thoughtSignature"},
      {"redactedThinking", "data"},      {"reasoning", "encrypted_content"},
  };
  const auto type = json::string_member(object, "type");
  if (!type) {
    return false;
  }
  if (*type == "anthropicServerTool") {
    return is_server_tool_history(object);
  }
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.type == *type; });
  return row != std::end(kRows) && is_nonempty_string(object, row->proof);
}

void drop_replayed_signatures(json::Value& entry) {
  json::Value* message = json::member(entry, "message");
  if (message == nullptr || !json::is_string(json::member(entry, "type"), "message") ||
      !json::is_string(json::member(*message, "role"), "assistant")) {
    return;
  }
  json::Value* content = json::member(*message, "content");
  const json::Value* payload = json::member(*message, "providerPayload");
  const json::Value* items = payload == nullptr ? nullptr : json::member(*payload, "items");
  if (content == nullptr || !content->IsArray() || items == nullptr || !items->IsArray() ||
      !json::is_string(json::member(*payload, "type"), "openaiResponsesHistory")) {
    return;
  }
  const ReasoningItems known(*items);
  for (json::Value& block : content->GetArray()) {
    if (json::is_string(json::member(block, "type"), "thinking") && known.has(text_of(block, "thinkingSignature"))) {
      json::erase(block, "thinkingSignature");
    }
  }
}

}  // namespace arborfs
