// The messages of a context.json in terms that all agents share, found in its JSON alone, so that tests can compare
// what arborfs translates with what it shows. Only what the tests' sessions have is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/document.h"

namespace arborfs::testing {

struct SentItem {
  enum class Kind : std::uint8_t { text, reasoning, call, result, image };
  Kind kind = Kind::text;
  std::string text;  // of a call its arguments, of an image its base64
  std::string name;  // of a tool; of an image its media type
  std::string id;    // of a call, and of the call that a result answers
  bool failed = false;
};

struct SentMessage {
  enum class Role : std::uint8_t { user, assistant, other };  // other: not part of a conversation
  Role role = Role::user;
  std::vector<SentItem> items;
};

class SentMessages {
 public:
  /// `context` is the text of a context.json.
  SentMessages(std::string_view agent, std::string_view context) : agent_(agent) {
    json::Document document;
    json::parse(context, document);
    const json::Value* messages = json::member(document, "messages");
    for (const json::Value& message : messages->GetArray()) {
      list_.emplace_back();
      read(message);
    }
  }

  [[nodiscard]] const std::vector<SentMessage>& list() const { return list_; }

  /// Each item as one line; the results of a message's calls follow its other items.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const SentMessage& message : list_) {
      for (const bool are_answers : {false, true}) {
        for (const SentItem& item : message.items) {
          const bool is_answer = item.kind == SentItem::Kind::result && message.role == SentMessage::Role::assistant;
          if (message.role != SentMessage::Role::other && is_answer == are_answers) {
            lines.push_back(line_of(item));
          }
        }
      }
    }
    return lines;
  }

  static std::string line_of(const SentItem& item) {
    switch (item.kind) {
      case SentItem::Kind::reasoning:
        return "reasoning " + item.text;
      case SentItem::Kind::call:
        return "call " + item.name + " " + item.text;
      case SentItem::Kind::result:
        return (item.failed ? "failure " : "result ") + item.text;
      case SentItem::Kind::image:
        return "image " + item.name + " " + item.text;
      default:
        return "text " + item.text;
    }
  }

 private:
  using Kind = SentItem::Kind;
  using Role = SentMessage::Role;

  static std::string word(const json::Value& object, std::string_view key) {
    return std::string(json::string_member(object, key).value_or(""));
  }
  static std::string json_in(const json::Value& object, std::string_view key) {
    const json::Value* value = json::member(object, key);
    return value == nullptr ? "{}" : json::stringify(*value);
  }
  void add(SentItem item) {
    if (!item.text.empty() || item.kind == Kind::result || item.kind == Kind::call) {
      list_.back().items.push_back(std::move(item));
    }
  }
  void add_text(std::string text) { add({Kind::text, std::move(text), "", ""}); }
  void add_data_url(const std::string& url) {
    const std::size_t comma = url.find(";base64,");
    add({Kind::image, url.substr(comma + 8), url.substr(5, comma - 5), ""});
  }

  void read(const json::Value& message) {
    if (agent_ == "opencode") {
      return read_parts(message);
    }
    if (agent_ == "codex") {
      return read_item(message);
    }
    const std::string role = word(message, "role");
    list_.back().role = role == "assistant" || role == "tool_call" ? Role::assistant
                        : role == "system"                         ? Role::other
                                                                   : Role::user;
    if (agent_ == "opal") {
      read_opal(message, role);
    } else if (agent_ == "goat") {
      read_goat(message, role);
    } else {
      read_blocks(message, role);
    }
  }

  /// omp, pi and Claude Code.
  void read_blocks(const json::Value& message, const std::string& role) {
    if (json::is_truthy(json::member(message, "excludeFromContext"))) {
      list_.back().role = Role::other;
    }
    if (role == "bashExecution") {
      return add_text("Ran `" + word(message, "command") + "`\n```\n" + word(message, "output") + "\n```");
    }
    if (role == "compactionSummary") {
      return add_text("[compaction]\n" + word(message, "summary"));
    }
    if (role == "toolResult") {
      SentItem result{Kind::result, texts_in(message), "", word(message, "toolCallId"),
                      json::is_truthy(json::member(message, "isError"))};
      add(std::move(result));
      return add_images(message);
    }
    const json::Value* content = json::member(message, "content");
    if (content != nullptr && content->IsString()) {
      add_text(word(message, "content"));
    } else if (content != nullptr && content->IsArray()) {
      for (const json::Value& block : content->GetArray()) {
        read_block(block);
      }
    }
  }

  void read_block(const json::Value& block) {
    const std::string type = word(block, "type");
    if (type == "text") {
      add_text(word(block, "text"));
    } else if (type == "thinking") {
      add({Kind::reasoning, word(block, "thinking"), "", ""});
    } else if (type == "tool_use" || type == "toolCall") {
      add({Kind::call, json_in(block, type == "tool_use" ? "input" : "arguments"), word(block, "name"),
           word(block, "id")});
    } else if (type == "tool_result") {
      add({Kind::result, texts_in(block), "", word(block, "tool_use_id"),
           json::is_truthy(json::member(block, "is_error"))});
      add_images(block);
    } else if (type == "image") {
      add_image(block);
    }
  }
  void add_image(const json::Value& block) {
    const json::Value* source = json::member(block, "source");
    const json::Value& owner = source == nullptr ? block : *source;
    add({Kind::image, word(owner, "data"), word(owner, source == nullptr ? "mimeType" : "media_type"), ""});
  }
  void add_images(const json::Value& owner) {
    const json::Value* content = json::member(owner, "content");
    if (content != nullptr && content->IsArray()) {
      for (const json::Value& block : content->GetArray()) {
        if (word(block, "type") == "image") {
          add_image(block);
        }
      }
    }
  }
  /// The texts of a content, one a line.
  static std::string texts_in(const json::Value& owner) {
    const json::Value* content = json::member(owner, "content");
    if (content == nullptr || !content->IsArray()) {
      return word(owner, "content");
    }
    std::string text;
    for (const json::Value& block : content->GetArray()) {
      const std::string words = word(block, "text");
      text += (text.empty() || words.empty() ? "" : "\n") + words;
    }
    return text;
  }

  void read_opal(const json::Value& message, const std::string& role) {
    if (role == "tool_result") {
      return add({Kind::result, word(message, "content"), "", word(message, "call_id"),
                  json::is_truthy(json::member(message, "is_error"))});
    }
    add({Kind::reasoning, word(message, "thinking"), "", ""});
    add_text(word(message, "content"));
    if (const json::Value* calls = json::member(message, "tool_calls"); calls != nullptr && calls->IsArray()) {
      for (const json::Value& call : calls->GetArray()) {
        add({Kind::call, json_in(call, "arguments"), word(call, "name"), word(call, "call_id")});
      }
    }
  }

  void read_goat(const json::Value& message, const std::string& role) {
    if (role == "tool") {
      add({Kind::result, texts_in(message), "", word(message, "tool_call_id")});
      return add_goat_images(message);
    }
    const json::Value* content = json::member(message, "content");
    if (content != nullptr && content->IsArray()) {
      for (const json::Value& part : content->GetArray()) {
        add_text(word(part, "text"));
        add_goat_image(part);
      }
    } else {
      add_text(word(message, "content"));
    }
    if (const json::Value* calls = json::member(message, "tool_calls"); calls != nullptr && calls->IsArray()) {
      for (const json::Value& call : calls->GetArray()) {
        const json::Value& function = *json::member(call, "function");
        add({Kind::call, word(function, "arguments"), word(function, "name"), word(call, "id")});
      }
    }
  }
  void add_goat_image(const json::Value& part) {
    if (const json::Value* image = json::member(part, "image_url"); image != nullptr) {
      add_data_url(word(*image, "url"));
    }
  }
  void add_goat_images(const json::Value& owner) {
    if (const json::Value* content = json::member(owner, "content"); content != nullptr && content->IsArray()) {
      for (const json::Value& part : content->GetArray()) {
        add_goat_image(part);
      }
    }
  }

  void read_item(const json::Value& item) {
    const std::string type = word(item, "type");
    const std::string role = word(item, "role");
    list_.back().role = role == "user" || type == "function_call_output" ? Role::user
                        : role == "developer"                            ? Role::other
                                                                         : Role::assistant;
    if (type == "function_call") {
      return add({Kind::call, word(item, "arguments"), word(item, "name"), word(item, "call_id")});
    }
    if (type == "function_call_output") {
      return add({Kind::result, word(item, "output"), "", word(item, "call_id")});
    }
    const json::Value* parts = json::member(item, type == "reasoning" ? "summary" : "content");
    if (parts == nullptr || !parts->IsArray()) {
      return;
    }
    for (const json::Value& part : parts->GetArray()) {
      const std::string text = word(part, "text");
      if (const std::string url = word(part, "image_url"); !url.empty()) {
        add_data_url(url);
      } else if (text.starts_with("<environment_context>")) {
        list_.back().role = Role::other;
      } else {
        add({type == "reasoning" ? Kind::reasoning : Kind::text, text, "", ""});
      }
    }
  }

  /// OpenCode.
  void read_parts(const json::Value& message) {
    const json::Value& info = *json::member(message, "info");
    list_.back().role = word(info, "role") == "user" ? Role::user : Role::assistant;
    for (const json::Value& part : json::member(message, "parts")->GetArray()) {
      const std::string type = word(part, "type");
      if (type == "text" || type == "reasoning") {
        add({type == "text" ? Kind::text : Kind::reasoning, word(part, "text"), "", ""});
      } else if (type == "file") {
        add_data_url(word(part, "url"));
      } else if (type == "tool") {
        read_tool(part);
      }
    }
  }
  void read_tool(const json::Value& part) {
    const json::Value& state = *json::member(part, "state");
    const bool failed = word(state, "status") == "error";
    add({Kind::call, json_in(state, "input"), word(part, "tool"), word(part, "callID")});
    add({Kind::result, word(state, failed ? "error" : "output"), "", word(part, "callID"), failed});
    if (const json::Value* files = json::member(state, "attachments"); files != nullptr && files->IsArray()) {
      for (const json::Value& file : files->GetArray()) {
        add_data_url(word(file, "url"));
      }
    }
  }

  const std::string agent_;
  std::vector<SentMessage> list_;
};

}  // namespace arborfs::testing
