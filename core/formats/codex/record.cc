#include "core/formats/codex/record.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/base/words.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"

namespace arborfs::codex {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

struct Opening {
  std::string_view text;  // lower case
  Origin origin;
};

constexpr std::array kOpenings = {
    Opening{"<environment_context>", Origin::harness},    Opening{"<user_instructions>", Origin::harness},
    Opening{"# agents.md instructions", Origin::harness}, Opening{"<permissions instructions>", Origin::harness},
    Opening{"<turn_aborted>", Origin::interruption},      Opening{"<user_shell_command>", Origin::shell},
};

Origin by_text(std::string_view text) {
  text = stripped(text);
  for (const Opening& opening : kOpenings) {
    if (starts_with_word(text, opening.text)) {
      return opening.origin;
    }
  }
  return Origin::typed;
}

struct Row {
  std::string_view type;
  EventKind kind;
};

constexpr EventKind kBookkeeping{EventUse::bookkeeping, ""};
constexpr EventKind kError{EventUse::shown, "error"};
constexpr EventKind kWarning{EventUse::shown, "warning"};
constexpr EventKind kReview{EventUse::shown, "review"};
constexpr EventKind kPlan{EventUse::shown, "plan"};
constexpr EventKind kUndo{EventUse::shown, "undo"};

constexpr std::array kEvents = {
    Row{"user_message", {EventUse::prompt, ""}},
    Row{"agent_message", {EventUse::answer, ""}},
    Row{"agent_reasoning", {EventUse::thought, ""}},
    Row{"agent_reasoning_raw_content", {EventUse::thought, ""}},
    Row{"token_count", {EventUse::usage, ""}},
    Row{"thread_rolled_back", {EventUse::rollback, ""}},
    Row{"error", kError},
    Row{"stream_error", kError},
    Row{"warning", kWarning},
    Row{"guardian_warning", kWarning},
    Row{"deprecation_notice", kWarning},
    Row{"background_event", {EventUse::shown, "notice"}},
    Row{"entered_review_mode", kReview},
    Row{"exited_review_mode", kReview},
    Row{"plan_update", kPlan},
    Row{"undo_started", kUndo},
    Row{"undo_completed", kUndo},
    Row{"thread_goal_updated", {EventUse::shown, "goal"}},
    Row{"turn_diff", {EventUse::shown, "diff"}},
    Row{"task_started", kBookkeeping},
    Row{"task_complete", kBookkeeping},
    Row{"turn_started", kBookkeeping},
    Row{"turn_complete", kBookkeeping},
    Row{"turn_aborted", kBookkeeping},
    Row{"context_compacted", kBookkeeping},
    Row{"agent_reasoning_section_break", kBookkeeping},
    Row{"agent_message_delta", kBookkeeping},
    Row{"agent_message_content_delta", kBookkeeping},
    Row{"agent_reasoning_delta", kBookkeeping},
    Row{"agent_reasoning_raw_content_delta", kBookkeeping},
    Row{"reasoning_content_delta", kBookkeeping},
    Row{"reasoning_raw_content_delta", kBookkeeping},
    Row{"plan_delta", kBookkeeping},
    Row{"item_started", kBookkeeping},
    Row{"raw_response_item", kBookkeeping},
    Row{"exec_command_begin", kBookkeeping},
    Row{"exec_command_output_delta", kBookkeeping},
    Row{"exec_command_end", kBookkeeping},
    Row{"terminal_interaction", kBookkeeping},
    Row{"patch_apply_begin", kBookkeeping},
    Row{"patch_apply_updated", kBookkeeping},
    Row{"patch_apply_end", kBookkeeping},
    Row{"mcp_tool_call_begin", kBookkeeping},
    Row{"mcp_tool_call_end", kBookkeeping},
    Row{"dynamic_tool_call_request", kBookkeeping},
    Row{"dynamic_tool_call_response", kBookkeeping},
    Row{"web_search_begin", kBookkeeping},
    Row{"web_search_end", kBookkeeping},
    Row{"image_generation_begin", kBookkeeping},
    Row{"image_generation_end", kBookkeeping},
    Row{"view_image_tool_call", kBookkeeping},
    Row{"sub_agent_activity", kBookkeeping},
    Row{"collab_agent_spawn_begin", kBookkeeping},
    Row{"collab_agent_spawn_end", kBookkeeping},
    Row{"collab_agent_interaction_begin", kBookkeeping},
    Row{"collab_agent_interaction_end", kBookkeeping},
    Row{"collab_waiting_begin", kBookkeeping},
    Row{"collab_waiting_end", kBookkeeping},
    Row{"collab_close_begin", kBookkeeping},
    Row{"collab_close_end", kBookkeeping},
    Row{"collab_resume_begin", kBookkeeping},
    Row{"collab_resume_end", kBookkeeping},
    Row{"session_configured", kBookkeeping},
    Row{"thread_settings_applied", kBookkeeping},
    Row{"thread_name_updated", kBookkeeping},
    Row{"mcp_startup_update", kBookkeeping},
    Row{"mcp_startup_complete", kBookkeeping},
    Row{"mcp_list_tools_response", kBookkeeping},
    Row{"list_custom_prompts_response", kBookkeeping},
    Row{"list_skills_response", kBookkeeping},
    Row{"skills_update_available", kBookkeeping},
    Row{"get_history_entry_response", kBookkeeping},
    Row{"shutdown_complete", kBookkeeping},
};

constexpr std::array kTurnItems = {
    Row{"UserMessage", {EventUse::prompt, ""}},
    Row{"AgentMessage", {EventUse::answer, ""}},
    Row{"Reasoning", {EventUse::thought, ""}},
    Row{"Plan", kPlan},
    Row{"HookPrompt", kBookkeeping},
    Row{"CommandExecution", kBookkeeping},
    Row{"DynamicToolCall", kBookkeeping},
    Row{"CollabAgentToolCall", kBookkeeping},
    Row{"SubAgentActivity", kBookkeeping},
    Row{"WebSearch", kBookkeeping},
    Row{"ImageView", kBookkeeping},
    Row{"Sleep", kBookkeeping},
    Row{"ImageGeneration", kBookkeeping},
    Row{"FileChange", kBookkeeping},
    Row{"McpToolCall", kBookkeeping},
    Row{"ContextCompaction", kBookkeeping},
};

constexpr std::array<std::string_view, 4> kBookkeepingRecords = {"session_meta", "turn_context", "world_state",
                                                                 "inter_agent_communication_metadata"};

constexpr std::array<std::string_view, 11> kItems = {
    "message",           "agent_message",      "reasoning",          "compaction",           "compaction_summary",
    "ghost_snapshot",    "context_compaction", "tool_search_output", "configuration_update", "additional_tools",
    "compaction_trigger"};

EventKind find(std::span<const Row> rows, std::string_view type) {
  const auto row = std::find_if(rows.begin(), rows.end(), [type](const Row& each) { return each.type == type; });
  return row == rows.end() ? EventKind() : row->kind;
}

template <class List>
bool has(const List& list, std::string_view type) {
  return std::find(list.begin(), list.end(), type) != list.end();
}

}  // namespace

