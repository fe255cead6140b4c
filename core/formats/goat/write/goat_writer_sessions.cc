// The writer's calls that create, copy and remove whole sessions.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/metadata.h"
#include "core/formats/goat/write/goat_writer.h"
#include "core/formats/goat/write/metadata_file.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/writer/commit.h"
#include "core/writer/new_file.h"
#include "core/writer/resolve_target.h"

namespace arborfs {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20U;

struct Run {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// The parts of the source that a fork copies.
struct Copied {
  std::shared_ptr<const LogSource> log;
  std::vector<Run> runs;  // of lines of its messages that follow each other, without the last line feed
  Ordinal messages = 0;
  std::string last_id;
  Header header;
};

Result<Copied> copied_from(const Session& session, const std::string& target) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  if (!index.header().valid) {
    return Error{Errc::read_only, index.header().problem};
  }
  Copied copied{guard.log(), {}, index.size(), "", index.header()};
  if (!target.empty()) {
    ASSIGN_OR_RETURN(copied.messages, find_target(index, target));
  }
  for (Ordinal ordinal = 1; ordinal <= copied.messages; ++ordinal) {
    const Run line{index.entry(ordinal).offset, index.length(ordinal)};
    if (!copied.runs.empty() && copied.runs.back().offset + copied.runs.back().length + 1 == line.offset) {
      copied.runs.back().length += 1 + line.length;  // with the line feed between them
    } else {
      copied.runs.push_back(line);
    }
  }
  copied.last_id = copied.messages == 0 ? "" : index.id(copied.messages).text;
  return copied;
}

Result<void> copy_lines(Disk& disk, const Copied& copied, int fd) {
  for (const Run& run : copied.runs) {
    for (std::uint64_t at = 0; at < run.length;) {
      ASSIGN_OR_RETURN(const auto bytes,
                       copied.log->read(run.offset + at, std::min<std::uint64_t>(kPiece, run.length - at)));
      if (bytes.empty()) {
        return session_changed();
      }
      RETURN_IF_ERROR(write_all(disk, fd, bytes));
      at += bytes.size();
    }
    RETURN_IF_ERROR(write_all(disk, fd, "\n"));
  }
  return {};
}

/// Fails if the messages end in tool calls without results, which models refuse (FAILURES.md F27).
Result<void> check_answered(const Session& session, const std::string& target) {
  std::vector<Run> turn;
  std::shared_ptr<const LogSource> log;
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    ASSIGN_OR_RETURN(Ordinal at, find_target(guard.index(), target));
    log = guard.log();
    for (; at != kNoEntry && at > 0; --at) {
      turn.push_back({guard.index().entry(at).offset, guard.index().length(at)});
      if (guard.index().is_assistant(at) || guard.index().name(at) == "user") {
        break;
      }
    }
  }
  std::set<std::string> answered;
  for (const Run& one : turn) {
    ASSIGN_OR_RETURN(const auto line, log->read(one.offset, one.length));
    const std::string_view inner = goat::go_member(line, "message");
    const std::string_view message = inner.starts_with('{') ? inner : std::string_view(line);
    answered.insert(goat::go_string(goat::go_member(message, "tool_call_id")).value_or(""));
    for (skim::Cursor call(goat::go_member(message, "tool_calls")); call.next();) {
      if (!answered.contains(goat::go_string(goat::go_member(call.value(), "id")).value_or(""))) {
        return Error{Errc::invalid_argument,
                     "the fork would end in a tool call without its result, which models reject; choose another "
                     "entry, or force it"};
      }
    }
  }
  return {};
}

/// The metadata of a fork: that of the source, which is the child's parent.
std::string forked_metadata(std::string text, const std::string& id, const Copied& copied, bool is_part,
                            const std::optional<std::string>& title) {
  const auto literal = [](const std::string& value) { return goat::go_literal(value); };
  const std::string now = literal(goat::timestamp_now());
  const bool is_flat = goat::metadata_value(text, "id").empty() && !goat::metadata_value(text, "session_id").empty();
  text = goat::with_metadata(std::move(text), is_flat ? "session_id" : "id", literal(id));
  text = goat::with_metadata(std::move(text), "parent_session_id", literal(copied.header.id));
  text = goat::with_metadata(std::move(text), "created_at", now);
  text = goat::with_metadata(std::move(text), "updated_at", now);
  if (is_part) {
    text = goat::with_metadata(std::move(text), "message_count", std::to_string(copied.messages));
    text = goat::with_metadata(std::move(text), "fork_point_uuid", literal(copied.last_id));
  }
  if (title) {
    text = goat::with_metadata(std::move(text), "leaf_title",
                               literal(title->empty() ? copied.header.title + " (fork)" : *title));
  }
  return text;
}

