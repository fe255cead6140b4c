#include "core/entry/context_path.h"

#include <algorithm>

#include "core/entry/tree.h"
#include "core/json/document.h"

namespace arborfs {
namespace {

// True if migration set version 3, and so renamed hookMessage. It leaves a version that is not a number unchanged
// (omp/FORMAT.md E8).
bool was_below_3(const Header& header) {
  json::Document document;
  if (!header.migrated || !json::parse(header.json, document)) {
    return false;
  }
  const json::Value* version = json::member(document, "version");
  return version != nullptr && version->IsNumber();
}

// Further session records are values, but omp13 does not make them entries: then a value index has no ordinal.
std::vector<std::pair<Ordinal, EntryId>> ids_by_value(const LogIndex& index, const ContextPath& path) {
  std::vector<Ordinal> wanted;
  for (const ContextPath::Step& step : path.steps) {
    wanted.push_back(step.ordinal);
  }
  std::sort(wanted.begin(), wanted.end());
  std::vector<std::pair<Ordinal, EntryId>> ids;
  const std::uint64_t last_value = std::uint64_t{index.size()} * 2 + 1;
  for (std::uint64_t value = 1; value <= last_value && ids.size() < wanted.size(); ++value) {
    const Ordinal ordinal = index.entry_at_value(value);
    if (std::binary_search(wanted.begin(), wanted.end(), ordinal) && index.entry(ordinal).type != EntryType::session) {
      ids.emplace_back(static_cast<Ordinal>(value), index.id(ordinal));
    }
  }
  return ids;
}

ContextPath::Step::Speaker speaker_of(const LogIndex& index, Ordinal ordinal, bool version_below_3) {
  using Speaker = ContextPath::Step::Speaker;
  if (index.entry(ordinal).type != EntryType::message) {
    return Speaker::other;
  }
  const std::string_view role = index.name(ordinal);
  const bool is_custom = role == "custom" || (version_below_3 && role == "hookMessage");
  return index.is_assistant(ordinal) ? Speaker::assistant
         : role == "user"            ? Speaker::user
         : role == "toolResult"      ? Speaker::tool_result
         : role == "system"          ? Speaker::system
         : is_custom                 ? Speaker::custom
                                     : Speaker::other;
}

}  // namespace

ContextPath context_path(const LogIndex& index, Ordinal leaf) {
  return context_path(index, path_to(index, leaf));
}

ContextPath context_path(const LogIndex& index, const std::vector<Ordinal>& entries) {
  ContextPath path;
  path.dialect = index.dialect();
  path.version_below_3 = was_below_3(index.header());
  path.header_offset = index.header().offset;
  path.header_length = index.header().length;
  path.steps.reserve(entries.size());
  bool names_entries = false;
  for (const Ordinal ordinal : entries) {
    const Entry& entry = index.entry(ordinal);
    path.steps.push_back({entry, index.length(ordinal), ordinal, speaker_of(index, ordinal, path.version_below_3)});
    names_entries = names_entries || entry.type == EntryType::compaction || entry.type == EntryType::context_edit;
  }
  if (names_entries) {
    path.ids.reserve(entries.size());
    for (const Ordinal ordinal : entries) {
      path.ids.push_back(index.id(ordinal));
    }
    if (path.version_below_3) {
      path.kept_by_index = ids_by_value(index, path);
    }
  }
  return path;
}

}  // namespace arborfs