bool is_object(std::string_view text) {
  return text.starts_with('{') && json::is_valid_utf8(text) && json::is_one_value(text);
}

std::optional<std::uint64_t> count_of(std::string_view literal) {
  constexpr std::size_t kDigits = 18;
  std::uint64_t value = 0;
  for (const char c : literal) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return literal.empty() || literal.size() > kDigits ? std::nullopt : std::optional(value);
}

std::string sums_text(std::string_view total_token_usage) {
  std::string text;
  for (const std::string_view key : {"input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"}) {
    text.append(skim::member(total_token_usage, key)).append(" ");
  }
  return text;
}

Origin origin_of(std::string_view kind, std::string_view text) {
  if (kind.starts_with("user.")) {
    return Origin::typed;
  }
  if (kind == "generic.turn_aborted") {
    return Origin::interruption;
  }
  if (kind == "shell.user_command") {
    return Origin::shell;
  }
  if (kind == "compaction.summary") {
    return Origin::summary;
  }
  return kind.empty() || kind == "unknown" ? by_text(text) : Origin::harness;
}

Origin origin_of_message(std::string_view content, std::string_view metadata) {
  skim::Cursor kinds(skim::member(metadata, "content_item_kinds"));
  Origin found = Origin::harness;
  bool is_first = true;
  for (skim::Cursor items(content); items.next();) {
    const std::string kind = kinds.next() ? skim::string_value(kinds.value()).value_or("") : "";
    const std::string text = skim::text_member(items.value(), "text");
    const Origin origin = origin_of(kind, text);
    if (origin == Origin::typed) {
      return origin;
    }
    found = is_first ? origin : found;
    is_first = false;
  }
  return is_first ? Origin::typed : found;
}

std::string text_in(std::string_view content) {
  std::string all;
  for (skim::Cursor parts(content); parts.next();) {
    const std::string text = skim::text_member(parts.value(), "text");
    all += (all.empty() || text.empty() ? "" : "\n") + text;
  }
  return all;
}

EventKind event_kind(std::string_view type) {
  return find(kEvents, type);
}

EventKind turn_item_kind(std::string_view type) {
  return find(kTurnItems, type);
}

bool is_bookkeeping_record(std::string_view type) {
  return has(kBookkeepingRecords, type);
}

bool is_item_type(std::string_view type) {
  return has(kItems, type) || type.ends_with("_call") || type.ends_with("_call_output");
}

std::string_view item_type_of(const ItemShape& shape) {
  if (shape.has_role && shape.has_content) {
    return "message";
  }
  if (shape.has_output) {
    return "function_call_output";
  }
  if (shape.has_arguments) {
    return "function_call";
  }
  if (shape.has_input) {
    return "custom_tool_call";
  }
  return shape.has_summary ? "reasoning" : "";
}

}  // namespace arborfs::codex
