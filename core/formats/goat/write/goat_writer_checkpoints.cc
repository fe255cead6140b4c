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

/// The room for copies of files.
class CopiesWanted {
 public:
  void add(std::uint64_t size) {
    bytes_ += (size / kBlock + 1) * kBlock + kRow;
    ++files_;
  }
  [[nodiscard]] RoomWanted room() const {
    return {bytes_ + RoomWanted::for_new_session(0).bytes, files_ + RoomWanted::for_new_session(0).files};
  }

 private:
  static constexpr std::uint64_t kBlock = 4 << 10;
  static constexpr std::uint64_t kRow = 1 << 10;  // of a manifest
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
};

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

std::vector<RoomAt> GoatWriter::room_for_checkpoint(const SessionPtr& session, const CheckpointWanted& wanted) {
  auto places = open_places(session);
  const auto files = !places                ? Result<std::vector<std::vector<std::string>>>(places.error())
                     : wanted.files.empty() ? files_kept_last(places->session, places->work)
                                            : files_wanted(wanted.files, places->work);
  std::vector<RoomAt> room;
  if (files) {
    CopiesWanted copies;
    for (const auto& parts : *files) {
      const auto folder = places->work.folder_of(parts);
      const auto file = folder ? folder->stat(parts.back()) : Result<FileStat>(folder.error());
      copies.add(file ? file->size : 0);
    }
    room.push_back({std::move(places->session), copies.room()});
  }
  return room;
}

/// The files that are there now are kept in a checkpoint first.
std::vector<RoomAt> GoatWriter::room_for_rewind(const SessionPtr& session, const std::string& checkpoint) {
  auto places = open_places(session);
  const auto found = places ? find_checkpoint(places->session, checkpoint) : Result<goat::Checkpoint>(places.error());
  std::vector<RoomAt> room;
  if (!found) {
    return room;
  }
  CopiesWanted kept;
  CopiesWanted written;
  for (const goat::PlannedFile& file : goat::plan_rewind(places->session, *found, places->work, false)) {
    if (!file.changes()) {
      continue;
    }
    kept.add(file.present ? file.present->size : 0);
    const auto content = goat::open_content(places->session, found->id, file.hash);
    const auto stat = content ? content->stat() : Result<FileStat>(content.error());
    written.add(stat ? stat->size : 0);
  }
  if (auto folder = places->work.folder_of({"."})) {
    room.push_back({*std::move(folder), written.room()});
  }
  room.push_back({std::move(places->session), kept.room()});
  return room;
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
