#include "core/formats/opal/opal_format.h"

#include "core/formats/opal/opal_reader.h"
#include "core/formats/opal/opal_renderer.h"
#include "core/formats/opal/startup.h"
#include "core/os/environment.h"
#include "core/store/resume.h"

namespace arborfs {
namespace {

constexpr std::string_view kVerbs[] = {"append", "branch", "title", "replace", "fork", "new", "remove"};
constexpr std::string_view kPrograms[] = {"opal_server", "opal"};
constexpr AgentPrograms kAgent{.names = kPrograms,
                               .package = "",
                               .runtime = "beam.smp",
                               .variable = "OPAL_DATA_DIR",
                               .home = "/.opal",
                               .is_server = true};
/// As opal/FORMAT.md A5 says.
constexpr ResumeCommand kResume{.program = "opal", .option = "--session", .variable = "OPAL_DATA_DIR"};
constexpr std::string_view kAppendUsage =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"tool_result\",...}          any message, as JSON\n"
    "The role is system, user, assistant, tool_call or tool_result; other members are content, thinking, tool_calls,\n"
    "call_id, name, is_error and metadata. arborfs sets id and parent_id.\n"
    "Several JSON objects, one per line and in one write, are appended together or not at all.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       fail with ESTALE unless this entry is the leaf\n"
    "  \"force\":true                        write even if an agent may have the session open\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
constexpr OwnUsage kUsages[] = {{"append", kAppendUsage}};

}  // namespace

const Format& opal_format() {
  static const opal::Reader reader;
  static const opal::Renderer renderer;
  static const Format format{.agent = "opal",
                             .name = "opal-jsonl",
                             .reader = &reader,
                             .renderer = &renderer,
                             .verbs = kVerbs,
                             .programs = &kAgent,
                             .startup_json = opal::startup_json,
                             .resume = &kResume,
                             .usages = kUsages,
                             .has_cwd = false};
  return format;
}

const Format& opal_dets_format() {
  static const Format format{.agent = "opal",
                             .name = "opal-dets",
                             .reader = opal_format().reader,
                             .renderer = opal_format().renderer,
                             .resume = &kResume,
                             .has_cwd = false};
  return format;
}

std::string own_opal_dir() {
  const std::string chosen = environment_variable("OPAL_DATA_DIR");
  return chosen.empty() ? environment_variable("HOME") + "/.opal" : chosen;
}

}  // namespace arborfs
