#include "core/formats/opencode/opencode_format.h"

#include <filesystem>
#include <utility>

#include "core/formats/opencode/json_archive.h"
#include "core/formats/opencode/opencode_reader.h"
#include "core/formats/opencode/opencode_renderer.h"
#include "core/formats/opencode/opencode_store.h"
#include "core/formats/opencode/sqlite_archive.h"
#include "core/os/environment.h"
#include "core/store/resume.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVerbs[] = {"append", "title", "summary", "remove"};
constexpr std::string_view kPrograms[] = {"opencode"};
constexpr AgentPrograms kAgent{.names = kPrograms,
                               .package = "opencode-ai",
                               .variable = "XDG_DATA_HOME",
                               .below = "/opencode",
                               .home = "/.local/share/opencode"};
/// As opencode/FORMAT.md A6 says.
constexpr ResumeCommand kResume{
    .program = "opencode", .option = "--session", .variable = "XDG_DATA_HOME", .below = "/opencode"};
constexpr std::string_view kAppendUsage =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "Messages as JSON are refused. The message goes to the agent and the model of the user's last one.\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}.\n"
    "After a failure, lastError in status.json has the reason.\n";
constexpr OwnUsage kUsages[] = {{"append", kAppendUsage}};

bool is_there_now(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

/// The database that OpenCode opens (opencode/FORMAT.md A2).
fs::path database_in(const fs::path& dir, bool is_own) {
  const std::string chosen = is_own ? environment_variable("OPENCODE_DB") : "";
  return dir / (chosen.empty() || chosen == ":memory:" ? "opencode.db" : chosen);  // an absolute path replaces `dir`
}

struct EraFormat {
  EraFormat(std::string_view name, opencode::Era era)
      : reader(era),
        renderer(era),
        format{.agent = "opencode",
               .name = name,
               .reader = &reader,
               .renderer = &renderer,
               .verbs = kVerbs,
               .removes_children = true,
               .programs = &kAgent,
               .resume = &kResume,
               .usages = kUsages} {}
  const opencode::Reader reader;
  const opencode::Renderer renderer;
  const Format format;
};

}  // namespace

const Format& opencode_format() {
  static const EraFormat database("opencode-sqlite", opencode::Era::database);
  return database.format;
}

const Format& opencode_files_format() {
  static const EraFormat files("opencode-json", opencode::Era::files);
  return files.format;
}

std::string own_opencode_dir() {
  const std::string data = environment_variable("XDG_DATA_HOME");
  return (data.empty() ? environment_variable("HOME") + "/.local/share" : data) + "/opencode";
}

std::shared_ptr<SessionStore> make_opencode_store(const std::string& place, bool is_own, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(place);
  fs::path database = paths.agent_dir;
  if (std::error_code failed; fs::is_regular_file(database, failed)) {
    paths.agent_dir = database.parent_path();
  } else {
    database = database_in(paths.agent_dir, is_own);
  }
  const fs::path files = fs::path(paths.agent_dir) / "storage";
  if (!is_there_now(database) && is_there_now(files / "session")) {
    paths.sessions = files / "session";
    return std::make_shared<opencode::OpenCodeStore>(opencode_files_format(), paths,
                                                     opencode::make_json_archive(files.string()), disk);
  }
  paths.sessions = database.parent_path();
  return std::make_shared<opencode::OpenCodeStore>(opencode_format(), paths,
                                                   opencode::make_sqlite_archive(database.string(), disk), disk);
}

}  // namespace arborfs
