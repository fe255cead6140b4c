#include "core/formats/opal/writer.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/entry/tree.h"
#include "core/formats/opal/format.h"
#include "core/formats/opal/new_lines.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/os/temp_file.h"
#include "core/session/session.h"
#include "core/write/command_text.h"
#include "core/write/commit.h"
#include "core/write/conversation.h"
#include "core/write/new_file.h"
#include "core/write/resolve_target.h"

namespace arborfs::opal {
namespace {

// A conversation of another agent as a log of Opal (opal/FORMAT.md B). Any thread.

using Kind = TurnPart::Kind;

std::string spelled(std::string_view text) {
  return json::stringify_string(text);
}

/// A message as it grows: reasoning, then a text, then calls.
struct NewMessage {
  std::string_view role;
  std::optional<std::string> thinking = {};
  std::optional<std::string> content = {};
  std::string calls = {};
  std::vector<std::string> call_ids = {};

  [[nodiscard]] bool is_empty() const { return !thinking && !content && calls.empty(); }
  [[nodiscard]] std::string members() const {
    std::string text =
        "\"role\":" + spelled(role) + ",\"content\":" + (content ? spelled(*content) : "null") + ",\"is_error\":false";
    text += calls.empty() ? "" : ",\"tool_calls\":[" + calls + "]";
    text += thinking ? ",\"thinking\":" + spelled(*thinking) : "";
    return text + "}";
  }
};

class AdoptedLines {
 public:
  explicit AdoptedLines(AsText& counts) : counts_(counts) {}

  Result<void> add_all(const std::vector<Turn>& turns) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const bool has_results = i + 1 < turns.size() && turns[i + 1].speaker == Turn::Speaker::tool;
      if (turns[i].speaker != Turn::Speaker::tool) {
        RETURN_IF_ERROR(add(turns[i], has_results ? &turns[i + 1] : nullptr));
      }
    }
    return {};
  }
  [[nodiscard]] const std::string& text() const { return lines_; }
  [[nodiscard]] const std::string& leaf() const { return leaf_; }

 private:
  /// A message has one text, so a turn may be several; the results of calls follow the message that has these.
  Result<void> add(const Turn& turn, const Turn* results) {
    const bool is_user = turn.speaker == Turn::Speaker::user;
    NewMessage message{is_user ? "user" : "assistant"};
    for (const TurnPart& part : turn.parts) {
      const bool is_behind = part.kind == Kind::reasoning
                                 ? !message.is_empty()
                                 : part.kind != Kind::tool_call && (message.content || !message.calls.empty());
      if (is_behind) {
        RETURN_IF_ERROR(flush(message, results));
      }
      take(part, message);
    }
    return flush(message, results);
  }

  void take(const TurnPart& part, NewMessage& message) {
    if (part.kind == Kind::reasoning) {
      message.thinking = part.text;
    } else if (part.kind == Kind::tool_call) {
      message.calls.append(message.calls.empty() ? "" : ",");
      message.calls.append("{\"call_id\":" + spelled(part.call_id) + ",\"name\":" + spelled(part.tool));
      message.calls.append(",\"arguments\":" + part.text + "}");
      message.call_ids.push_back(part.call_id);
    } else {
      message.content = part.kind == Kind::image ? image_as_text(part.images.front(), counts_) : part.text;
    }
  }

  Result<void> flush(NewMessage& message, const Turn* results) {
    if (message.is_empty()) {
      return {};
    }
    RETURN_IF_ERROR(add_line(message.members()));
    for (const std::string& id : message.call_ids) {
      for (const TurnPart& result : results->parts) {
        if (result.call_id == id) {
          RETURN_IF_ERROR(add_line(R"("role":"tool_result","content":)" + spelled(result_as_text(result, counts_)) +
                                   R"(,"is_error":)" + (result.is_error ? "true" : "false") + R"(,"call_id":)" +
                                   spelled(id) + "}"));
        }
      }
    }
    message = NewMessage{message.role};
    return {};
  }

  Result<void> add_line(const std::string& members) {
    ASSIGN_OR_RETURN(auto id, new_message_id());
    lines_ += message_line(id, leaf_, members);
    leaf_ = std::move(id);
    return {};
  }

