#include "core/formats/claude/format.h"

#include "core/json/utf8.h"
#include "core/os/environment.h"
#include "core/store/format.h"

namespace arborfs::claude {
namespace {

constexpr std::string_view kVerbs[] = {"append", "branch", "title", "archived", "remove"};
constexpr std::string_view kPrograms[] = {"claude"};
constexpr AgentPrograms kAgent{
    .names = kPrograms, .package = "claude-code", .variable = "CLAUDE_CONFIG_DIR", .home = "/.claude"};
/// As claude/FORMAT.md A6 says.
constexpr ResumeCommand kResume{
    .program = "claude", .option = "--resume", .takes_children = false, .variable = "CLAUDE_CONFIG_DIR"};

constexpr std::string_view kAppendUsage =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"user\",\"content\":...}       a message of the user: a text, or blocks (text, image, tool_result)\n"
    "  {\"role\":\"assistant\",...}            one of the assistant: a text, or blocks (text, tool_use); with a model\n"
    "  {\"note\":\"text\"}                     what the model is told before the next prompt\n"
    "Several JSON objects, one per line and in one write, are appended together or not at all.\n"
    "Claude Code answers a message of the user that nothing follows with 'No response requested.' when it resumes the\n"
    "session, before your next prompt; append the answer too, or write a note instead.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       fail with ESTALE unless this entry is the leaf\n"
    "  \"force\":true                        write even if an agent may have the session open\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
constexpr std::string_view kBranchUsage =
    "Write an entry to this file to move the leaf to it: an id, a prefix of it of at least four characters, #42, the\n"
    "name of its file, or root. Claude Code continues there, at once. Its own list of messages to rewind to shows "
    "only\n"
    "the current branch; this file leads back to the others. As JSON: {\"target\":\"a1b2c3d4\",\"force\":true}.\n";
/// As claude/FORMAT.md A6 says.
constexpr std::string_view kOnlyRead =
    "a sub-agent's transcript can be read but not changed: Claude Code resumes only the session that started it";
constexpr OwnUsage kUsages[] = {{"append", kAppendUsage}, {"branch", kBranchUsage}};

constexpr ToolShape kTools[] = {
    {"Bash", ToolShape::Does::runs, "command"},
    {"Read", ToolShape::Does::reads, "file_path"},
    {.tool = "Edit",
     .does = ToolShape::Does::edits,
     .subject = "file_path",
     .before = "old_string",
     .after = "new_string",
     .all = "replace_all",
     .takes_line_feed = true},
    {"Edit", ToolShape::Does::edits, "file_path"},
    {.tool = "MultiEdit",
     .does = ToolShape::Does::edits,
     .subject = "file_path",
     .list = "edits",
     .before = "old_string",
     .after = "new_string",
     .all = "replace_all",
     .takes_line_feed = true},
    {"MultiEdit", ToolShape::Does::edits, "file_path"},
    {"NotebookRead", ToolShape::Does::reads, "notebook_path"},
    {"NotebookEdit", ToolShape::Does::edits, "notebook_path"},
    {.tool = "Write", .does = ToolShape::Does::writes, .subject = "file_path", .after = "content"}};
constexpr ResultShape kToldByResults[] = {
    {.object = "toolUseResult",
     .path = "filePath",
     .before = "originalFile",
     .after = "content",
     .created = "type",
     .created_is = "\"create\"",
     .replaced = "oldString",
     .by = "newString"},
    {.object = "toolUseResult", .path = "filePath", .before = "originalFileContents"},
    {.object = "toolUseResult", .path = "notebook_path", .before = "original_file", .after = "updated_file"}};

Format make_format(std::span<const std::string_view> verbs) {
  return {.agent = "claude",
          .name = "claude-jsonl",
          .reader = &reader(),
          .renderer = &renderer(),
          .verbs = verbs,
          .why_only_read = verbs.empty() ? kOnlyRead : std::string_view(),
          .removes_children = true,
          .programs = &kAgent,
          .resume = &kResume,
          .usages = kUsages,
          .pairing = {.last_calls = true, .results = true},
          .tools = kTools,
          .results = kToldByResults,
          .takes_notes = true};
}

constexpr std::size_t kLongest = 200;  // of a name without a hash

bool is_plain(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9');
}

std::string base36(std::uint32_t number) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36]);
    number /= 36;
  } while (number != 0);
  return digits;
}

/// Calls take(unit) for each UTF-16 unit of text in UTF-8.
template <class Take>
void each_unit(std::string_view text, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
      point = point << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    }
    at += length;
    if (point >= 0x10000) {
      take(static_cast<char32_t>(0xD800 + ((point - 0x10000) >> 10U)));
      point = 0xDC00 + ((point - 0x10000) & 0x3FFU);
    }
    take(point);
  }
}

}  // namespace

const Format& format() {
  static const Format format = make_format(kVerbs);
  return format;
}

const Format& sub_agent_format() {
  static const Format format = make_format({});
  return format;
}

std::string project_folder_of(std::string_view cwd) {
  std::string name;
  std::uint32_t hash = 0;
  each_unit(json::decode_utf8(cwd), [&](char32_t unit) {
    name += is_plain(unit) ? static_cast<char>(unit) : '-';
    hash = hash * 31 + unit;
  });
  if (name.size() <= kLongest) {
    return name;
  }
  const std::uint32_t magnitude = hash > INT32_MAX ? 0 - hash : hash;
  return name.substr(0, kLongest) + "-" + base36(magnitude);
}

std::string own_dir() {
  const std::string chosen = environment_variable("CLAUDE_CONFIG_DIR");
  return chosen.empty() ? environment_variable("HOME") + "/.claude" : chosen;
}

std::optional<std::string> other_dir() {
  const std::string config = environment_variable("XDG_CONFIG_HOME");
  std::string dir = (config.empty() ? environment_variable("HOME") + "/.config" : config) + "/claude";
  const bool is_used = environment_variable("CLAUDE_CONFIG_DIR").empty() && Dir::open_root(dir + "/projects");
  return is_used ? std::optional(std::move(dir)) : std::nullopt;
}

}  // namespace arborfs::claude
