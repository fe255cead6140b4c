// The settings in effect at the end of a path: the part of a context after its messages (omp/FORMAT.md C9 to C13).
// Internal to this folder.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/formats/omp/context/context_source.h"

namespace arborfs::context {

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

/// Values are JSON text; nullopt stands for `undefined`.
struct Settings {
  std::string thinking_level = "\"off\"";
  std::optional<std::string> configured_thinking_level;
  std::optional<std::string> service_tier;
  ModelTable models;
  RuleSet rules;
  std::optional<std::string> tools;
  std::optional<std::string> mode = "\"none\"";
  std::optional<std::string> mode_data;

  /// `],"thinkingLevel":...}`: the text of the context after its messages.
  [[nodiscard]] std::string json(Dialect dialect) const;
};

/// Errors: io, stale.
Result<Settings> read_settings(const ContextPath& path, const Source& source);

/// A service tier as omp18 reads it (omp/FORMAT.md C12); nullopt if the value means none.
std::optional<std::string> tier_by_family(const json::Value* value);

}  // namespace arborfs::context