  AsText& counts_;
  std::string lines_;
  std::string leaf_;
};

/// The whole log. Adds the parts that could only be written as text to `counts`. Errors: io.
Result<std::string> adopted_log(const Conversation& conversation, const std::string& session, AsText& counts) {
  AdoptedLines lines(counts);
  RETURN_IF_ERROR(lines.add_all(conversation.turns));
  const std::string title = one_line_title(conversation.title);
  const std::string metadata = title.empty() ? "{}" : R"({"title":)" + spelled(title) + "}";
  return R"({"session_id":)" + spelled(session) + R"(,"current_id":)" + spelled(lines.leaf()) + R"(,"metadata":)" +
         metadata + "}\n" + lines.text();
}

/// Whether a path of Opal's messages has each tool call with its result, without which models reject it (FAILURES.md
/// F27). Any thread.
struct EntryBytes {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

EntryBytes bytes_of(const LogIndex& index, Ordinal ordinal) {
  return {index.entry(ordinal).offset, index.length(ordinal)};
}

/// Results are between the message that calls and the next message of these roles.
bool begins_turn(const LogIndex& index, Ordinal ordinal) {
  return index.is_assistant(ordinal) || index.name(ordinal) == "user";
}

/// The entries of the path to `end`, in reverse order, back to its last message of the assistant or the user.
std::vector<EntryBytes> last_turn(const LogIndex& index, Ordinal end) {
  std::vector<EntryBytes> turn;
  Ordinal at = end;
  for (Ordinal steps = 0; at != kNoEntry && steps < index.size(); ++steps) {
    turn.push_back(bytes_of(index, at));
    if (begins_turn(index, at)) {
      break;
    }
    at = index.parent(at);
  }
  return turn;
}

std::string call_id(std::string_view object) {
  return skim::text_member(object, "call_id");
}

/// The calls of the messages of one path, one after the other, that have no result yet.
class OpenCalls {
 public:
  /// False if the message answers no call before it, or begins a turn before all are answered.
  bool take(std::string_view message) {
    const std::string_view role = skim::member(message, "role");
    const bool begins = skim::is_string(role, "assistant") || skim::is_string(role, "user");
    const bool is_result = skim::is_string(role, "tool_result");
    const bool fits = is_result ? open_.erase(call_id(message)) == 1 : !begins || open_.empty();
    for (skim::Cursor call(skim::member(message, "tool_calls")); call.next();) {
      open_.insert(call_id(call.value()));
    }
    return fits;
  }

 private:
  std::set<std::string> open_;
};

/// The entries on the path next to a run that is replaced.
struct Around {
  std::shared_ptr<const LogSource> log;
  std::vector<EntryBytes> before;  // the turn that it interrupts or follows, from the end
  std::vector<EntryBytes> after;   // up to the message that begins the next turn
};

Result<Around> around(const Session& session, Ordinal first, Ordinal last) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  Around found{guard.log(), {}, {}};
  if (first > index.size() || last > index.size()) {
    return session_changed();
  }
  found.before = last_turn(index, index.parent(first));
  const auto path = path_to(index, guard.leaf());
  auto at = std::find(path.begin(), path.end(), last);
  for (at = at == path.end() ? at : at + 1; at != path.end(); ++at) {
    found.after.push_back(bytes_of(index, *at));
    if (begins_turn(index, *at)) {
      break;
    }
  }
  return found;
}

/// Fails if the path to an entry ends in tool calls without results. Errors: invalid_argument, and those of reading.
Result<void> check_answered(const Session& session, Ordinal end) {
  std::vector<EntryBytes> turn;
  std::shared_ptr<const LogSource> log;
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    turn = end > guard.index().size() ? turn : last_turn(guard.index(), end);
    log = guard.log();
  }
  std::set<std::string> answered;
  for (const EntryBytes& one : turn) {
    ASSIGN_OR_RETURN(const auto line, log->read(one.offset, one.length));
    answered.insert(call_id(line));
    for (skim::Cursor call(skim::member(line, "tool_calls")); call.next();) {
      if (!answered.contains(call_id(call.value()))) {
        return Error{Errc::invalid_argument,
                     "the branch would end in a tool call without its result, which models reject; choose another "
                     "entry, or force it"};
      }
    }
  }
  return {};
}

