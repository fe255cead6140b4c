#include "core/formats/codex/codex_format.h"

#include <utility>

#include "core/formats/codex/codex_reader.h"
#include "core/formats/codex/codex_renderer.h"
#include "core/formats/codex/codex_store.h"
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

namespace {

/// No version of Codex that has `resume` reads the documents of the first one (codex/FORMAT.md A1).
const Format& document_format() {
  static const Format format = [] {
    Format documents = codex_format();
    documents.name = "codex-json";
    documents.resume = nullptr;
    return documents;
  }();
  return format;
}

}  // namespace

std::string own_codex_dir() {
  const std::string chosen = environment_variable("CODEX_HOME");
  return chosen.empty() ? environment_variable("HOME") + "/.codex" : chosen;
}

std::shared_ptr<SessionStore> make_codex_store(const std::string& home, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(home);
  paths.sessions = paths.agent_dir;
  return std::make_shared<codex::CodexStore>(codex_format(), document_format(), std::move(paths), disk);
}

}  // namespace arborfs
