#include "core/formats/opal/opal_format.h"

#include <cstdlib>

#include "core/formats/opal/opal_reader.h"
#include "core/formats/opal/opal_renderer.h"
#include "core/store/agent_dir.h"
#include "core/store/read_only_store.h"

namespace arborfs {

const Format& opal_format() {
  static const opal::Reader reader;
  static const opal::Renderer renderer;
  static const Format format{"opal", "opal-jsonl", &reader, &renderer, false};
  return format;
}

std::string own_opal_dir() {
  if (const char* chosen = std::getenv("OPAL_DATA_DIR"); chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.opal";
}

std::shared_ptr<SessionStore> make_opal_store(const std::string& data_dir, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = agent_dir_paths(data_dir).agent_dir;
  paths.sessions = paths.agent_dir;
  return std::make_shared<LogFolderStore>(opal_format(), std::move(paths), "sessions", ".jsonl", disk);
}

}  // namespace arborfs