/// Fails if a call and its result would no longer be adjacent on the path to the leaf after messages replace those from
/// `first` to `last`, two entries of that path. `members` is as in NewMessages. Errors: as above.
Result<void> check_replaced(const Session& session, Ordinal first, Ordinal last,
                            const std::vector<std::string>& members) {
  ASSIGN_OR_RETURN(const auto found, around(session, first, last));
  OpenCalls calls;
  for (auto one = found.before.rbegin(); one != found.before.rend(); ++one) {
    ASSIGN_OR_RETURN(const auto line, found.log->read(one->offset, one->length));
    static_cast<void>(calls.take(line));
  }
  bool fits = true;
  for (const std::string& message : members) {
    fits = calls.take("{" + message) && fits;
  }
  for (const EntryBytes& one : found.after) {
    ASSIGN_OR_RETURN(const auto line, found.log->read(one.offset, one.length));
    fits = calls.take(line) && fits;
  }
  if (!fits) {
    return Error{Errc::invalid_argument,
                 "a tool call would lose its result or a result its call, which models reject; replace both, or force "
                 "it"};
  }
  return {};
}

std::string id_of(const LogIndex& index, Ordinal ordinal) {
  return ordinal == kNoEntry ? "" : std::string(index.id(ordinal).text);
}

Result<std::vector<std::string>> new_ids(std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(auto id, new_message_id());
    ids.push_back(std::move(id));
  }
  return ids;
}

constexpr std::string_view kAgentName = "opal";
constexpr const char* kFolder = "sessions";
constexpr mode_t kNewFile = 0666;  // less the umask, as for Opal
constexpr mode_t kNewFolder = 0777;

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
  RETURN_IF_ERROR(index.header().check_valid());
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
    ASSIGN_OR_RETURN(const auto model, model_to_start(wanted.model));
    metadata = with_text(metadata, kModelKey, model);
  }
  if (!wanted.provider.empty()) {
    metadata = with_text(metadata, kProviderKey, wanted.provider);
  }
  const std::string title = one_line_title(wanted.title);
  return title.empty() ? metadata : with_text(metadata, "title", title);
}

/// The folder of the sessions; creates it if it is missing. Errors: not_found if there is no data folder.
Result<Dir> sessions_folder(const arborfs::Store& store, const LogPlace& place) {
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

RoomWanted Writer::room_for(const SessionPtr& session, std::string_view /*verb*/, std::uint64_t bytes) {
  const auto log = session->store().stat(session->place());
  return {bytes + (log ? log->size : 0) + RoomWanted::kBeside, 2};
}

Result<void> Writer::apply(const SessionPtr& session, std::string_view verb, Change change, bool force, Shares shares,
                           std::uint64_t bytes) {
  Command command;
  command.verb = verb;
  command.change = change_of<LogPlan>(std::move(change));
  command.policy = live_policy(force);
  command.is_alone = shares == Shares::nothing;
  command.bytes = bytes;
  return changes_.make(session, std::move(command));
}

Result<void> Writer::check_json(const SessionPtr& session, std::string_view text) {
  ASSIGN_OR_RETURN(const auto messages, new_messages({std::string(text), true, ""}));
  return check(session, messages.force);
}

Result<AppendResult> Writer::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(const auto messages, new_messages(text));
  ASSIGN_OR_RETURN(const auto ids, new_ids(messages.members.size()));
  AppendResult result{ids.back(), ""};
  const auto append = [&](LogPlan& plan) -> Result<void> {
    std::string parent = plan.leaf;
    RETURN_IF_ERROR(messages.check_leaf(parent));
    if (!text.at.empty()) {
      ASSIGN_OR_RETURN(const auto ordinal, find_leaf_target(*plan.index, text.at));
      parent = id_of(*plan.index, ordinal);
    }
    result.parent_id = parent;
    plan.move_leaf(plan.add(ids, messages.members, parent));
    return {};
  };
  RETURN_IF_ERROR(apply(session, "append", append, messages.force, Shares::file, text.text.size()));
  return result;
}

