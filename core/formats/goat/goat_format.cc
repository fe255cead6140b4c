#include "core/formats/goat/goat_format.h"

#include <filesystem>
#include <utility>

#include "core/formats/goat/goat_reader.h"
#include "core/formats/goat/goat_renderer.h"
#include "core/formats/goat/goat_store.h"
#include "core/os/environment.h"

namespace arborfs {
namespace {

constexpr std::string_view kVerbs[] = {"append", "title", "fork", "new", "remove", "checkpoint", "rewind"};

/// A folder `sessions` may also be a session with that id.
bool is_base_folder(const std::filesystem::path& path) {
  std::error_code failed;
  return std::filesystem::is_directory(path, failed) && !std::filesystem::exists(path / "metadata.json", failed) &&
         !std::filesystem::exists(path / "messages.jsonl", failed);
}

}  // namespace

const Format& goat_format() {
  static const goat::Reader reader;
  static const goat::Renderer renderer;
  static const Format format{
      .agent = "goat", .name = "goat-jsonl", .reader = &reader, .renderer = &renderer, .verbs = kVerbs};
  return format;
}

std::shared_ptr<SessionStore> make_goat_store(const std::string& dir, Disk& disk) {
  StorePaths paths;
  paths.agent_dir = resolved_path(dir);
  const std::string below = paths.agent_dir + "/sessions";
  paths.sessions = is_base_folder(below) ? below : paths.agent_dir;
  return std::make_shared<goat::Store>(goat_format(), std::move(paths), disk);
}

}  // namespace arborfs
