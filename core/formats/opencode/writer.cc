#include "core/formats/opencode/writer.h"

#include <dirent.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/formats/opencode/adopted_session.h"
#include "core/formats/opencode/belongings.h"
#include "core/formats/opencode/format.h"
#include "core/formats/opencode/storage_folder.h"
#include "core/formats/opencode/store.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/write/command_text.h"

namespace arborfs::opencode {
namespace {

constexpr std::string_view kFirstLine = "--- Fro Bot Run Summary ---";

double number_at(const json::Value& value, std::string_view key) {
  const json::Value* number = json::member(value, key);
  return number != nullptr && number->IsNumber() ? number->GetDouble() : 0;
}

std::string tokens(double input, double output) {
  return json::number_text(input) + " in / " + json::number_text(output) + " out";
}

void add_line(std::string& text, std::string_view name, const std::string& words) {
  if (!words.empty()) {
    text.append("\n").append(name).append(": ").append(words);
  }
}

/// The facts about a run from the messages of its sessions, and its summary (opencode/FORMAT.md G6).
class RunFacts {
 public:
  void add(const std::string& session, std::string_view message) {
    if (std::find(sessions_.begin(), sessions_.end(), session) == sessions_.end()) {
      sessions_.push_back(session);
    }
    json::Document object;
    if (!json::parse(message, object)) {
      return;
    }
    const json::Value* time = json::member(object, "time");
    const double created = time == nullptr ? 0 : number_at(*time, "created");
    const double ended = time == nullptr ? 0 : std::max(created, number_at(*time, "completed"));
    first_ms_ = first_ms_ == 0 ? created : std::min(first_ms_, created == 0 ? first_ms_ : created);
    last_ms_ = std::max(last_ms_, ended);
    if (const json::Value* used = json::member(object, "tokens")) {
      input_ += number_at(*used, "input");
      output_ += number_at(*used, "output");
    }
  }

  /// The text from the known facts: how long the run took, its sessions and its tokens.
  [[nodiscard]] std::string text() const {
    constexpr double kMsPerSecond = 1000;
    std::string text(kFirstLine);
    add_line(text, "Duration", json::number_text(std::round((last_ms_ - first_ms_) / kMsPerSecond)) + "s");
    std::string sessions;
    for (const std::string& session : sessions_) {
      sessions += (sessions.empty() ? "" : ", ") + session;
    }
    add_line(text, "Sessions used", sessions);
    add_line(text, "Tokens", tokens(input_, output_));
    return text;
  }