Result<std::size_t> Writer::put_back_erased(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_writable(session->format()));
  const auto erased = catalog().state_of(*session).erased.of(session->place().file);
  std::size_t count = 0;
  const auto put_back = [&](LogPlan& plan) -> Result<void> {
    count = 0;
    for (const auto& entry : erased) {
      if (plan.index->find(entry.id) == kNoEntry) {
        plan.lines += entry.json + "\n";
        plan.puts_back = true;
        ++count;
      }
    }
    return {};
  };
  RETURN_IF_ERROR(apply(session, "doctor --repair", put_back, force, Shares::nothing));
  return count;
}

Result<void> Writer::check_branch(const SessionPtr& session, const std::string& target) {
  RETURN_IF_ERROR(check(session, false));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  RETURN_IF_ERROR(find_leaf_target(guard.index(), target));
  return {};
}

Result<MovedLeaf> Writer::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                 bool force, bool /*pin*/) {
  RETURN_IF_ERROR(check(session, force));
  if (!json::is_valid_utf8(summary)) {
    return Error{Errc::not_utf8, "the summary is not UTF-8"};
  }
  Ordinal ordinal = kNoEntry;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    ASSIGN_OR_RETURN(ordinal, find_leaf_target(guard.index(), target));
  }
  if (ordinal != kNoEntry && !force) {
    RETURN_IF_ERROR(check_answered(*session, ordinal));
  }
  ASSIGN_OR_RETURN(const auto id, new_message_id());
  MovedLeaf moved;
  const auto move = [&](LogPlan& plan) -> Result<void> {
    ASSIGN_OR_RETURN(const auto found, find_leaf_target(*plan.index, target));
    const std::string to = id_of(*plan.index, found);
    if (!summary.empty()) {
      plan.lines += message_line(id, to, branch_summary(summary, plan.leaf));
      moved.summary_id = id;
    }
    plan.move_leaf(summary.empty() ? to : id);
    moved.leaf = plan.leaf.empty() ? "root" : plan.leaf;
    return {};
  };
  RETURN_IF_ERROR(apply(session, "branch", move, force));
  return moved;
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view title, bool force,
                                      std::string_view source) {
  ASSIGN_OR_RETURN(const std::string wanted, checked_title(title));
  RETURN_IF_ERROR(check_writable(session->format()));
  std::string in_force;
  const auto change = [&](LogPlan& plan) -> Result<void> {
    const std::string_view metadata = skim::member(plan.header, "metadata");
    const std::string present = skim::text_member(metadata, "title");
    in_force = title_in_force(present, wanted, source);
    if (in_force == present) {
      return {};
    }
    const std::string object = metadata.starts_with('{') ? std::string(metadata) : "{}";
    plan.header = skim::set_member(std::move(plan.header), "metadata",
                                   skim::set_member(object, "title", json::stringify_string(wanted)));
    return {};
  };
  RETURN_IF_ERROR(apply(session, "title", change, force));
  return in_force;
}

Result<AppendResult> Writer::replace(const SessionPtr& session, const Replacement& wanted, bool force) {
  ASSIGN_OR_RETURN(const auto messages, new_messages_of(wanted.messages));
  RETURN_IF_ERROR(check(session, force || messages.force));
  Run run;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    ASSIGN_OR_RETURN(run, find_run(guard.index(), wanted.first, wanted.last));
  }
  if (!force && !messages.force) {
    RETURN_IF_ERROR(check_replaced(*session, run.first, run.last, messages.members));
  }
  ASSIGN_OR_RETURN(const auto ids, new_ids(messages.members.size()));
  AppendResult result;
  const auto change = [&](LogPlan& plan) -> Result<void> {
    RETURN_IF_ERROR(messages.check_leaf(plan.leaf));
    ASSIGN_OR_RETURN(const auto found, find_run(*plan.index, wanted.first, wanted.last));
    auto segment = replace_segment(*plan.index, found);
    result = {ids.empty() ? "" : ids.back(), segment.parent};
    plan.new_parent = plan.add(ids, messages.members, segment.parent);
    plan.edits = std::move(segment.edits);
    plan.removed = std::move(segment.removed);
    if (segment.moves_leaf) {
      plan.move_leaf(plan.new_parent);
    }
    return {};
  };
  RETURN_IF_ERROR(apply(session, "replace", change, force || messages.force, Shares::nothing));
  return result;
}

