#include "core/formats/omp/context/context_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <unordered_set>

#include "core/base/error.h"
#include "core/formats/omp/context/context_compaction.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"

namespace arborfs::omp {

namespace {

using Steps = std::vector<ContextPath::Step>;

std::optional<std::size_t> last_of(const Steps& steps, EntryType type) {
  const auto found = std::find_if(steps.rbegin(), steps.rend(),
                                  [type](const ContextPath::Step& step) { return step.entry.type == type; });
  return found == steps.rend() ? std::nullopt : std::optional(static_cast<std::size_t>(steps.rend() - found) - 1);
}

// The first step before `end` with the given id.
std::optional<std::size_t> first_with(const std::vector<EntryId>& ids, std::size_t end,
                                      const std::optional<EntryId>& id) {
  for (std::size_t i = 0; id && i < end; ++i) {
    if (ids[i] == *id) {
      return i;
    }
  }
  return std::nullopt;
}

// `version < 2` as JavaScript compares; a missing version counts as 1 (omp/FORMAT.md E8).
Result<bool> is_version_1(const ContextPath& path, const ContextSource& source) {
  if (!path.version_below_3) {
    return false;
  }
  json::Document header;
  RETURN_IF_ERROR(load_entry(source, path.header_offset, path.header_length, header));
  const json::Value* version = json::member(header, "version");
  if (version == nullptr || !(version->IsNumber() || version->IsString())) {
    return true;
  }
  json::Document number;
  const bool is_number = json::parse(js_text(version), number) && number.IsNumber();
  return is_number && number.GetDouble() < 2;
}

// The first step that is kept besides the summary; nullopt if no step before the compaction is kept.
std::optional<std::size_t> first_retained(const ContextPath& path, std::size_t end, const Compaction& compaction) {
  const auto kept = first_with(path.ids, end, compaction.first_kept);
  const bool names_none = compaction.first_kept == EntryId{EntryId::Kind::string, ""};
  if (kept || !compaction.is_anthropic || !names_none) {
    return kept;
  }
  // A snapshot: keeps the steps after the entry up to which it was taken.
  const auto replayed = first_with(path.ids, end, compaction.replay_through);
  return replayed ? std::optional(*replayed + 1) : std::nullopt;
}

// One millisecond before the first entry that is not part of the summary.
std::optional<double> rewrite_time(const Steps& steps, std::optional<std::size_t> retained, std::size_t compaction) {
  const std::size_t first = retained && *retained < compaction ? *retained : compaction + 1;
  if (first >= steps.size() || steps[first].entry.timestamp_ms == Entry::kNoTime) {
    return std::nullopt;
  }
  return static_cast<double>(steps[first].entry.timestamp_ms) - 1;
}

// Text that a person typed is a custom message if it came through a skill or from a peer.
bool is_typed(std::string_view custom) {
  const std::string_view type = skim::member(custom, "customType");
  return skim::is_string(skim::member(custom, "attribution"), "user") &&
         (skim::is_string(type, "skill-prompt") || skim::is_string(type, "collab-prompt"));
}

Result<bool> is_request(const ContextPath::Step& step, const ContextSource& source) {
  using Speaker = ContextPath::Step::Speaker;
  const bool is_custom = step.entry.type == EntryType::custom_message;
  if (!is_custom && step.speaker != Speaker::custom) {
    return step.speaker == Speaker::user;
  }
  ASSIGN_OR_RETURN(const auto entry, read_entry(source, step));
  if (!is_custom) {
    return is_typed(skim::member(entry, "message"));
  }
  const std::string_view content = skim::member(entry, "content");
  return (content.starts_with('"') || content.starts_with('[')) && is_typed(entry);
}

// The step of the user's last request before the step `end`; does not search before the last reset (omp/FORMAT.md M4,
// M5).
Result<std::optional<std::size_t>> last_request(const ContextPath& path, const ContextSource& source, std::size_t end) {
  for (std::size_t i = end; i-- > 0 && path.steps[i].entry.type != EntryType::reset_boundary;) {
    ASSIGN_OR_RETURN(const auto found, is_request(path.steps[i], source));
    if (found) {
      return std::optional(i);
    }
  }
  return std::optional<std::size_t>();
}

// The user's request that a rollover would otherwise hide.
Result<std::optional<std::size_t>> hidden_request(const ContextPath& path, const ContextSource& source, std::size_t end,
                                                  const Compaction& compaction) {
  const auto kept = first_with(path.ids, path.ids.size(), compaction.first_kept);
  if (!compaction.is_rollover || !kept) {
    return std::optional<std::size_t>();
  }
  auto request = last_request(path, source, end);
  return !request || (*request && **request < *kept) ? request : std::optional<std::size_t>();
}

// Plans a path with a compaction in effect.
Result<void> plan_compacted(const ContextPath& path, const ContextSource& source, std::size_t last, ContextPlan& plan) {
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, path.steps[last], entry));
  ASSIGN_OR_RETURN(const auto names_by_index, is_version_1(path, source));
  const Compaction compaction = read_compaction(entry, path, source, names_by_index);
  ASSIGN_OR_RETURN(plan.request, hidden_request(path, source, last, compaction));
  plan.compaction = last;
  const json::Value* system = json::member(entry, "systemMessage");
  plan.has_system_message = dialect_of(path) == Dialect::pi && system != nullptr && system->IsObject();
  const auto retained = first_retained(path, last, compaction);
  if (compaction.is_anthropic) {
    plan.history_rewrite_at = rewrite_time(path.steps, retained, last);
  }
  if (!compaction.is_remote && retained) {
    plan.ranges.emplace_back(*retained, last);
  } else if (compaction.is_remote) {
    if (const auto replayed = first_with(path.ids, last, compaction.replay_through)) {
      plan.ranges.emplace_back(*replayed + 1, last);
    }
  }
  plan.ranges.emplace_back(last + 1, path.steps.size());
  return {};
}

