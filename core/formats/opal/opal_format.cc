#include "core/formats/opal/opal_format.h"

#include "core/formats/opal/opal_reader.h"
#include "core/formats/opal/opal_renderer.h"
#include "core/os/environment.h"
#include "core/store/read_only_store.h"

namespace arborfs {

const Format& opal_format() {
  static const opal::Reader reader;
  static const opal::Renderer renderer;
  static const Format format{"opal", "opal-jsonl", &reader, &renderer, false};
  return format;
}

std::string own_opal_dir() {
  const std::string chosen = environment_variable("OPAL_DATA_DIR");
  return chosen.empty() ? environment_variable("HOME") + "/.opal" : chosen;
}

std::shared_ptr<SessionStore> make_opal_store(const std::string& data_dir, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(data_dir);
  paths.sessions = paths.agent_dir;
  return std::make_shared<LogFolderStore>(opal_format(), std::move(paths), "sessions", ".jsonl", disk);
}

}  // namespace arborfs
