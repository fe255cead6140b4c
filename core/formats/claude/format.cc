#include "core/formats/claude/format.h"

#include "core/os/environment.h"
#include "core/store/format.h"

namespace arborfs::claude {
namespace {

constexpr std::string_view kPrograms[] = {"claude"};
constexpr AgentPrograms kAgent{
    .names = kPrograms, .package = "claude-code", .variable = "CLAUDE_CONFIG_DIR", .home = "/.claude"};
/// As claude/FORMAT.md A6 says.
constexpr ResumeCommand kResume{
    .program = "claude", .option = "--resume", .takes_children = false, .variable = "CLAUDE_CONFIG_DIR"};

}  // namespace

const Format& format() {
  static const Format format{.agent = "claude",
                             .name = "claude-jsonl",
                             .reader = &reader(),
                             .renderer = &renderer(),
                             .programs = &kAgent,
                             .resume = &kResume};
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
