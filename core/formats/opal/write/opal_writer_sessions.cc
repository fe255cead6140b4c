// The Writer's calls that create and remove whole sessions, and clear away the leftovers of killed writers.
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/opal/startup.h"
#include "core/formats/opal/temporary_files.h"
#include "core/formats/opal/write/new_lines.h"
#include "core/formats/opal/write/opal_writer.h"
#include "core/formats/opal/write/tool_calls.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/model/tree.h"
#include "core/writer/command_text.h"
#include "core/writer/commit.h"
#include "core/writer/new_file.h"
#include "core/writer/resolve_target.h"

namespace arborfs {
namespace {

constexpr std::string_view kAgent = "opal";
constexpr const char* kFolder = "sessions";
constexpr mode_t kNewFile = 0666;  // less the umask, as for Opal
constexpr mode_t kNewFolder = 0777;

struct EntryBytes {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// The data that a fork copies, taken from one state of its source.
struct Source {
  std::shared_ptr<const LogSource> log;
  Header header;
  std::vector<EntryBytes> entries;
  std::string leaf;  // JSON text; "" for that of the source
  Ordinal end = kNoEntry;
};

/// A whole log is in the order of its lines, a path starts at the root. Damaged lines are left out: with them Opal
/// would not load the fork.
Result<Source> take_source(const Session& session, const std::string& target) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  if (!index.header().valid) {
    return Error{Errc::read_only, index.header().problem};
  }
  Source source{guard.log(), index.header(), {}, "", kNoEntry};
  std::vector<Ordinal> copied;
  if (target.empty()) {
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      copied.push_back(ordinal);
    }
  } else {
    ASSIGN_OR_RETURN(source.end, find_target(index, target));
    copied = path_to(index, source.end);
    source.leaf = json::stringify_string(index.id(source.end).text);
  }
  for (const Ordinal ordinal : copied) {
    source.entries.push_back({index.entry(ordinal).offset, index.length(ordinal)});
  }
  if (target.empty()) {
    std::sort(source.entries.begin(), source.entries.end(),
              [](const EntryBytes& a, const EntryBytes& b) { return a.offset < b.offset; });
  }
  return source;
}

/// "" keeps the title of the source.
std::string title_of_fork(const std::string& title, const std::optional<std::string>& wanted) {
  constexpr std::string_view kMark = " (fork)";
  if (!wanted) {
    return "";
  }
  if (std::string own = one_line_title(*wanted); !own.empty()) {
    return own;
  }
  return title.empty() || title.ends_with(kMark) ? "" : title + std::string(kMark);
}

/// An object with a string member; no object at all counts as an empty one, as for Opal.
std::string with_text(std::string_view object, std::string_view key, std::string_view text) {
  return skim::set_member(object.starts_with('{') ? std::string(object) : "{}", key, json::stringify_string(text));
}

Result<std::string> metadata_of(const NewSession& wanted) {
  std::string metadata = "{}";
  if (!wanted.model.empty()) {
    ASSIGN_OR_RETURN(const auto model, opal::model_to_start(wanted.model));
    metadata = with_text(metadata, opal::kModelKey, model);
  }
  if (!wanted.provider.empty()) {
    metadata = with_text(metadata, opal::kProviderKey, wanted.provider);
  }
  const std::string title = one_line_title(wanted.title);
  return title.empty() ? metadata : with_text(metadata, "title", title);
}

/// The folder of the sessions; creates it if it is missing. Errors: not_found if there is no data folder.
Result<Dir> sessions_folder(const SessionStore& store, const LogPlace& place) {
  auto folder = store.folder(place);
  if (folder || folder.error().code != Errc::not_found) {
    return folder;
  }
  ASSIGN_OR_RETURN(const auto data, Dir::open_root(store.paths().agent_dir));
  RETURN_IF_ERROR(store.disk().make_folder(data, kFolder, kNewFolder));
  RETURN_IF_ERROR(store.disk().sync_folder(data));
  return store.folder(place);
}

}  // namespace

void OpalWriter::take_back_parts() {
  for (const auto& store : catalog().stores()) {
    if (store->format().agent != kAgent) {
      continue;
    }
    if (const auto folder = store->folder({kFolder, ""})) {
      opal::each_leftover(*folder,
                          [&](const std::string& name) { static_cast<void>(store->disk().remove(*folder, name)); });
    }
  }
}

