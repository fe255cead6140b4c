#include "core/formats/omp/store/omp_format.h"

#include "core/formats/omp/context/omp_renderer.h"
#include "core/formats/omp/log/omp_reader.h"
#include "core/formats/omp/store/omp_agent_look.h"
#include "core/store/resume.h"

namespace arborfs {

namespace {

constexpr std::string_view kVerbs[] = {"append", "branch", "label", "fork", "new", "title", "move", "remove"};
/// That of omp (core/writer/verbs.cc), but pi shortens no text.
constexpr std::string_view kAppendUsageOfPi =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"toolResult\",...}           any message, as JSON\n"
    "  {\"type\":\"custom\",...}               any entry of pi, as JSON\n"
    "Several JSON objects, one per line and in one write, are appended together or not at all.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       fail with ESTALE unless this entry is the leaf\n"
    "  \"force\":true                        write even if an agent may have the session open\n"
    "arborfs sets id, parentId and timestamp of an entry; a message keeps its own timestamp.\n"
    "A text of any length, and images, are kept whole in the log, as pi does.\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
constexpr OwnUsage kUsagesOfPi[] = {{"append", kAppendUsageOfPi}};
/// As omp/FORMAT.md G11 says.
constexpr ResumeCommand kResumeOmp{
    .program = "omp", .option = "--resume", .takes_path = true, .variable = "PI_CODING_AGENT_DIR"};
/// As pi/FORMAT.md D4 says.
constexpr ResumeCommand kResumePi{
    .program = "pi", .option = "--session", .takes_path = true, .variable = "PI_CODING_AGENT_DIR"};

}  // namespace

const Format& omp_format() {
  static const Format format{.agent = "omp",
                             .name = "omp-jsonl",
                             .reader = &omp_reader(),
                             .renderer = &omp_renderer(),
                             .verbs = kVerbs,
                             .is_plain = true,
                             .agents = &omp_agents(),
                             .resume = &kResumeOmp};
  return format;
}

const Format& pi_format() {
  static const Format format{.agent = "pi",
                             .name = "pi-jsonl",
                             .reader = &omp_reader(),
                             .renderer = &omp_renderer(),
                             .verbs = kVerbs,
                             .is_plain = true,
                             .agents = &omp_agents(),
                             .resume = &kResumePi,
                             .usages = kUsagesOfPi};
  return format;
}

}  // namespace arborfs
