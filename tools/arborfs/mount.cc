#include "fs/mount.h"

#include "core/entry/text.h"
#include "fs/fuse/mountpoint.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

std::string joined(const std::vector<std::string>& lists) {
  std::string all;
  for (const auto& list : lists) {
    all += (all.empty() || list.empty() ? "" : ",") + list;
  }
  return all;
}

int report(const CommandLine& line, const char* done, Terminal& io) {
  if (line.json) {
    io.out << terminal_safe_json(JsonText::object().add(done, line.mountpoint).str()) << "\n";
  }
  return kDone;
}

}  // namespace

int run_mount(const CommandLine& line, Terminal& io) {
  auto options = parse_mount_options(joined(line.mount_options));
  if (!options) {
    fail(io, options.error());
    return kUsage;
  }
  auto chosen = chosen_stores(line);
  if (!chosen) {
    return fail(io, chosen.error());
  }
  if (!line.agent_dir.empty()) {
    std::erase_if(options->stores, [](const ChosenStore& store) { return store.is_agent_dir; });
  }
  options->stores.insert(options->stores.begin(), chosen->begin(), chosen->end());
  if (!line.durability.empty()) {
    options->writing.durability = line.durability == "none" ? Durability::none : Durability::synced;
  }
  options->mountpoint = line.mountpoint;
  options->foreground = line.foreground;
  const auto mounted = ::arborfs::run_mount(
      *options, [&io](const std::string& said) { io.err << "arborfs: " << visible(said) << std::endl; });
  return mounted ? report(line, "mounted", io) : fail(io, mounted.error());
}

int run_umount(const CommandLine& line, Terminal& io) {
  std::string said;
  const auto unmounted = unmount(line.mountpoint, &said);
  if (!unmounted) {
    return fail(io, unmounted.error());
  }
  if (said.empty()) {
    return report(line, "unmounted", io);
  }
  io.err << "arborfs: " << visible(said) << "\n";
  io.out << (line.json ? "{\"unmounted\":null}\n" : "");
  return kDone;
}

}  // namespace arborfs::cli