 private:
  std::vector<std::string> sessions_;
  double first_ms_ = 0;
  double last_ms_ = 0;
  double input_ = 0;
  double output_ = 0;
};

/// How often sessions are moved to the trash again because they changed before they could be removed.
constexpr int kMostTries = 5;

Error refuse_json() {
  return {Errc::not_permitted, "sessions of OpenCode accept the text of a message, not JSON"};
}

Result<void> check_message(std::string_view text) {
  if (!json::is_valid_utf8(text)) {
    return Error{Errc::not_utf8, "the text is not UTF-8"};
  }
  if (text.size() > kMaxCommandBytes / 2) {
    return Error{Errc::too_large, "a message may have at most 32 MiB"};
  }
  return text.empty() ? Result<void>(Errc::invalid_argument, "the message is empty") : Result<void>();
}

/// Removes what killed writers left in a folder, and in the folders in it.
void clear(Disk& disk, const Result<Dir>& folder) {
  const auto entries = folder ? folder->list() : Result<std::vector<DirEntry>>(folder.error());
  if (!entries) {
    return;
  }
  clear_drafts(disk, *folder);
  for (const DirEntry& entry : *entries) {
    const auto below = entry.type == DT_DIR ? folder->open_in(entry.name) : Result<Dir>(Errc::not_found, "");
    if (below) {
      clear_drafts(disk, *below);
    }
  }
}

/// Moves the files that a killed removal or restore left in a store to their sessions in the trash.
void finish_removals(const std::string& trash, const arborfs::Store& store, const StorageFolder& storage) {
  Transfer transfer(trash, store.disk());
  for (const Trashed& one : transfer.trash().list()) {
    if (one.format == opencode::files_format().name && one.sessions == store.paths().sessions) {
      static_cast<void>(transfer.finish(one, *belongings_in_files(store, one.place, &storage)));
    }
  }
}

/// Plan::rewrite is all there is.
struct OneChange final : Plan {
  Result<void> start(const Session::Guard& /*now*/) override { return {}; }
};

}  // namespace

Result<std::unique_ptr<Plan>> Editor::begin(const SessionPtr& /*session*/) {
  return std::unique_ptr<Plan>(std::make_unique<OneChange>());
}

SessionWrites& Writer::writes_of(const SessionPtr& session) {
  return &session->format() == &opencode::files_format() ? *in_files_ : *in_database_;
}

Result<void> Writer::change(const SessionPtr& session, std::string_view verb, const Write& write) {
  Command command;
  command.verb = verb;
  command.policy = LivePolicy::on_live;
  command.is_alone = true;
  command.change = [&](Plan& plan) {
    plan.rewrite = [&](Held& /*held*/) { return write(plan.effects); };
    return Result<void>();
  };
  return changes_.make(session, std::move(command));
}

Result<AppendResult> Writer::add(const SessionPtr& session, std::string_view verb, const NewMessage& wanted) {
  RETURN_IF_ERROR(check_message(wanted.text));
  AppendResult made;
  RETURN_IF_ERROR(change(session, verb, [&](std::vector<Effect>& effects) -> Result<void> {
    ASSIGN_OR_RETURN(made, writes_of(session).add(session->store(), session->place(), wanted, effects));
    return {};
  }));
  return made;
}

Result<void> Writer::check_text(const SessionPtr& session, const std::string& at) {
  return writes_of(session).check_add(session->store(), session->place(), {"", at, false, settings().write_live});
}

RoomWanted Writer::room_for(const SessionPtr& session, std::string_view /*verb*/, std::uint64_t bytes) {
  return writes_of(session).room_for(session->store(), session->place(), bytes);
}

Result<void> Writer::check_json(const SessionPtr& /*session*/, std::string_view /*text*/) {
  return refuse_json();
}

Result<AppendResult> Writer::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check(session));
  if (text.is_json) {
    return refuse_json();
  }
  text.text.resize(text.text.size() - (text.text.ends_with('\n') ? 1 : 0));
  return add(session, "append", {std::move(text.text), std::move(text.at), false, settings().write_live});
}

Result<AppendResult> Writer::summarize(const SessionPtr& session, const std::string& text, bool force) {
  RETURN_IF_ERROR(check(session));
  std::string summary = text;
  if (text.empty()) {
    RunFacts facts;
    RETURN_IF_ERROR(writes_of(session).each_message(
        session->store(), session->place(),
        [&](const std::string& of, std::string_view message) { facts.add(of, message); }));
    summary = facts.text();
  }
  return add(session, "summary", {std::move(summary), "", true, force || settings().write_live});
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view title, bool /*force*/,
                                      std::string_view source) {
  RETURN_IF_ERROR(check(session));
  ASSIGN_OR_RETURN(const auto wanted, checked_title(title));
  std::string in_force;
  RETURN_IF_ERROR(change(session, "title", [&](std::vector<Effect>& effects) -> Result<void> {
    ASSIGN_OR_RETURN(
        in_force, writes_of(session).set_title(session->store(), session->place(), wanted, source == "auto", effects));
    return {};
  }));
  return in_force;
}

Result<void> Writer::remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_allows_delete());
  RETURN_IF_ERROR(check(session));
  const LogPlace place = session->place();
  Result<Trashed> done(Errc::stale, "");
  for (int tries = 0; !done && done.error().code == Errc::stale && tries < kMostTries; ++tries) {
    done = writes_of(session).remove(session->store(), place, Trash::shown_title(*session),
                                     force || settings().write_live);
  }
  if (done) {
    note_trashed(*session, *done);
  }
  catalog().rescan_folder(place.in());
  return done ? Result<void>() : Result<void>(done.error());
}

