#include "core/formats/omp/context/context_settings.h"

#include "core/base/result_macros.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"

namespace arborfs::context {
namespace {

constexpr std::string_view kDefaultRole = "default";

const json::Value* unless_null(const json::Value* value) {
  return value == nullptr || value->IsNull() ? nullptr : value;
}

std::optional<std::string> json_of(const json::Value* value) {
  return value == nullptr ? std::nullopt : std::optional(json::stringify(*value));
}

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {}
  Result<void> read(const ContextPath& path);
  Settings take() { return std::move(settings_); }

 private:
  Result<void> take_change(const ContextPath::Step& step);
  void take_model(const json::Value& entry);
  void take_thinking_level(const json::Value& entry);
  void take_tier(const json::Value& entry);
  void take_tools(const json::Value& entry);
  Result<void> infer_default_model();

  const Source& source_;
  Settings settings_;
  bool has_explicit_default_ = false;
  const ContextPath::Step* inferred_from_ = nullptr;
};

bool is_setting(EntryType type) {
  switch (type) {
    case EntryType::model_change:
    case EntryType::thinking_level_change:
    case EntryType::service_tier_change:
    case EntryType::mode_change:
    case EntryType::ttsr_injection:
    case EntryType::mcp_tool_selection:
      return true;
    default:
      return false;
  }
}

Result<void> Reader::read(const ContextPath& path) {
  for (const ContextPath::Step& step : path.steps) {
    if (step.is_assistant() && !has_explicit_default_) {
      if (inferred_from_ == nullptr) {
        settings_.models.set(kDefaultRole, "");  // reserves its place
      }
      inferred_from_ = &step;
    } else if (is_setting(step.entry.type)) {
      RETURN_IF_ERROR(take_change(step));
    }
  }
  return inferred_from_ == nullptr || has_explicit_default_ ? Result<void>() : infer_default_model();
}

Result<void> Reader::take_change(const ContextPath::Step& step) {
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source_, step.entry.offset, step.length, entry));
  switch (step.entry.type) {
    case EntryType::model_change:
      take_model(entry);
      break;
    case EntryType::thinking_level_change:
      take_thinking_level(entry);
      break;
    case EntryType::service_tier_change:
      take_tier(entry);
      break;
    case EntryType::ttsr_injection:
      settings_.rules.add_all(json::member(entry, "injectedRules"));
      break;
    case EntryType::mcp_tool_selection:
      take_tools(entry);
      break;
    default:
      settings_.mode = json_of(json::member(entry, "mode"));
      settings_.mode_data = json_of(json::member(entry, "data"));
  }
  return {};
}

void Reader::take_model(const json::Value& entry) {
  const json::Value* model = json::member(entry, "model");
  if (!json::is_truthy(model)) {
    return;
  }
  const json::Value* role = unless_null(json::member(entry, "role"));
  const std::string name = role == nullptr ? std::string(kDefaultRole) : js_text(role);
  if (name != "__proto__") {
    settings_.models.set(name, json::stringify(*model));
  }
  has_explicit_default_ = has_explicit_default_ || role == nullptr || json::is_string(role, kDefaultRole);
}

void Reader::take_thinking_level(const json::Value& entry) {
  const json::Value* level = unless_null(json::member(entry, "thinkingLevel"));
  settings_.thinking_level = json_of(level).value_or("\"off\"");
  const json::Value* configured = unless_null(json::member(entry, "configured"));
  settings_.configured_thinking_level = json_of(configured == nullptr ? level : configured);
}

void Reader::take_tier(const json::Value& entry) {
  const json::Value* tier = json::member(entry, "serviceTier");
  settings_.service_tier = source_.dialect == Dialect::omp13 ? json_of(unless_null(tier)) : tier_by_family(tier);
}

void Reader::take_tools(const json::Value& entry) {
  const json::Value* names = json::member(entry, "selectedToolNames");
  if (names != nullptr && (names->IsArray() || names->IsString())) {
    settings_.tools = names->IsArray() ? json::stringify(*names) : characters_json(json::as_string(*names));
  }
}

// The default model is that of the last assistant before an explicit choice (omp/FORMAT.md C11, CONTRACT.md 6.2).
Result<void> Reader::infer_default_model() {
  ASSIGN_OR_RETURN(const auto bytes, read_entry(source_, *inferred_from_));
  const std::string_view message = skim::member(bytes, "message");
  const std::string provider = js_text_of_json(skim::member(message, "provider"));
  const std::string model = js_text_of_json(skim::member(message, "model"));
  std::string json;
  json::stringify_string(provider + "/" + model, json);
  settings_.models.set(kDefaultRole, std::move(json));
  return {};
}

}  // namespace

Result<Settings> read_settings(const ContextPath& path, const Source& source) {
  Reader reader(source);
  RETURN_IF_ERROR(reader.read(path));
  return reader.take();
}

std::string Settings::json(Dialect dialect) const {
  std::string out = "{";
  const auto add = [&out](std::string_view key, const std::optional<std::string>& value) {
    if (value) {
      add_member_json(out, key, *value);
    }
  };
  const bool is_18 = dialect == Dialect::omp18;
  add("thinkingLevel", thinking_level);
  add("configuredThinkingLevel", is_18 ? configured_thinking_level : std::nullopt);
  add("serviceTier", service_tier);
  add("models", models.json());
  add("injectedTtsrRules", rules.json());
  if (!is_18) {
    add("selectedMCPToolNames", tools.value_or("[]"));
    add("hasPersistedMCPToolSelection", tools ? "true" : "false");
  }
  add("mode", mode);
  add("modeData", mode_data);
  out[0] = ',';
  return "]" + out + "}";
}

}  // namespace arborfs::context
