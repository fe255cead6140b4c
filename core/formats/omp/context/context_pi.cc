#include "core/formats/omp/context/context_pi.h"

#include <optional>

#include "core/base/result_macros.h"

namespace arborfs::context {
namespace {

std::string role_of(const json::Value& message) {
  return std::string(json::string_member(message, "role").value_or(""));
}

void fill_content(json::Value& message, json::Document& document) {
  const std::string role = role_of(message);
  const json::Value* content = json::member(message, "content");
  const bool takes_blocks = role == "user" || role == "assistant" || role == "toolResult";
  if ((content != nullptr && !content->IsNull()) || !(takes_blocks || role == "system")) {
    return;
  }
  json::set(message, "content", takes_blocks ? json::Value(rapidjson::kArrayType) : json::make_string("", document),
            document);
}

/// The last steps that set the model and the thinking level.
struct SettingSteps {
  const ContextPath::Step* model = nullptr;
  const ContextPath::Step* thinking_level = nullptr;
};

SettingSteps setting_steps(const ContextPath& path) {
  SettingSteps found;
  for (const ContextPath::Step& step : path.steps) {
    if (step.is_assistant() || step.entry.type == EntryType::model_change) {
      found.model = &step;
    } else if (step.entry.type == EntryType::thinking_level_change) {
      found.thinking_level = &step;
    }
  }
  return found;
}

Result<std::string> model_json(const ContextPath::Step& step, const Source& source) {
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, step.entry.offset, step.length, entry));
  const json::Value* owner = step.is_assistant() ? json::member(entry, "message") : &entry;
  std::string out = "{";
  if (owner != nullptr) {
    add_member(out, "provider", json::member(*owner, "provider"));
    add_member(out, "modelId", json::member(*owner, step.is_assistant() ? "model" : "modelId"));
  }
  return out + "}";
}

Result<std::optional<std::string>> thinking_level_json(const ContextPath::Step& step, const Source& source) {
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, step.entry.offset, step.length, entry));
  const json::Value* level = json::member(entry, "thinkingLevel");
  return level == nullptr ? std::nullopt : std::optional(json::stringify(*level));
}

}  // namespace

Result<std::string> pi_settings_json(const ContextPath& path, const Source& source) {
  const SettingSteps settings = setting_steps(path);
  std::optional<std::string> level = "\"off\"";
  if (settings.thinking_level != nullptr) {
    ASSIGN_OR_RETURN(level, thinking_level_json(*settings.thinking_level, source));
  }
  std::string model = "null";
  if (settings.model != nullptr) {
    ASSIGN_OR_RETURN(model, model_json(*settings.model, source));
  }
  std::string out = "{";
  if (level) {
    add_member_json(out, "thinkingLevel", *level);
  }
  add_member_json(out, "model", model);
  out[0] = ',';
  return "]" + out + "}";
}

Result<std::string> pi_message_json(json::Document& entry, const ContextEdit* edit, const Source& source) {
  json::Value* message = json::member(static_cast<json::Value&>(entry), "message");
  if (message == nullptr) {
    return std::string();
  }
  fill_content(*message, entry);
  if (edit != nullptr && message->IsObject()) {
    RETURN_IF_ERROR(replace_content(*message, role_of(*message), *edit, source, entry));
  }
  return json::stringify(*message);
}

std::string pi_system_message_json(json::Document& compaction) {
  json::Value* message = json::member(static_cast<json::Value&>(compaction), "systemMessage");
  if (message == nullptr) {
    return {};
  }
  fill_content(*message, compaction);
  return json::stringify(*message);
}

}  // namespace arborfs::context
