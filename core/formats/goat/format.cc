#include "core/formats/goat/format.h"

#include "core/entry/turn.h"
#include "core/json/document.h"

namespace arborfs::goat {
namespace {

constexpr std::string_view kVerbs[] = {"append", "title", "fork", "new", "remove", "checkpoint", "rewind"};
constexpr std::string_view kAppendUsage =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"tool\",...}                 any message, as JSON\n"
    "  {\"type\":\"...\",...}                  a record of the transcript, not a message\n"
    "The role is system, user, assistant or tool; other members of a message are content, tool_calls, tool_call_id "
    "and\n"
    "name. arborfs sets uuid and timestamp of a message, and session_id of a record.\n"
    "Several JSON objects of one kind, one per line and in one write, are appended together or not at all.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       of messages: fail with ESTALE unless this one is the last\n"
    "  \"force\":true                        write even if an agent may have the session open\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
constexpr OwnUsage kUsages[] = {{"append", kAppendUsage}};

std::string output_json(const TurnPart& call, std::string_view output) {
  return json::Text::object()
      .add("role", "tool")
      .add("content", output)
      .add("tool_call_id", call.call_id)
      .add("name", call.tool)
      .str();
}

constexpr ToolShape kTools[] = {
    {"Bash", ToolShape::Does::runs, "command"},
    {"Read", ToolShape::Does::reads, "file_path"},
    {.tool = "Edit",
     .does = ToolShape::Does::edits,
     .subject = "file_path",
     .before = "old_string",
     .after = "new_string",
     .all = "replace_all"},
    {"Edit", ToolShape::Does::edits, "file_path"},
    {.tool = "Write", .does = ToolShape::Does::writes, .subject = "file_path", .after = "content"}};

}  // namespace

const Format& format() {
  static const Format format{.agent = "goat",
                             .name = "goat-jsonl",
                             .reader = &reader(),
                             .renderer = &renderer(),
                             .verbs = kVerbs,
                             .usages = kUsages,
                             .tools = kTools,
                             .output_json = output_json};
  return format;
}

}  // namespace arborfs::goat
