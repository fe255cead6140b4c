#include "core/formats/codex/codex_format.h"

#include "core/formats/codex/codex_reader.h"
#include "core/formats/codex/codex_renderer.h"
#include "core/os/environment.h"
#include "core/store/resume.h"

namespace arborfs {
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

const Format& codex_format() {
  static const codex::Reader reader;
  static const codex::Renderer renderer;
  static const Format format{.agent = "codex",
                             .name = "codex-jsonl",
                             .reader = &reader,
                             .renderer = &renderer,
                             .programs = &kAgent,
                             .resume = &kResume};
  return format;
}

const Format& codex_document_format() {
  static const Format format = [] {
    Format documents = codex_format();
    documents.name = "codex-json";
    documents.resume = nullptr;
    return documents;
  }();
  return format;
}

std::string own_codex_dir() {
  const std::string chosen = environment_variable("CODEX_HOME");
  return chosen.empty() ? environment_variable("HOME") + "/.codex" : chosen;
}

}  // namespace arborfs
