// The writer's calls for checkpoints.
#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/goat/checkpoints.h"
#include "core/formats/goat/rewind_plan.h"
#include "core/formats/goat/write/goat_writer.h"
#include "core/formats/goat/write/rewind.h"
#include "core/json/document.h"

namespace arborfs {
namespace {

constexpr std::size_t kShortestPrefix = 4;

/// The files of the last checkpoint that are in the working directory.
Result<std::vector<std::vector<std::string>>> files_kept_last(const Dir& session, const WorkFolder& work) {
  ASSIGN_OR_RETURN(const auto checkpoints, goat::list_checkpoints(session));
  if (checkpoints.empty()) {
    return Error{Errc::invalid_argument, "the session has no checkpoint yet; name the files to keep"};
  }
  std::vector<std::vector<std::string>> files;
  for (const auto& file : checkpoints.back().files) {
    if (auto parts = work.parts_of(file.path)) {
      files.push_back(std::move(*parts));
    }
  }
  return files;
}

Result<std::vector<std::vector<std::string>>> files_wanted(const std::vector<std::string>& paths,
                                                           const WorkFolder& work) {
  std::vector<std::vector<std::string>> files;
  for (const std::string& path : paths) {
    auto parts = work.parts_of(path);
    if (!parts) {
      return Error{Errc::invalid_argument, path + ": " + parts.error().message};
    }
    files.push_back(std::move(*parts));
  }
  return files;
}

/// The checkpoint with this name, or the only one whose name begins with it.
Result<goat::Checkpoint> find_checkpoint(const Dir& session, const std::string& name) {
  auto found = goat::read_checkpoint(session, name);
  if (found || found.error().code == Errc::corrupt || name.size() < kShortestPrefix) {
    return found || found.error().code == Errc::corrupt
               ? std::move(found)
               : Result<goat::Checkpoint>(Errc::not_found, "the session has no checkpoint with that name");
  }
  ASSIGN_OR_RETURN(auto all, goat::list_checkpoints(session));
  std::erase_if(all, [&](const goat::Checkpoint& one) { return !one.id.starts_with(name); });
  if (all.size() != 1) {
    return Error{Errc::not_found, all.empty() ? "the session has no checkpoint with that name"
                                              : "several checkpoints have names with this prefix"};
  }
  return std::move(all.front());
}

}  // namespace

/// The open folders of a session that its checkpoints need.
struct GoatWriter::Places {
  Dir session;
  WorkFolder work;
  std::string cwd;
};

Result<GoatWriter::Places> GoatWriter::open_places(const SessionPtr& session) {
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(session->refresh(Depth::head));
  const Header header = session->head().header;
  if (!header.valid) {
    return Error{Errc::read_only, header.problem};
  }
  ASSIGN_OR_RETURN(auto folder, session->store().folder(session->place()));
  ASSIGN_OR_RETURN(const auto base, Dir::stat_root(session->store().paths().sessions));
  ASSIGN_OR_RETURN(auto work, WorkFolder::open(header.cwd));
  RETURN_IF_ERROR(work.keep_out(base));
  return Places{std::move(folder), std::move(work), header.cwd};
}

Result<std::string> GoatWriter::checkpoint(const SessionPtr& session, const CheckpointWanted& wanted, bool /*force*/) {
  ASSIGN_OR_RETURN(const auto places, open_places(session));
  std::string name = wanted.name;
  if (name.empty()) {
    ASSIGN_OR_RETURN(name, goat::checkpoint_name_now("arborfs"));
  }
  RETURN_IF_ERROR(goat::check_checkpoint_name(name));
  ASSIGN_OR_RETURN(auto files, wanted.files.empty() ? files_kept_last(places.session, places.work)
                                                    : files_wanted(wanted.files, places.work));
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  ASSIGN_OR_RETURN(
      const auto kept,
      goat::take_checkpoint({session->store().disk(), places.session, places.work, places.cwd, syncs()}, name, files));
  const auto absent = std::count_if(kept.begin(), kept.end(), [](const goat::KeptFile& file) { return !file.seen; });
  return "{\"checkpoint\":" + json::stringify_string(name) +
         ",\"files\":" + std::to_string(kept.size() - static_cast<std::size_t>(absent)) +
         ",\"absent\":" + std::to_string(absent) + "}\n";
}

Result<std::string> GoatWriter::rewind(const SessionPtr& session, const std::string& checkpoint, bool dry_run,
                                       bool force) {
  ASSIGN_OR_RETURN(const auto places, open_places(session));
  ASSIGN_OR_RETURN(const auto found, find_checkpoint(places.session, checkpoint));
  goat::Rewound rewound;
  if (dry_run) {
    rewound.files = goat::plan_rewind(places.session, found, places.work, true);
  } else {
    RETURN_IF_ERROR(check_quiet(session, force));
    ASSIGN_OR_RETURN(
        rewound, goat::rewind_to({session->store().disk(), places.session, places.work, places.cwd, syncs()}, found));
  }
  return goat::line_of(found.id, dry_run, rewound);
}

}  // namespace arborfs
