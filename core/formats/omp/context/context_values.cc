// The parts of Settings: the table of models, the set of rules, service tiers.
#include <algorithm>
#include <array>

#include "core/formats/omp/context/context_settings.h"
#include "core/json/js_text.h"
#include "core/json/key_order.h"

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

}  // namespace arborfs::context