/// Everything except the edits.
Result<ContextPlan> plan_steps(const ContextPath& path, const ContextSource& source) {
  const Steps& steps = path.steps;
  ContextPlan plan;
  ASSIGN_OR_RETURN(plan.notes, find_notes(path, source));
  const auto last = last_of(steps, EntryType::compaction);
  const auto reset = source.dialect == Dialect::omp18 ? last_of(steps, EntryType::reset_boundary) : std::nullopt;
  if (!last || (reset && *reset > *last)) {
    plan.ranges.emplace_back(reset ? *reset + 1 : 0, steps.size());
    return plan;
  }
  RETURN_IF_ERROR(plan_compacted(path, source, *last, plan));
  return plan;
}

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

/// Fills in pi's edits of the steps.
Result<void> read_edits(const ContextPath& path, const ContextSource& source, ContextPlan& plan) {
  std::map<std::string, ContextEdit> by_target;
  for (const auto& [begin, end] : plan.ranges) {
    for (std::size_t i = begin; i < end; ++i) {
      const ContextPath::Step& step = path.steps[i];
      if (step.entry.type != EntryType::context_edit) {
        continue;
      }
      json::Document entry;
      RETURN_IF_ERROR(load_entry(source, step, entry));
      if (auto edit = edit_of(entry, step)) {
        by_target.insert_or_assign(std::move(edit->first), edit->second);
      }
    }
  }
  for (std::size_t i = 0; !by_target.empty() && i < path.steps.size(); ++i) {
    const EntryId& id = path.ids[i];
    const auto found = id.kind == EntryId::Kind::string ? by_target.find(id.text) : by_target.end();
    if (found != by_target.end() && can_be_edited(path.steps[i])) {
      plan.edits.emplace(i, found->second);
    }
  }
  return {};
}

Result<ContextPlan> with_edits(ContextPlan plan, const ContextPath& path, const ContextSource& source) {
  if (source.dialect == Dialect::pi) {
    RETURN_IF_ERROR(read_edits(path, source, plan));
  }
  return plan;
}

constexpr std::array<std::string_view, 3> kFamilies = {"openai", "anthropic", "google"};

bool is_tier(std::string_view text) {
  constexpr std::array<std::string_view, 5> kTiers = {"auto", "default", "flex", "scale", "priority"};
  return std::find(kTiers.begin(), kTiers.end(), text) != kTiers.end();
}

// The key of a value in `known_`: the same for two values if === holds for them. Not for objects and arrays.
std::string identity(const json::Value& value) {
  return (value.IsNumber() ? 'n' : value.IsNull() ? 'z' : 'v') + json::stringify(value);
}

/// The object `models`, with the key order that JavaScript gives it.
class ModelTable {
 public:
  void set(std::string_view role, std::string json);
  [[nodiscard]] std::string json() const;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
  std::unordered_map<std::string, std::size_t> row_of_;
};

