#include "core/formats/opencode/format.h"

#include <filesystem>
#include <utility>

#include "core/formats/opencode/reader.h"
#include "core/formats/opencode/renderer.h"
#include "core/formats/opencode/store.h"
#include "core/os/environment.h"
#include "core/store/format.h"

namespace arborfs::opencode {
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

/// True for the names of the databases of all release channels.
bool is_database_name(std::string_view name) {
  return name == "opencode.db" || (name.starts_with("opencode-") && name.ends_with(".db"));
}

bool is_regular_now(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

struct Places {
  std::string dir;
  fs::path database;
  fs::path files;
  bool is_database_named = false;  // by the user, so that nothing else is meant
};

Places places_in(const std::string& place, bool is_own) {
  Places places;
  places.dir = resolved_path(place);
  places.database = places.dir;
  places.is_database_named = is_regular_now(places.database);
  if (places.is_database_named) {
    places.dir = places.database.parent_path().string();
  } else {
    places.database = database_in(places.dir, is_own);
  }
  places.files = fs::path(places.dir) / "storage";
  return places;
}

constexpr ToolShape kTools[] = {
    {"bash", ToolShape::Does::runs, "command", "workdir"},
    {"read", ToolShape::Does::reads, "filePath"},
    {.tool = "edit",
     .does = ToolShape::Does::edits,
     .subject = "filePath",
     .before = "oldString",
     .after = "newString",
     .all = "replaceAll"},
    {.tool = "multiedit",
     .does = ToolShape::Does::edits,
     .subject = "filePath",
     .list = "edits",
     .before = "oldString",
     .after = "newString",
     .all = "replaceAll"},
    {"edit", ToolShape::Does::edits, "filePath"},
    {.tool = "write", .does = ToolShape::Does::writes, .subject = "filePath", .after = "content"},
    {"patch", ToolShape::Does::patches, "patchText"},
    {"apply_patch", ToolShape::Does::patches, "patchText"}};
constexpr ResultShape kToldByResults[] = {{.results = "parts",
                                           .id = "callID",
                                           .object = "state.metadata.filediff",
                                           .path = "file",
                                           .before = "before",
                                           .after = "after"},
                                          {.results = "parts",
                                           .id = "callID",
                                           .object = "state.metadata",
                                           .path = "filepath",
                                           .created = "exists",
                                           .created_is = "false"},
                                          {.results = "parts",
                                           .id = "callID",
                                           .object = "state.metadata.files",
                                           .files = ".",
                                           .path = "filePath",
                                           .before = "before",
                                           .after = "after",
                                           .created = "type",
                                           .created_is = "\"add\""}};

struct EraFormat {
  EraFormat(std::string_view name, Era era)
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
               .usages = kUsages,
               .tools = kTools,
               .results = kToldByResults,
               .changes_show_late = era == Era::database} {}
  const Reader reader;
  const Renderer renderer;
  const Format format;
};

std::shared_ptr<arborfs::Store> store_of_database(const Places& places, const fs::path& database, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = places.dir;
  paths.sessions = database.parent_path();
  return std::make_shared<Store>(opencode::format(), paths, make_sqlite_archive(database.string(), disk), disk);
}

/// Without the sessions that are in the `databases`.
std::shared_ptr<arborfs::Store> store_of_files(const Places& places, const std::vector<std::string>& databases,
                                               Disk& disk) {
  StorePaths paths;
  paths.agent_dir = places.dir;
  paths.sessions = places.files / "session";
  std::vector<std::unique_ptr<SessionArchive>> moved_to;
  for (const std::string& path : databases) {
    moved_to.push_back(make_sqlite_archive(path, disk));
  }
  return std::make_shared<Store>(opencode::files_format(), paths,
                                 make_json_archive(places.files.string(), std::move(moved_to)), disk);
}

}  // namespace

const Format& format() {
  static const EraFormat database("opencode-sqlite", Era::database);
  return database.format;
}

const Format& files_format() {
  static const EraFormat files("opencode-json", Era::files);
  return files.format;
}

std::string own_dir() {
  const std::string data = environment_variable("XDG_DATA_HOME");
  return (data.empty() ? environment_variable("HOME") + "/.local/share" : data) + "/opencode";
}

std::shared_ptr<arborfs::Store> make_store(const std::string& place, bool is_own, Disk& disk) {
  const Places places = places_in(place, is_own);
  if (!is_there_now(places.database) && is_there_now(places.files / "session")) {
    return store_of_files(places, {}, disk);
  }
  return store_of_database(places, places.database, disk);
}

std::vector<BesideStore> make_stores_beside(const std::string& place, bool is_own, Disk& disk) {
  std::vector<BesideStore> found;
  const Places places = places_in(place, is_own);
  if (places.is_database_named) {
    return found;
  }
  std::vector<std::string> databases;
  if (is_there_now(places.database)) {
    databases.push_back(places.database.string());
  }
  const auto dir = Dir::open_root(places.dir);
  const auto entries = dir ? dir->list() : Result<std::vector<DirEntry>>(dir.error());
  for (const DirEntry& entry : entries ? *entries : std::vector<DirEntry>()) {
    const fs::path path = fs::path(places.dir) / entry.name;
    if (is_database_name(entry.name) && path != places.database && is_regular_now(path)) {
      found.push_back({path.string(), store_of_database(places, path, disk)});
      databases.push_back(path.string());
    }
  }
  if (is_there_now(places.database) && is_there_now(places.files / "session")) {
    found.push_back({places.files.string(), store_of_files(places, databases, disk)});
  }
  return found;
}

}  // namespace arborfs::opencode
