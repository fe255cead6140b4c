#include "core/formats/claude/write/claude_writer.h"

#include <vector>

#include "core/base/result_macros.h"
#include "core/formats/claude/project_folder.h"
#include "core/formats/claude/write/adopted_rows.h"
#include "core/formats/claude/write/copied_rows.h"
#include "core/os/temp_file.h"
#include "core/writer/commit.h"
#include "core/writer/new_file.h"

namespace arborfs {

void ClaudeWriter::take_back_parts() {
  for (const auto& store : catalog().stores()) {
    const auto projects = store->format().agent == "claude" ? Dir::open_below_root(store->paths().agent_dir, "projects")
                                                            : Result<Dir>(Errc::not_found, "");
    const auto names = projects ? projects->list() : Result<std::vector<DirEntry>>(projects.error());
    for (const DirEntry& name : names ? *names : std::vector<DirEntry>()) {
      if (const auto folder = projects->open_in(name.name)) {
        remove_leftovers(store->disk(), *folder);
      }
    }
  }
}

Result<AdoptResult> ClaudeWriter::adopt(const Conversation& conversation, const std::string& agent) {
  AdoptResult adopted{{}, conversation.as_text, 0};
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  ASSIGN_OR_RETURN(const auto rows, claude::adopted_rows(conversation, id, adopted.as_text));
  ASSIGN_OR_RETURN(adopted.made, write_transcript(agent, conversation.cwd, id, rows));
  return adopted;
}

Result<AdoptResult> ClaudeWriter::adopt_own(const SessionPtr& session, const ForeignFork& wanted,
                                            const Conversation& conversation) {
  AdoptResult adopted;
  adopted.as_text.calls = conversation.as_text.calls;
  adopted.as_text.results = conversation.as_text.results;
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  ASSIGN_OR_RETURN(const auto spoken, spoken_path(session, wanted.entry, wanted.reach));
  ASSIGN_OR_RETURN(const auto rows, claude::copied_rows(spoken, conversation, id));
  ASSIGN_OR_RETURN(adopted.made, write_transcript(wanted.agent, conversation.cwd, id, rows));
  return adopted;
}

Result<CreateResult> ClaudeWriter::write_transcript(const std::string& agent, const std::string& cwd,
                                                    const std::string& id, const std::string& rows) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  SessionStore& store = *catalog().stores().at(number);
  const LogPlace place{claude::project_folder_of(cwd), id + ".jsonl", number};
  const bool sync = settings().durability == Durability::synced;
  ASSIGN_OR_RETURN(const auto folder,
                   make_folders(store.disk(), store.paths().agent_dir, {"projects", place.folder}, 0700, sync));
  const auto written = write_whole_file(store.disk(), folder, place.file, 0600, rows, Disk::Existing::keep, sync);
  if (!written && !folder.stat(place.file)) {
    return written.error();
  }
  auto made = show_made(place);
  return written ? std::move(made) : Result<CreateResult>(made_but_not_synced(written.error(), id));
}

}  // namespace arborfs
