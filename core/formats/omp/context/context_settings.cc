#include "core/formats/omp/context/context_settings.h"

#include <algorithm>
#include <array>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"

namespace arborfs::context {

namespace {

constexpr std::array<std::string_view, 3> kFamilies = {"openai", "anthropic", "google"};

bool is_tier(std::string_view text) {
  constexpr std::array<std::string_view, 5> kTiers = {"auto", "default", "flex", "scale", "priority"};
  return std::find(kTiers.begin(), kTiers.end(), text) != kTiers.end();
}

// The key of a value in `known_`: the same for two values if === holds for them. Not for objects and arrays.
std::string identity(const json::Value& value) {
  return (value.IsNumber() ? 'n' : value.IsNull() ? 'z' : 'v') + json::stringify(value);
}

}  // namespace

void ModelTable::set(std::string_view role, std::string json) {
  const auto [row, is_new] = row_of_.try_emplace(std::string(role), rows_.size());
  if (is_new) {
    rows_.emplace_back(role, std::move(json));
  } else {
    rows_[row->second].second = std::move(json);
  }
}

std::string ModelTable::json() const {
  std::vector<std::size_t> order(rows_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const auto rank = [this](std::size_t row) {
    const auto number = json::array_index(rows_[row].first);
    return number ? std::uint64_t{*number} : UINT64_MAX;
  };
  std::stable_sort(order.begin(), order.end(), [&rank](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  std::string out = "{";
  for (const std::size_t row : order) {
    out += out.size() > 1 ? "," : "";
    json::stringify_string(rows_[row].first, out);
    out += ':' + rows_[row].second;
  }
  return out + "}";
}

void RuleSet::add_all(const json::Value* iterable) {
  const auto add = [this](const std::string& key, const std::string& json) {
    if (key.empty() || known_.insert(key).second) {
      items_ += (items_.empty() ? "" : ",") + json;
    }
  };
  if (iterable == nullptr) {
    return;
  }
  if (iterable->IsArray()) {
    for (const json::Value& item : iterable->GetArray()) {
      const bool is_object = item.IsObject() || item.IsArray();
      add(is_object ? std::string() : identity(item), json::stringify(item));
    }
  } else if (iterable->IsString()) {
    for_each_character(json::as_string(*iterable), [&add](std::string_view character) {
      std::string json;
      json::stringify_string(character, json);
      add('v' + json, json);
    });
  }
}

std::optional<std::string> tier_by_family(const json::Value* value) {
  std::string out = "{";
  const auto add = [&out](std::string_view family, std::string_view tier) {
    add_member_json(out, family, '"' + std::string(tier) + '"');
  };
  if (value != nullptr && value->IsObject()) {
    for (const std::string_view family : kFamilies) {
      if (const auto tier = json::string_member(*value, family); tier && is_tier(*tier)) {
        add(family, *tier);
      }
    }
  } else if (json::is_string(value, "priority")) {
    std::for_each(kFamilies.begin(), kFamilies.end(), [&add](std::string_view family) { add(family, "priority"); });
  } else if (json::is_string(value, "openai-only")) {
    add("openai", "priority");
  } else if (json::is_string(value, "claude-only")) {
    add("anthropic", "priority");
  } else if (value != nullptr && value->IsString() && is_tier(json::as_string(*value))) {
    add("openai", json::as_string(*value));
  }
  return out.size() > 1 ? std::optional(out + "}") : std::nullopt;
}

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