/// A JavaScript Set of JSON values, in order of first insertion.
class RuleSet {
 public:
  /// Adds the results of iterating over the value: the elements of an array or the characters of a string; else
  /// nothing.
  void add_all(const json::Value* iterable);
  [[nodiscard]] std::string json() const { return "[" + items_ + "]"; }

 private:
  std::unordered_set<std::string> known_;
  std::string items_;
};

void ModelTable::set(std::string_view role, std::string json) {
  const auto [row, is_new] = row_of_.try_emplace(std::string(role), rows_.size());
  if (is_new) {
    rows_.emplace_back(role, std::move(json));
  } else {
    rows_[row->second].second = std::move(json);
  }
}

std::string ModelTable::json() const {
  auto rows = rows_;
  const auto rank = [](const auto& row) {
    const auto number = json::array_index(row.first);
    return number ? std::uint64_t{*number} : UINT64_MAX;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::string out = "{";
  for (const auto& [role, json] : rows) {
    out += out.size() > 1 ? "," : "";
    json::stringify_string(role, out);
    out += ':' + json;
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

constexpr std::string_view kDefaultRole = "default";

const json::Value* unless_null(const json::Value* value) {
  return value == nullptr || value->IsNull() ? nullptr : value;
}

std::optional<std::string> json_of(const json::Value* value) {
  return value == nullptr ? std::nullopt : std::optional(json::stringify(*value));
}

/// The settings of omp. Values are JSON text; nullopt stands for `undefined`.
class Settings {
 public:
  explicit Settings(const ContextSource& source) : source_(source) {}
  Result<void> read(const ContextPath& path);
  [[nodiscard]] std::string json() const;

 private:
  using Take = void (Settings::*)(const json::Value& entry);
  static Take take_of(EntryType type);
  void take_model(const json::Value& entry);
  void take_thinking_level(const json::Value& entry);
  void take_tier(const json::Value& entry);
  void take_mode(const json::Value& entry);
  void take_rules(const json::Value& entry) { rules_.add_all(json::member(entry, "injectedRules")); }
  void take_tools(const json::Value& entry);
  Result<void> infer_default_model();

  const ContextSource& source_;
  std::string thinking_level_ = "\"off\"";
  std::optional<std::string> configured_thinking_level_;
  std::optional<std::string> service_tier_;
  ModelTable models_;
  RuleSet rules_;
  std::optional<std::string> tools_;
  std::optional<std::string> mode_ = "\"none\"";
  std::optional<std::string> mode_data_;
  bool has_explicit_default_ = false;
  const ContextPath::Step* inferred_from_ = nullptr;
};

Settings::Take Settings::take_of(EntryType type) {
  switch (type) {
    case EntryType::model_change:
      return &Settings::take_model;
    case EntryType::thinking_level_change:
      return &Settings::take_thinking_level;
    case EntryType::service_tier_change:
      return &Settings::take_tier;
    case EntryType::mode_change:
      return &Settings::take_mode;
    case EntryType::ttsr_injection:
      return &Settings::take_rules;
    case EntryType::mcp_tool_selection:
      return &Settings::take_tools;
    default:
      return nullptr;
  }
}

Result<void> Settings::read(const ContextPath& path) {
  for (const ContextPath::Step& step : path.steps) {
    if (step.is_assistant() && !has_explicit_default_) {
      if (inferred_from_ == nullptr) {
        models_.set(kDefaultRole, "");  // reserves its place
      }
      inferred_from_ = &step;
    } else if (const Take take = take_of(step.entry.type)) {
      json::Document entry;
      RETURN_IF_ERROR(load_entry(source_, step, entry));
      (this->*take)(entry);
    }
  }
  return inferred_from_ == nullptr || has_explicit_default_ ? Result<void>() : infer_default_model();
}

void Settings::take_model(const json::Value& entry) {
  const json::Value* model = json::member(entry, "model");
  if (!json::is_truthy(model)) {
    return;
  }
  const json::Value* role = unless_null(json::member(entry, "role"));
  const std::string name = role == nullptr ? std::string(kDefaultRole) : js_text(role);
  if (name != "__proto__") {
    models_.set(name, json::stringify(*model));
  }
  has_explicit_default_ = has_explicit_default_ || role == nullptr || json::is_string(role, kDefaultRole);
}

void Settings::take_thinking_level(const json::Value& entry) {
  const json::Value* level = unless_null(json::member(entry, "thinkingLevel"));
  thinking_level_ = json_of(level).value_or("\"off\"");
  const json::Value* configured = unless_null(json::member(entry, "configured"));
  configured_thinking_level_ = json_of(configured == nullptr ? level : configured);
}

void Settings::take_tier(const json::Value& entry) {
  const json::Value* tier = json::member(entry, "serviceTier");
  service_tier_ = source_.dialect == Dialect::omp13 ? json_of(unless_null(tier)) : tier_by_family(tier);
}

void Settings::take_mode(const json::Value& entry) {
  mode_ = json_of(json::member(entry, "mode"));
  mode_data_ = json_of(json::member(entry, "data"));
}

void Settings::take_tools(const json::Value& entry) {
  const json::Value* names = json::member(entry, "selectedToolNames");
  if (names != nullptr && (names->IsArray() || names->IsString())) {
    tools_ = names->IsArray() ? json::stringify(*names) : characters_json(json::as_string(*names));
  }
}

// The default model is that of the last assistant before an explicit choice (omp/FORMAT.md C11, CONTRACT.md 6.2).
Result<void> Settings::infer_default_model() {
  ASSIGN_OR_RETURN(const auto bytes, read_entry(source_, *inferred_from_));
  const std::string_view message = skim::member(bytes, "message");
  const std::string provider = js_text_of_json(skim::member(message, "provider"));
  const std::string model = js_text_of_json(skim::member(message, "model"));
  std::string json;
  json::stringify_string(provider + "/" + model, json);
  models_.set(kDefaultRole, std::move(json));
  return {};
}

std::string Settings::json() const {
  std::string out = "{";
  const auto add = [&out](std::string_view key, const std::optional<std::string>& value) {
    if (value) {
      add_member_json(out, key, *value);
    }
  };
  const bool is_18 = source_.dialect == Dialect::omp18;
  add("thinkingLevel", thinking_level_);
  add("configuredThinkingLevel", is_18 ? configured_thinking_level_ : std::nullopt);
  add("serviceTier", service_tier_);
  add("models", models_.json());
  add("injectedTtsrRules", rules_.json());
  if (!is_18) {
    add("selectedMCPToolNames", tools_.value_or("[]"));
    add("hasPersistedMCPToolSelection", tools_ ? "true" : "false");
  }
  add("mode", mode_);
  add("modeData", mode_data_);
  out[0] = ',';
  return "]" + out + "}";
}

/// By the last steps that set the model and the thinking level.
Result<std::string> pi_settings_json(const ContextPath& path, const ContextSource& source) {
  const ContextPath::Step* last_model = nullptr;
  const ContextPath::Step* last_level = nullptr;
  for (const ContextPath::Step& step : path.steps) {
    if (step.is_assistant() || step.entry.type == EntryType::model_change) {
      last_model = &step;
    } else if (step.entry.type == EntryType::thinking_level_change) {
      last_level = &step;
    }
  }
  std::string out = "{";
  json::Document entry;
  if (last_level == nullptr) {
    add_member_json(out, "thinkingLevel", "\"off\"");
  } else {
    RETURN_IF_ERROR(load_entry(source, *last_level, entry));
    add_member(out, "thinkingLevel", json::member(entry, "thinkingLevel"));
  }
  std::string model = last_model == nullptr ? "null" : "{}";
  if (last_model != nullptr) {
    RETURN_IF_ERROR(load_entry(source, *last_model, entry));
    const json::Value* owner = last_model->is_assistant() ? json::member(entry, "message") : &entry;
    if (owner != nullptr) {
      model = "{";
      add_member(model, "provider", json::member(*owner, "provider"));
      add_member(model, "modelId", json::member(*owner, last_model->is_assistant() ? "model" : "modelId"));
      model += "}";
    }
  }
  add_member_json(out, "model", model);
  out[0] = ',';
  return "]" + out + "}";
}

}  // namespace

Result<ContextPlan> plan_of(const ContextPath& path, const ContextSource& source) {
  ASSIGN_OR_RETURN(auto plan, plan_steps(path, source));
  return with_edits(std::move(plan), path, source);
}

Result<ContextPlan> whole_plan(const ContextPath& path, const ContextSource& source) {
  ContextPlan plan;
  plan.is_whole = true;
  plan.ranges.emplace_back(0, path.steps.size());
  return with_edits(std::move(plan), path, source);
}

Result<std::string> settings_json(const ContextPath& path, const ContextSource& source) {
  if (source.dialect == Dialect::pi) {
    return pi_settings_json(path, source);
  }
  Settings settings(source);
  RETURN_IF_ERROR(settings.read(path));
  return settings.json();
}

}  // namespace arborfs::omp