Result<void> Writer::check_remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(arborfs::Writer::check_remove(session, force));
  return force || settings().write_live ? Result<void>()
                                        : writes_of(session).check_quiet(session->store(), session->place());
}

Result<Relocation> Writer::describe_relocation(const SessionPtr& session, const FolderMove& move) {
  session->forget_look();
  RETURN_IF_ERROR(session->refresh(Depth::head));
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(auto wanted, start_relocation(*session, move));
  RETURN_IF_ERROR(writes_of(session).describe(session->store(), move, wanted));
  return wanted;
}

/// Other processes of arborfs take turns with the files.
Result<void> Writer::under_lock(const SessionPtr& session, const std::function<Result<void>()>& work, bool force) {
  const auto in_turn = [&]() -> Result<void> {
    SessionWrites& writes = writes_of(session);
    const bool may_be_live = force || settings().write_live;
    RETURN_IF_ERROR(check_quiet(session, force));
    RETURN_IF_ERROR(may_be_live ? Result<void>() : writes.check_quiet(session->store(), session->place()));
    return writes.under_lock(session->store(), work);
  };
  return arborfs::Writer::under_lock(session, in_turn, force);
}

void Writer::take_back_parts() {
  for (const auto& store : catalog().stores()) {
    if (&store->format() == &opencode::files_format()) {
      const auto lock = StorageFolder::lock(storage_of(store->paths().sessions));
      for (const char* kind : {"project", "session"}) {
        clear(store->disk(), lock ? lock->folder(kind) : Result<Dir>(lock.error()));
      }
      if (lock) {
        clear_killed_forks(store->disk(), *lock);
        finish_removals(settings().trash, *store, *lock);
      }
    }
  }
}

/// In a database, rows and indexes take twice their text, and the -wal has their pages too. Of files, each entry has
/// two and two folders, in blocks of their own.
std::vector<RoomAt> Writer::room_for_new(const std::string& agent, std::uint64_t bytes, std::uint64_t entries) {
  constexpr std::uint64_t kBlock = 4 << 10;
  std::vector<RoomAt> room = arborfs::Writer::room_for_new(agent, bytes, entries);
  if (room.empty()) {
    return room;
  }
  RoomWanted& wanted = room.front().wanted;
  const arborfs::Store& store = *catalog().stores().at(*catalog().stores().first_of(agent));
  if (&store.format() == &opencode::files_format()) {
    wanted = {bytes + (entries + 2) * 4 * kBlock + 4 * RoomWanted::kBeside, 4 * entries + 8};
  } else {
    wanted = {2 * bytes + in_database_->room_for(store, {}, bytes).bytes, 4};
  }
  return room;
}

Result<AdoptResult> Writer::adopt(const Conversation& conversation, const std::string& agent) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  arborfs::Store& store = *catalog().stores().at(number);
  AdoptResult adopted{{}, conversation.as_text, 0};
  const bool sync = settings().durability == Durability::synced;
  LogPlace place{"", "", number};
  if (&store.format() == &opencode::format()) {
    const std::string database = store.path_of(place);
    if (const auto found = Dir::stat_root(database); !found && found.error().code == Errc::not_found) {
      return Error{Errc::not_found, "there is no database " + database};
    }
    ASSIGN_OR_RETURN(
        place.file,
        adopt_in_database(database, sync ? sqlite::Transaction::Sync::full : sqlite::Transaction::Sync::left_to_kernel,
                          conversation, adopted.as_text));
    place.folder = database.substr(database.rfind('/') + 1);
  } else {
    const std::string storage = storage_of(store.paths().sessions);
    ASSIGN_OR_RETURN(auto made, adopt_in_files(store.disk(), storage, conversation, sync, adopted.as_text));
    place.folder = std::move(made.project);
    place.file = std::move(made.session);
  }
  place.file += kPlaceSuffix;
  ASSIGN_OR_RETURN(adopted.made, show_made(place));
  return adopted;
}

}  // namespace arborfs::opencode
