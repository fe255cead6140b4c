#include "core/formats/omp/context/context_pi.h"

#include <map>
#include <optional>
#include <string>

#include "core/base/result_macros.h"

namespace arborfs::context {

namespace {

bool can_be_edited(const ContextPath::Step& step) {
  using Speaker = ContextPath::Step::Speaker;
  return step.entry.type == EntryType::custom_message || step.speaker == Speaker::user ||
         step.speaker == Speaker::assistant || step.speaker == Speaker::tool_result;
}

/// The target and the edit; nothing for an entry that edits nothing.
std::optional<std::pair<std::string, ContextEdit>> edit_of(const json::Document& entry, const ContextPath::Step& step) {
  const auto target = json::string_member(entry, "targetId");
  const json::Value* replacement = json::member(entry, "replacement");
  if (!target || replacement == nullptr) {
    return std::nullopt;
  }
  const bool replaces = replacement->IsObject() && json::member(*replacement, "content") != nullptr;
  if (!replaces && !replacement->IsNull()) {
    return std::nullopt;
  }
  return std::pair(std::string(*target), ContextEdit{!replaces, step.entry.offset, step.length});
}

}  // namespace

Result<void> read_edits(const ContextPath& path, const Ranges& ranges, const Source& source, ContextEdits& edits) {
  std::map<std::string, ContextEdit> by_target;
  for (const auto& [begin, end] : ranges) {
    for (std::size_t i = begin; i < end; ++i) {
      const ContextPath::Step& step = path.steps[i];
      if (step.entry.type != EntryType::context_edit) {
        continue;
      }
      json::Document entry;
      RETURN_IF_ERROR(load_entry(source, step.entry.offset, step.length, entry));
      if (auto edit = edit_of(entry, step)) {
        by_target.insert_or_assign(std::move(edit->first), edit->second);
      }
    }
  }
  for (std::size_t i = 0; !by_target.empty() && i < path.steps.size(); ++i) {
    const EntryId& id = path.ids[i];
    const auto found = id.kind == EntryId::Kind::string ? by_target.find(id.text) : by_target.end();
    if (found != by_target.end() && can_be_edited(path.steps[i])) {
      edits.emplace(i, found->second);
    }
  }
  return {};
}

Result<void> replace_content(json::Value& owner, std::string_view role, const ContextEdit& edit, const Source& source,
                             json::Document& document) {
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, edit.offset, edit.length, entry));
  const json::Value* replacement = json::member(entry, "replacement");
  const json::Value* content = replacement == nullptr ? nullptr : json::member(*replacement, "content");
  if (content == nullptr) {
    return log_changed_meanwhile();
  }
  json::Value copied = json::copy(*content, document);
  const bool takes_blocks = role == "assistant" || role == "toolResult";
  if (takes_blocks && content->IsString()) {
    json::Value block(rapidjson::kObjectType);
    json::set(block, "type", json::make_string("text", document), document);
    json::set(block, "text", std::move(copied), document);
    copied = json::Value(rapidjson::kArrayType);
    copied.PushBack(std::move(block), document.GetAllocator());
  }
  json::set(owner, "content", std::move(copied), document);
  return {};
}

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