bool is_below(const std::string& path, const std::string& folder) {
  return !folder.empty() && path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

/// goat compares working directories byte by byte.
Result<std::string> clean_cwd(std::string cwd, const std::string& mountpoint) {
  while (cwd.size() > 1 && cwd.ends_with('/')) {
    cwd.pop_back();
  }
  if (!cwd.starts_with('/') || !json::is_valid_utf8(cwd)) {
    return Error{Errc::invalid_argument, "the working directory must be an absolute path in UTF-8"};
  }
  if (is_below(cwd, mountpoint)) {
    return Error{Errc::invalid_argument, "a mount of arborfs cannot be a working directory"};
  }
  return cwd;
}

}  // namespace

/// The session is shown before a failed sync is reported.
Result<CreateResult> GoatWriter::put_in_place(TempFolder& folder, const std::string& id, std::uint8_t store) {
  RETURN_IF_ERROR(folder.publish(id));
  const auto synced = folder.sync_name();
  auto made = show_made({id, id + ".jsonl", store});
  return synced ? made : made_but_not_synced(synced.error(), id);
}

Result<CreateResult> GoatWriter::create(const NewSession& wanted) {
  if (!wanted.provider.empty()) {
    return Error{Errc::invalid_argument, "sessions of goat store no provider"};
  }
  const auto number = catalog().stores().first_of("goat");
  if (!number) {
    return Error{Errc::not_found, "no store of goat is open"};
  }
  const SessionStore& store = *catalog().stores().at(*number);
  ASSIGN_OR_RETURN(const auto cwd, clean_cwd(wanted.cwd, settings().mountpoint));
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  const std::string now = goat::go_literal(goat::timestamp_now());
  std::vector<goat::Field> fields{
      {"id", goat::go_literal(id)}, {"cwd", goat::go_literal(cwd)}, {"model", goat::go_literal(wanted.model)}};
  if (!wanted.parent_session.empty()) {
    fields.push_back({"parent_session_id", goat::go_literal(wanted.parent_session)});
  }
  for (goat::Field field : {goat::Field{"created_at", now},
                            {"updated_at", now},
                            {"message_count", "0"},
                            {"turn_count", "0"},
                            {"total_cost_usd", "0"}}) {
    fields.push_back(std::move(field));
  }
  if (!wanted.title.empty()) {
    fields.push_back({"leaf_title", goat::go_literal(wanted.title)});
  }
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(store.paths().sessions));
  ASSIGN_OR_RETURN(auto folder, goat::new_folder(store.disk(), base, kAnyPermissions, syncs()));
  RETURN_IF_ERROR(folder->put(goat::kMetadataFile, goat::new_metadata(fields)));
  return put_in_place(*folder, id, *number);
}

Result<CreateResult> GoatWriter::fork(const SessionPtr& session, const std::string& target, bool force,
                                      const std::optional<std::string>& title) {
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(session->refresh(Depth::index));
  const Session::Use use(session);
  ASSIGN_OR_RETURN(const auto copied, copied_from(*session, target));
  if (!target.empty() && !force) {
    RETURN_IF_ERROR(check_answered(*session, target));
  }
  ASSIGN_OR_RETURN(const auto source, session->store().folder(session->place()));
  FileStat stat;
  ASSIGN_OR_RETURN(auto text, goat::read_metadata(source, stat));
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  Disk& disk = session->store().disk();
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(session->store().paths().sessions));
  ASSIGN_OR_RETURN(auto folder, goat::new_folder(disk, base, permissions_of(*session), syncs()));
  RETURN_IF_ERROR(
      folder->put(goat::kMetadataFile, forked_metadata(std::move(text), id, copied, !target.empty(), title)));
  {
    ASSIGN_OR_RETURN(const auto fd, folder->create_file(goat::kMessagesFile));
    RETURN_IF_ERROR(copy_lines(disk, copied, fd.get()));
    RETURN_IF_ERROR(syncs() ? disk.sync(fd.get()) : Result<void>());
  }
  return put_in_place(*folder, id, session->store_number());
}

Result<void> GoatWriter::remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_allows_delete());
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(check_quiet(session, force));
  updates_.settle();
  const LogPlace place = session->place();
  Result<void> done;
  {
    Disk& disk = session->store().disk();
    ASSIGN_OR_RETURN(const auto folder, session->store().folder(place));
    ASSIGN_OR_RETURN(const auto lock, goat::take_lock(disk, folder, goat::kMessagesFile));
    const auto taken =
        Transfer(settings().trash, disk)
            .take(session->store(), place, Trash::shown_title(*session), belongings_of_goat(session->store(), place));
    done = taken ? done : Result<void>(taken.error());
  }
  catalog().rescan_folder(place.in());
  return done;
}

std::unique_ptr<Belongings> belongings_of_goat(const SessionStore& store, const LogPlace& place) {
  if (place.folder.starts_with('.') || place.file != place.folder + ".jsonl") {
    return nullptr;
  }
  return std::make_unique<NamedBelongings>(
      store, std::string(kSessionsItself),
      [place](const Dir& /*folder*/) { return std::vector<std::string>{place.folder}; }, ".lock");
}

}  // namespace arborfs