Result<AdoptResult> Writer::adopt(const Conversation& conversation, const std::string& agent) {
  AdoptResult adopted{{}, conversation.as_text, 0};
  ASSIGN_OR_RETURN(const auto id, new_session_id());
  ASSIGN_OR_RETURN(const auto log, adopted_log(conversation, id, adopted.as_text));
  ASSIGN_OR_RETURN(adopted.made, add_session(*catalog().stores().first_of(agent), id, conversation.permissions,
                                             [&](TempFile& file) { return file.write(log); }));
  return adopted;
}

void Writer::take_back_parts() {
  for (const auto& store : catalog().stores()) {
    if (store->format().agent != kAgentName) {
      continue;
    }
    if (const auto folder = store->folder({kFolder, ""})) {
      for (const std::string& name : leftover_files(*folder)) {
        static_cast<void>(store->disk().remove(*folder, name));
      }
    }
  }
}

Result<CreateResult> Writer::add_session(std::uint8_t number, const std::string& id, mode_t permissions,
                                         const std::function<Result<void>(TempFile&)>& fill) {
  const arborfs::Store& store = *catalog().stores().at(number);
  const LogPlace place{kFolder, id + ".jsonl", number};
  ASSIGN_OR_RETURN(const auto folder, sessions_folder(store, place));
  ASSIGN_OR_RETURN(const auto file, TempFile::create(store.disk(), folder, kNewFile & permissions));
  RETURN_IF_ERROR(fill(*file));
  RETURN_IF_ERROR(file->finish(syncs()));
  RETURN_IF_ERROR(file->publish(folder, place.file, Disk::Existing::keep));
  const auto synced = syncs() ? store.disk().sync_folder(folder) : Result<void>();
  auto made = show_made(place);
  return synced ? made : made_but_not_synced(synced.error(), id);
}

Result<CreateResult> Writer::fork(const SessionPtr& session, const std::string& target, bool force,
                                  const std::optional<std::string>& title) {
  RETURN_IF_ERROR(check_writable(session->format()));
  if (title && (!json::is_valid_utf8(*title) || title->size() > kLongestTitle)) {
    return Error{Errc::invalid_argument, "the title is not UTF-8, or longer than 64 KiB"};
  }
  RETURN_IF_ERROR(session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto source, take_source(*session, target));
  RETURN_IF_ERROR(source.end == kNoEntry || force ? Result<void>() : check_answered(*session, source.end));
  ASSIGN_OR_RETURN(auto header, source.log->read(source.header.offset, source.header.length));
  ASSIGN_OR_RETURN(const auto id, new_session_id());
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

Result<CreateResult> Writer::create(const NewSession& wanted) {
  const auto store = catalog().stores().first_of(kAgentName);
  if (!store) {
    return Error{Errc::not_found, "no store of opal is open"};
  }
  if (!wanted.parent_session.empty()) {
    return Error{Errc::not_permitted, "sessions of Opal do not record which session they continue"};
  }
  ASSIGN_OR_RETURN(const auto metadata, metadata_of(wanted));
  ASSIGN_OR_RETURN(const auto id, new_session_id());
  return add_session(*store, id, kAnyPermissions,
                     [&](TempFile& file) { return file.write(header_line(id, metadata)); });
}

Result<void> Writer::remove(const SessionPtr& session, bool force) {
  session->forget_look();
  RETURN_IF_ERROR(session->refresh(Depth::head));
  RETURN_IF_ERROR(check_remove(session, force));
  const LogPlace place = session->place();
  ASSIGN_OR_RETURN(const auto folder, session->store().folder(place));
  ASSIGN_OR_RETURN(const auto held, hold_log(folder, place.file, session->stat()));
  auto done = move_to_trash(session, belongings_of(session->store(), place));
  catalog().rescan_folder(place.in());
  return done;
}

std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place) {
  if (!store.may_have_logs(place.folder) || !store.is_log_name(place.file)) {
    return nullptr;
  }
  return std::make_unique<NamedBelongings>(store, place.folder, [place](const Dir& /*folder*/) {
    return std::vector<Belonging>{{"", std::string(place.stem())}, {"", place.file, Belonging::Role::own}};
  });
}

}  // namespace arborfs::opal
