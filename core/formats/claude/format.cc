#include "core/formats/claude/format.h"

#include "core/os/environment.h"
#include "core/store/format.h"

namespace arborfs::claude {
namespace {

constexpr std::string_view kVerbs[] = {"append", "branch", "title", "remove"};
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

Format make_format(std::span<const std::string_view> verbs) {
  return {.agent = "claude",
          .name = "claude-jsonl",
          .reader = &reader(),
          .renderer = &renderer(),
          .verbs = verbs,
          .why_only_read = kOnlyRead,
          .removes_children = true,
          .programs = &kAgent,
          .resume = &kResume,
          .usages = kUsages,
          .pairing = {.last_calls = true, .results = true},
          .takes_notes = true};
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
