#include "core/formats/omp/context/context_plan.h"

#include <algorithm>
#include <cmath>

#include "core/base/result_macros.h"
#include "core/formats/omp/context/context_compaction.h"
#include "core/formats/omp/context/context_notes.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"

namespace arborfs::context {

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
Result<bool> is_version_1(const ContextPath& path, const Source& source) {
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

Result<bool> is_request(const ContextPath::Step& step, const Source& source) {
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
Result<std::optional<std::size_t>> last_request(const ContextPath& path, const Source& source, std::size_t end) {
  for (std::size_t i = end; i-- > 0 && path.steps[i].entry.type != EntryType::reset_boundary;) {
    ASSIGN_OR_RETURN(const auto found, is_request(path.steps[i], source));
    if (found) {
      return std::optional(i);
    }
  }
  return std::optional<std::size_t>();
}

// The user's request that a rollover would otherwise hide.
Result<std::optional<std::size_t>> hidden_request(const ContextPath& path, const Source& source, std::size_t end,
                                                  const Compaction& compaction) {
  const auto kept = first_with(path.ids, path.ids.size(), compaction.first_kept);
  if (!compaction.is_rollover || !kept) {
    return std::optional<std::size_t>();
  }
  auto request = last_request(path, source, end);
  return !request || (*request && **request < *kept) ? request : std::optional<std::size_t>();
}

// Plans a path with a compaction in effect.
Result<void> plan_compacted(const ContextPath& path, const Source& source, std::size_t last, Plan& plan) {
  json::Document entry;
  RETURN_IF_ERROR(load_entry(source, path.steps[last].entry.offset, path.steps[last].length, entry));
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
Result<Plan> plan_steps(const ContextPath& path, const Source& source) {
  const Steps& steps = path.steps;
  Plan plan;
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

Result<Plan> with_edits(Plan plan, const ContextPath& path, const Source& source) {
  if (dialect_of(path) == Dialect::pi) {
    RETURN_IF_ERROR(read_edits(path, plan.ranges, source, plan.edits));
  }
  return plan;
}

}  // namespace

Result<Plan> plan_of(const ContextPath& path, const Source& source) {
  ASSIGN_OR_RETURN(auto plan, plan_steps(path, source));
  return with_edits(std::move(plan), path, source);
}

Result<Plan> whole_plan(const ContextPath& path, const Source& source) {
  Plan plan;
  plan.is_whole = true;
  plan.ranges.emplace_back(0, path.steps.size());
  return with_edits(std::move(plan), path, source);
}

}  // namespace arborfs::context