Result<CreateResult> OpalWriter::add_session(std::uint8_t number, const std::string& id, mode_t permissions,
                                             const std::function<Result<void>(TempFile&)>& fill) {
  const bool is_synced = settings().durability == Durability::synced;
  const SessionStore& store = *catalog().stores().at(number);
  const LogPlace place{kFolder, id + ".jsonl", number};
  ASSIGN_OR_RETURN(const auto folder, sessions_folder(store, place));
  ASSIGN_OR_RETURN(const auto file, TempFile::create(store.disk(), folder, kNewFile & permissions));
  RETURN_IF_ERROR(fill(*file));
  RETURN_IF_ERROR(file->finish(is_synced));
  RETURN_IF_ERROR(file->publish(folder, place.file, Disk::Existing::keep));
  const auto synced = is_synced ? store.disk().sync_folder(folder) : Result<void>();
  auto made = show_made(place);
  return synced ? made : made_but_not_synced(synced.error(), id);
}

Result<CreateResult> OpalWriter::fork(const SessionPtr& session, const std::string& target, bool force,
                                      const std::optional<std::string>& title) {
  RETURN_IF_ERROR(check_writable(session->format()));
  if (title && (!json::is_valid_utf8(*title) || title->size() > kLongestTitle)) {
    return Error{Errc::invalid_argument, "the title is not UTF-8, or longer than 64 KiB"};
  }
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto source, take_source(*session, target));
  RETURN_IF_ERROR(source.end == kNoEntry || force ? Result<void>() : opal::check_answered(*session, source.end));
  ASSIGN_OR_RETURN(auto header, source.log->read(source.header.offset, source.header.length));
  ASSIGN_OR_RETURN(const auto id, opal::new_session_id());
  header = skim::set_member(std::move(header), "session_id", json::stringify_string(id));
  if (!source.leaf.empty()) {
    header = skim::set_member(std::move(header), "current_id", source.leaf);
  }
  if (const std::string own = title_of_fork(source.header.title, title); !own.empty()) {
    const std::string metadata = with_text(skim::member(header, "metadata"), "title", own);
    header = skim::set_member(std::move(header), "metadata", metadata);
  }
  return add_session(session->store_number(), id, permissions_of(*session), [&](TempFile& file) -> Result<void> {
    RETURN_IF_ERROR(file.write(header + "\n"));
    for (const EntryBytes& entry : source.entries) {
      RETURN_IF_ERROR(copy_bytes(*source.log, entry.offset, entry.offset + entry.length,
                                 [&](std::string_view bytes) { return file.write(bytes); }));
      RETURN_IF_ERROR(file.end_line());
    }
    return {};
  });
}

Result<CreateResult> OpalWriter::create(const NewSession& wanted) {
  const auto store = catalog().stores().first_of(kAgent);
  if (!store) {
    return Error{Errc::not_found, "no store of opal is open"};
  }
  if (!wanted.parent_session.empty()) {
    return Error{Errc::invalid_argument, "sessions of Opal do not record which session they continue"};
  }
  ASSIGN_OR_RETURN(const auto metadata, metadata_of(wanted));
  ASSIGN_OR_RETURN(const auto id, opal::new_session_id());
  return add_session(*store, id, kAnyPermissions,
                     [&](TempFile& file) { return file.write(opal::header_line(id, metadata)); });
}

Result<void> OpalWriter::check_remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_allows_delete());
  RETURN_IF_ERROR(check_writable(session->format()));
  return check_quiet(session, force);
}

/// A session with a damaged log can be removed too.
Result<void> OpalWriter::remove(const SessionPtr& session, bool force) {
  session->forget_look();
  RETURN_IF_ERROR(session->refresh(Depth::head));
  RETURN_IF_ERROR(check_remove(session, force));
  const LogPlace place = session->place();
  ASSIGN_OR_RETURN(const auto folder, session->store().folder(place));
  ASSIGN_OR_RETURN(const auto held, opal::hold_log(folder, place.file, session->stat()));
  const SessionStore& store = session->store();
  Transfer transfer(settings().trash, store.disk());
  const auto taken = transfer.take(store, place, Trash::shown_title(*session), belongings_of_opal(store, place));
  if (taken) {
    keep_written(*session, *taken, transfer.trash());
  }
  catalog().rescan_folder(place.in());
  return taken ? Result<void>() : Result<void>(taken.error());
}

Result<File> opal::hold_log(const Dir& folder, const std::string& name, const FileStat& as_read) {
  ASSIGN_OR_RETURN(auto log, File::open_in(folder, name));
  const bool is_held = ::flock(log.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ASSIGN_OR_RETURN(const auto now, folder.stat(name));
  ASSIGN_OR_RETURN(const auto opened, log.stat());
  if (is_held || !(now == as_read) || !opened.same_file(as_read)) {
    return log_changed();
  }
  return log;
}

std::unique_ptr<Belongings> belongings_of_opal(const SessionStore& store, const LogPlace& place) {
  if (!store.may_have_logs(place.folder) || !store.is_log_name(place.file)) {
    return nullptr;
  }
  return std::make_unique<NamedBelongings>(store, place.folder, [place](const Dir& /*folder*/) {
    return std::vector<std::string>{std::string(place.stem()), place.file};
  });
}

}  // namespace arborfs
