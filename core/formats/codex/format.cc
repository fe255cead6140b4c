#include "core/formats/codex/format.h"

#include "core/os/environment.h"
#include "core/store/format.h"

namespace arborfs::codex {
namespace {

constexpr std::string_view kPrograms[] = {"codex"};
constexpr AgentPrograms kAgent{.names = kPrograms,
                               .package = "@openai/codex",
                               .variable = "CODEX_HOME",
                               .home = "/.codex",
                               .service = "app-server"};
/// As codex/FORMAT.md A7 says.
constexpr ResumeCommand kResume{.program = "codex", .option = "resume", .variable = "CODEX_HOME"};

}  // namespace

const Format& format() {
  static const Format format{.agent = "codex",
                             .name = "codex-jsonl",
                             .reader = &reader(),
                             .renderer = &renderer(),
                             .programs = &kAgent,
                             .resume = &kResume};
  return format;
}

const Format& document_format() {
  static const Format format = [] {
    Format documents = codex::format();
    documents.name = "codex-json";
    documents.resume = nullptr;
    return documents;
  }();
  return format;
}

std::string own_dir() {
  const std::string chosen = environment_variable("CODEX_HOME");
  return chosen.empty() ? environment_variable("HOME") + "/.codex" : chosen;
}

}  // namespace arborfs::codex
