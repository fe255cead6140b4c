#include "core/formats/omp/log/dialect.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace arborfs::omp {

namespace {

enum class WrittenBy : std::uint8_t { omp18, omp, pi };

struct Row {
  std::string_view key;
  EntryType type;  // the entry type for which the key is a hint
  WrittenBy writer;
};

constexpr std::array kKeys = {
    Row{"configured", EntryType::thinking_level_change, WrittenBy::omp18},
    Row{"resolvedModelIsFallback", EntryType::model_change, WrittenBy::omp18},
    Row{"tokensAfter", EntryType::compaction, WrittenBy::omp18},
    Row{"method", EntryType::compaction, WrittenBy::omp18},
    Row{"warning", EntryType::compaction, WrittenBy::omp18},
    Row{"providerReplayThroughEntryId", EntryType::compaction, WrittenBy::omp18},
    Row{"compactionThreshold", EntryType::session_init, WrittenBy::omp18},
    Row{"modelRole", EntryType::session_init, WrittenBy::omp18},
    Row{"resolvedModel", EntryType::session_init, WrittenBy::omp18},
    Row{"readOnly", EntryType::session_init, WrittenBy::omp18},
    Row{"retryFallback", EntryType::session_init, WrittenBy::omp18},
    Row{"workPoolYieldItems", EntryType::session_init, WrittenBy::omp18},
    Row{"model", EntryType::model_change, WrittenBy::omp},
    Row{"attribution", EntryType::custom_message, WrittenBy::omp},
    Row{"shortSummary", EntryType::compaction, WrittenBy::omp},
    Row{"preserveData", EntryType::compaction, WrittenBy::omp},
    Row{"modelId", EntryType::model_change, WrittenBy::pi},
    Row{"systemMessage", EntryType::compaction, WrittenBy::pi},
    Row{"usage", EntryType::compaction, WrittenBy::pi},
    Row{"usage", EntryType::branch_summary, WrittenBy::pi},
};
static_assert(kKeys.size() <= 32);

constexpr DialectHints bit_of(std::size_t row) {
  return DialectHints{1} << row;
}

constexpr DialectHints keys_of(EntryType type, WrittenBy writer) {
  DialectHints keys = 0;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    keys |= kKeys[i].type == type && kKeys[i].writer == writer ? bit_of(i) : 0;
  }
  return keys;
}

constexpr std::size_t kLongestToldKey = 28;

// The lengths of the hint keys, one bit each: most other keys are ruled out by their length.
constexpr DialectHints kLengths = [] {
  DialectHints found = 0;
  for (const Row& row : kKeys) {
    found |= bit_of(row.key.size());
  }
  return found;
}();
static_assert(std::all_of(kKeys.begin(), kKeys.end(),
                          [](const Row& row) { return row.key.size() <= kLongestToldKey; }));

/// In the order of Dialect.
constexpr std::array kRules = {
    DialectRules{.agent = "omp", .filters_entries = true},
    DialectRules{.agent = "omp", .filters_entries = true, .lists_old_places = true},
    DialectRules{.agent = "pi", .names_by_entry = true, .tells_left_leaf = true, .parent_is_path = true},
};
static_assert(kRules.size() == static_cast<std::size_t>(Dialect::pi) + 1);

}  // namespace

DialectHints dialect_hint_of(std::string_view key) {
  if (key.size() > kLongestToldKey || (kLengths & bit_of(key.size())) == 0) {
    return 0;
  }
  DialectHints found = 0;
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    found |= kKeys[i].key == key ? bit_of(i) : 0;
  }
  return found;
}

bool has_omp18_key(DialectHints keys, EntryType type) {
  return (keys & keys_of(type, WrittenBy::omp18)) != 0;
}

bool has_omp_key(DialectHints keys, EntryType type) {
  return (keys & keys_of(type, WrittenBy::omp)) != 0;
}

bool has_pi_key(DialectHints keys, EntryType type) {
  return (keys & keys_of(type, WrittenBy::pi)) != 0;
}

bool is_omp_type(EntryType type) {
  switch (type) {
    case EntryType::mode_change:
    case EntryType::ttsr_injection:
    case EntryType::session_init:
    case EntryType::service_tier_change:
    case EntryType::mcp_tool_selection:
      return true;
    default:
      return false;
  }
}

bool is_pi_type(EntryType type) {
  return type == EntryType::session_info || type == EntryType::context_edit || type == EntryType::usage;
}

bool is_omp18_type(EntryType type) {
  return type == EntryType::title_change || type == EntryType::model_usage || type == EntryType::credential_pin ||
         type == EntryType::reset_boundary;
}

const DialectRules& rules_of(Dialect dialect) {
  return kRules.at(static_cast<std::size_t>(dialect));
}

}  // namespace arborfs::omp
