#include "core/formats/codex/writer.h"

#include <dirent.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/words.h"
#include "core/formats/codex/history.h"
#include "core/formats/codex/new_segment.h"
#include "core/formats/codex/record.h"
#include "core/formats/codex/thread_lock.h"
#include "core/formats/codex/thread_rows.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/write/command_text.h"
#include "core/write/new_file.h"
#include "core/write/resolve_target.h"

namespace arborfs::codex {
namespace {

constexpr std::string_view kAgentName = "codex";
constexpr std::string_view kVersion = "0.171.0";  // whose files H describes
constexpr std::size_t kLongestPrompt = 4096;
constexpr std::size_t kMostNamed = 3;  // threads in a message
constexpr std::string_view kFolders[] = {"sessions", kArchive};

/// All files of a thread, in Codex's folder or in the trash: second copies of a segment too, which would else be the
/// thread. They return in the order in which the segments were begun.
class ThreadFiles final : public Belongings {
 public:
  ThreadFiles(const ThreadStore& store, std::string thread) : store_(store), thread_(std::move(thread)) {}

  [[nodiscard]] std::string root_path() const override { return store_.paths().agent_dir; }

  Result<std::vector<Belonging>> in_store(const Dir& root) override {
    std::vector<Found> found;
    for (const std::string_view folder : kFolders) {
      const auto dir = root.open_in(std::string(folder));
      if (dir) {
        RETURN_IF_ERROR(list(*dir, std::string(folder), 0, found));
      } else if (dir.error().code != Errc::not_found) {
        return dir.error();
      }
    }
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.name.comes_before(b.name); });
    std::vector<Belonging> items;
    for (Found& one : found) {
      items.push_back(std::move(one.item));
    }
    return items;
  }

  /// Archiving moves segments to another folder.
  Result<void> check_free(const Dir& root, const Dir& files) override {
    ASSIGN_OR_RETURN(const auto there, in_store(root));
    ASSIGN_OR_RETURN(const auto back, in_store(files));
    const auto taken = std::find_if(there.begin(), there.end(), [&](const Belonging& item) {
      return std::any_of(back.begin(), back.end(),
                         [&](const Belonging& one) { return one.folder != item.folder && is_same_segment(one, item); });
    });
    return taken == there.end() ? Result<void>()
                                : Error{Errc::already_exists, "Codex has the thread again, as " + root_path() + "/" +
                                                                  taken->folder + "/" + taken->name};
  }

 private:
  struct Found {
    RolloutName name;
    Belonging item;
  };

  static bool is_same_segment(const Belonging& one, const Belonging& other) {
    const auto a = parse_rollout_name(one.name);
    const auto b = parse_rollout_name(other.name);
    return a && b && a->segment == b->segment;
  }

  Result<void> list(const Dir& dir, const std::string& path, std::size_t depth, std::vector<Found>& found) const {
    ASSIGN_OR_RETURN(const auto entries, dir.list());
    for (const DirEntry& entry : entries) {
      auto name = parse_rollout_name(entry.name);
      if (name && name->thread == thread_) {
        found.push_back({*std::move(name), {path, entry.name, Belonging::Role::own}});
      } else if (entry.type == DT_DIR && !entry.name.starts_with('.') && depth < kDeepest) {
        ASSIGN_OR_RETURN(const auto inner, dir.open_in(entry.name));
        RETURN_IF_ERROR(list(inner, path + "/" + entry.name, depth + 1, found));
      }
    }
    return {};
  }

  const ThreadStore& store_;
  const std::string thread_;
};

/// Errors: invalid_argument if other threads need this one's segments.
Result<void> check_not_needed(const ThreadStore& store, const std::string& thread) {
  auto others = store.based_on(thread);
  if (others.empty()) {
    return {};
  }
  const std::size_t more = others.size() - std::min(others.size(), kMostNamed);
  others.resize(others.size() - more);
  return Error{Errc::invalid_argument,
               "the thread's records are the beginning of other threads, which were forked "
               "from it: " +
                   join_words(others) + (more == 0 ? "" : " (and " + std::to_string(more) + " more)") +
                   "; remove these first"};
}

/// True if a segment is based on the thread's active one. Codex finds the end of a base by its place in the file, which
/// a longer or shorter first line changes (H6).
Result<bool> is_a_base(const ThreadStore& store, const std::string& thread, const std::string& active) {
  std::vector<std::string> threads = store.based_on(thread);
  threads.push_back(thread);
  SegmentOpener opener(store.paths().agent_dir, SegmentOpener::Use::once);
  for (const std::string& other : threads) {
    ASSIGN_OR_RETURN(const auto now, store.thread_now(other));
    for (const SegmentFile& file : now.own) {
      ASSIGN_OR_RETURN(const auto log, opener.open(file));
      ASSIGN_OR_RETURN(const auto head, read_head(*log));
      if (head.base && head.base->segment == active) {
        return true;
      }
    }
  }
  return false;
}

/// What the first line of a segment has under "payload", once the thread's folders moved (H6).
std::string moved_payload(std::string payload, const FolderMove& move, const std::string& cwd) {
  constexpr std::string_view kWorkRoots = "runtime_workspace_roots";
  payload = skim::set_member(std::move(payload), "cwd", json::stringify_string(cwd));
  if (const std::string_view roots = skim::member(payload, kWorkRoots); !roots.empty()) {
    json::Text moved = json::Text::array();
    for (skim::Cursor root(roots); root.next();) {
      const auto now = move.now(skim::string_value(root.value()).value_or(""));
      moved.item_json(now ? json::stringify_string(*now) : std::string(root.value()));
    }
    payload = skim::set_member(payload, kWorkRoots, moved.str());
  }
  return payload;
}

/// A segment in which a thread goes on after all of its active one, whose content is `log`, in the same folder and with
/// the same time. It is the same one for each run, so that a relocation that was killed is completed by the next.
Result<Relocation::Edit> next_segment(const SegmentFile& active, const LogSource& log, std::string payload) {
  ASSIGN_OR_RETURN(const auto size, log.size());
  ASSIGN_OR_RETURN(const auto end, read_end(log, active.name.segment, true));
  const std::string based = payload_based_on(std::move(payload), {active.name.segment, true, true, end.next, size});
  const std::int64_t time_ms = active.stat.mtime_ns / 1'000'000;
  const std::string id = uuid_of_time(time_ms, active.name.segment + based);
  NewRecords records(active.name.thread, {id, true, end.next});
  RETURN_IF_ERROR(records.add_record("session_meta", based, time_ms));
  return Relocation::Edit{"",
                          "rollout-" + active.name.time + "-" + active.name.thread + "_" + id + ".jsonl",
                          0,
                          "",
                          records.lines(),
                          active.stat.mtime_ns};
}

/// An item of a thread that is neither the harness's nor the developer's, which Codex adds again.
struct SaidItem {
  std::string json;
  std::int64_t time_ms = 0;
};

Result<std::vector<SaidItem>> said_items(const SpokenPath& spoken) {
  ASSIGN_OR_RETURN(const auto history, history_of(spoken.path, *spoken.log, spoken.reach));
  std::vector<SaidItem> items;
  std::int64_t time_ms = now_ms();
  for (const HistoryItem& one : history) {
    ASSIGN_OR_RETURN(
        auto json, one.made.empty() ? read_spoken(*spoken.log, one.offset, one.length) : Result<std::string>(one.made));
    const std::string role = skim::text_member(json, "role");
    const bool is_put_in = role == "developer" || role == "system" ||
                           (role == "user" && origin_of_message(skim::member(json, "content"),
                                                                skim::member(json, kItemKinds)) == Origin::harness);
    time_ms = one.time_ms == Entry::kNoTime ? time_ms : one.time_ms;
    if (!is_put_in) {
      std::string line = json.find('\n') == std::string::npos ? std::move(json) : "";  // of a document (B6)
      if (line.empty()) {
        json::canonicalize(json, line);
      }
      items.push_back({std::move(line), time_ms});
    }
  }
  return items;
}

/// True if the user speaks first, and each call has an output after it and each output a call before it.
bool are_accepted(const std::vector<SaidItem>& items) {
  std::set<std::string> open;
  for (const SaidItem& item : items) {
    const std::string type = skim::text_member(item.json, "type");
    const std::string call = skim::text_member(item.json, "call_id");
    const bool is_output = type.ends_with("_output");
    if (is_output ? open.erase(call) == 0 : !call.empty() && !open.insert(call).second) {
      return false;
    }
  }
  return open.empty() && !items.empty() && skim::is_string(skim::member(items.front().json, "role"), "user");
}

/// The first line of a new thread (H4).
std::string thread_meta(const std::string& id, const std::string& cwd, const std::string& provider,
                        std::int64_t time_ms) {
  return json::Text::object()
      .add("session_id", id)
      .add("id", id)
      .add("timestamp", json::iso_time(time_ms))
      .add("cwd", cwd)
      .add("originator", "codex-tui")
      .add("cli_version", kVersion)
      .add("source", "cli")
      .add("model_provider", provider)
      .add("history_mode", "paginated")
      .str();
}

/// The beginning of the first text of the user, for lists.
std::string first_prompt(const Conversation& conversation) {
  for (const TurnPart& part : conversation.turns.front().parts) {
    if (part.kind == TurnPart::Kind::text) {
      return std::string(json::whole_characters(json::as_utf8(part.text), kLongestPrompt));
    }
  }
  return "";
}

}  // namespace

void Writer::take_back_parts() {
  for (const auto& store : catalog().stores()) {
    const auto home = store->format().agent == kAgentName ? Dir::open_root(store->paths().agent_dir)
                                                          : Result<Dir>(Errc::not_found, "");
    if (home) {
      remove_leftovers(store->disk(), *home);
    }
  }
  threads_.take_back_parts(kAgentName);
}

/// Codex may hold the thread: it reads the queue itself.
Result<AppendResult> Writer::queue(const Session& session, const std::string& message, const std::string& at) {
  if (!at.empty()) {
    return Error{Errc::invalid_argument, "a message for Codex's queue goes to the thread, not to an entry of it"};
  }
  const ThreadStore& store = threads_of(session);
  ASSIGN_OR_RETURN(const auto now, store.thread_now(session.stem()));
  if (now.kind == RolloutKind::none) {
    return no_thread_of_codex();
  }
  ASSIGN_OR_RETURN(auto id, queue_message(store, session.stem(), message, syncs()));
  Operation queued = operation_on(session, "append");
  queued.cannot = "Codex takes messages from its queue and runs them; take it back there";
  catalog().operations().add(std::move(queued));
  return AppendResult{std::move(id), ""};
}

Result<AppendResult> Writer::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check_takes(session->format(), "append"));
  ASSIGN_OR_RETURN(const auto turns, new_turns(text));
  if (!turns.queued.empty()) {
    return queue(*session, turns.queued, text.at);
  }
  AppendResult result;
  Command command;
  command.verb = "append";
  command.policy = live_policy(turns.force);
  command.bytes = text.text.size();
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    ASSIGN_OR_RETURN(result, plan.add(turns, text.at));
    return {};
  });
  RETURN_IF_ERROR(threads_.make(session, std::move(command)));
  return result;
}

Result<void> Writer::check_json(const SessionPtr& session, std::string_view text) {
  RETURN_IF_ERROR(check_takes(session->format(), "append"));
  ASSIGN_OR_RETURN(const auto turns, new_turns({std::string(text), true, ""}));
  return turns.queued.empty() ? check(session, turns.force) : Result<void>();
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view title, bool /*force*/,
                                      std::string_view source) {
  RETURN_IF_ERROR(check_takes(session->format(), "title"));
  ASSIGN_OR_RETURN(const auto wanted, checked_title(title));
  threads_of(*session).forget_rows();
  std::string in_force;
  Command command;
  command.verb = "title";
  command.policy = LivePolicy::on_live;
  command.is_alone = true;
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    const std::string& present = plan.index->header().title;
    in_force = title_in_force(present, wanted, source);
    if (in_force == present) {
      return {};
    }
    plan.rewrite = [&, thread = plan.thread](Held& /*held*/) -> Result<void> {
      const ThreadStore& store = threads_of(*session);
      ASSIGN_OR_RETURN(const auto now, store.thread_now(thread));
      ASSIGN_OR_RETURN(plan.effects, set_name(store, thread, now, wanted, syncs()));
      return {};
    };
    return {};
  });
  RETURN_IF_ERROR(rows_.make(session, std::move(command)));
  return in_force;
}

Result<void> Writer::set_mark(const SessionPtr& session, Mark mark, bool is_set, bool force) {
  RETURN_IF_ERROR(check_takes(session->format(), mark_name(mark)));
  const ThreadStore& store = threads_of(*session);
  const std::string thread(session->place().stem());
  if (mark == Mark::pinned) {
    ASSIGN_OR_RETURN(const auto now, store.thread_now(thread));
    ASSIGN_OR_RETURN(auto effects, set_pinned(store, thread, now, is_set, syncs()));
    if (!effects.empty()) {
      note_effects(*session, is_set ? "pin" : "unpin", std::move(effects));
    }
  } else {
    const bool was_archived = is_marked(store, session->place(), mark);
    Command command;
    command.policy = live_policy(force);
    command.work = [&](Held& /*held*/) -> Result<void> {
      store.forget_files();
      ASSIGN_OR_RETURN(const auto now, store.thread_now(thread));
      return set_archived(store, thread, now, is_set, syncs());
    };
    auto done = threads_.make(session, std::move(command));
    catalog().rescan_folder(session->place().in());
    RETURN_IF_ERROR(done);
    if (was_archived != is_set) {
      note_effects(*session, is_set ? "archive" : "unarchive", {effect_of_mark(mark_name(mark), is_set)});
    }
  }
  session->publish_touched();
  return {};
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
  if (!summary.empty()) {
    return Error{Errc::not_permitted, "threads of Codex have no summaries of branches; leave it out, or append it"};
  }
  Command command;
  command.verb = "branch";
  command.policy = live_policy(force);
  command.is_alone = true;
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    ASSIGN_OR_RETURN(const auto entry, find_leaf_target(*plan.index, target));
    if (plan.records->end().is_paginated) {
      std::optional<EntryPlace> place;
      if (entry != kNoEntry) {
        place = {plan.index->entry(entry).offset, plan.index->length(entry)};
      }
      plan.rewrite = [this, &session, &plan, place](Held& /*held*/) -> Result<void> {
        ASSIGN_OR_RETURN(plan.effects, go_back(session, place));
        return {};
      };
      return {};
    }
    ASSIGN_OR_RETURN(const auto turns, turns_after(*plan.index, plan.leaf_entry, entry));
    const std::string dropped = json::Text::object().add("type", "thread_rolled_back").add("num_turns", turns).str();
    return turns == 0 ? Result<void>() : plan.records->add_record("event_msg", dropped, now_ms());
  });
  RETURN_IF_ERROR(threads_.make(session, std::move(command)));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  MovedLeaf moved;
  moved.leaf = guard.leaf() == kNoEntry ? "root" : guard.index().id(guard.leaf()).text;
  return moved;
}

/// A new segment that no row names would be inert for Codex; it is removed again.
Result<std::vector<Effect>> Writer::go_back(const SessionPtr& session, const std::optional<EntryPlace>& entry) {
  const ThreadStore& store = threads_of(*session);
  const std::string thread = session->stem();
  std::shared_ptr<const LogSource> log;
  {
    ASSIGN_OR_RETURN(const auto guard, session->read_index());
    log = guard.log();
  }
  const auto& segments = dynamic_cast<const SegmentsLog&>(*log);
  ASSIGN_OR_RETURN(const auto now, store.thread_now(thread));
  RETURN_IF_ERROR(check_path(store, thread, now));
  ASSIGN_OR_RETURN(const auto from, turn_end(segments, entry));
  if (from.is_last && from.is_own) {
    const auto found = std::find_if(now.own.begin(), now.own.end(),
                                    [&](const SegmentFile& file) { return file.name.segment == from.segment; });
    if (found == now.own.end()) {
      return session_changed();
    }
    const std::string path = store.paths().agent_dir + "/" + found->folder + "/" + plain_name(*found);
    ASSIGN_OR_RETURN(auto moved, set_path(store, thread, path, syncs()));
    return std::vector<Effect>{std::move(moved)};
  }
  ASSIGN_OR_RETURN(const auto payload, segment_payload(segments, from));
  const std::int64_t time_ms = now_ms();
  ASSIGN_OR_RETURN(const auto id, new_uuid_of_time(time_ms));
  NewRecords records(thread, {id, true, from.ordinal});
  RETURN_IF_ERROR(records.add_record("session_meta", payload, time_ms));
  ASSIGN_OR_RETURN(const auto made,
                   write_segment(store, thread, id, time_ms, permissions_of(*session), records.lines(), syncs()));
  auto moved = made.synced ? set_path(store, thread, made.path, syncs()) : Result<Effect>(made.synced.error());
  if (!moved) {
    static_cast<void>(store.disk().remove(made.folder, made.name));
  }
  store.forget_files();
  RETURN_IF_ERROR(moved);
  return std::vector<Effect>{effect_of(made_file(made.path, records.lines())), *std::move(moved)};
}

Result<void> Writer::under_lock(const SessionPtr& session, const std::function<Result<void>()>& work, bool force) {
  const auto then_forget = [&]() -> Result<void> {
    const ThreadStore& store = threads_of(*session);
    store.forget_rows();
    auto done = work();
    store.forget_rows();
    store.forget_files();
    return done;
  };
  return arborfs::Writer::under_lock(session, then_forget, force);
}

Result<void> Writer::check_remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(arborfs::Writer::check_remove(session, force));
  RETURN_IF_ERROR(thread_editor_.probe(session));
  return check_not_needed(threads_of(*session), session->stem());
}

/// The row stays, with the name: when the files are back, it is theirs again (H3).
Result<void> Writer::remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_remove(session, force));
  const LogPlace place = session->place();
  Command command;
  command.policy = live_policy(force);
  command.work = [&](Held& /*held*/) -> Result<void> {
    const ThreadStore& store = threads_of(*session);
    store.forget_files();
    RETURN_IF_ERROR(check_not_needed(store, session->stem()));
    return move_to_trash(session, belongings_of(store, place), syncs());
  };
  auto done = threads_.make(session, std::move(command));
  catalog().rescan_folder(place.in());
  return done;
}

/// Codex's list goes by the file, its picker by the row, which Codex itself sets as the file says (H6).
Result<Relocation> Writer::describe_relocation(const SessionPtr& session, const FolderMove& move) {
  session->forget_look();
  RETURN_IF_ERROR(session->refresh(Depth::head));
  RETURN_IF_ERROR(check_takes(session->format(), "append"));
  const ThreadStore& store = threads_of(*session);
  const std::string thread = session->stem();
  const std::string& home = store.paths().agent_dir;
  ASSIGN_OR_RETURN(auto wanted, start_relocation(*session, move));
  ASSIGN_OR_RETURN(const auto now, store.thread_now(thread));
  if (now.kind == RolloutKind::none || (now.active.name.is_compressed && now.kind != RolloutKind::paginated)) {
    return Error{Errc::read_only,
                 "the thread's file is an old one that is compressed, or does not begin with a session_meta record; "
                 "resume the thread once in Codex"};
  }
  ASSIGN_OR_RETURN(const bool is_base, is_a_base(store, thread, now.active.name.segment));
  SegmentOpener opener(home, SegmentOpener::Use::lasting);
  ASSIGN_OR_RETURN(const auto log, opener.open(now.active));
  ASSIGN_OR_RETURN(const std::uint64_t size, log->size());
  ASSIGN_OR_RETURN(const auto start, log->read(0, std::min(size, kLongestHead)));
  const std::string folder = home + "/" + now.active.folder;
  const std::string line = start.substr(0, start.find('\n'));
  const std::string payload = moved_payload(std::string(skim::member(line, "payload")), move, wanted.cwd_after);
  const auto database = known_database(home);
  if (is_base || now.active.name.is_compressed) {
    ASSIGN_OR_RETURN(const auto path, path_in_row(store, thread));
    ASSIGN_OR_RETURN(auto next, next_segment(now.active, *log, payload));
    next.folder = folder;
    wanted.rows.push_back({*database, "threads", "id", thread, "rollout_path", path, folder + "/" + next.file});
    wanted.edits.push_back(std::move(next));
  } else {
    wanted.edits.push_back(edit_of(0, line, skim::set_member(line, "payload", payload), folder));
    wanted.edits.back().file = now.active.file;
  }
  if (database && now.row.is_known) {
    wanted.rows.push_back({*database, "threads", "id", thread, "cwd", wanted.cwd_before, wanted.cwd_after});
  }
  return wanted;
}

/// A thread without a row is resumed too; only Codex's list lacks it. So what fails after the file has its name is
/// told, and the file stays.
Result<CreateResult> Writer::make_thread(const Conversation& conversation, const std::string& agent, const Fill& fill) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  const auto& store = dynamic_cast<const ThreadStore&>(*catalog().stores().at(number));
  NewThread thread;
  thread.time_ms = now_ms();
  ASSIGN_OR_RETURN(thread.id, new_uuid_of_time(thread.time_ms));
  thread.model_provider = model_provider(store.paths().agent_dir);
  thread.cwd = conversation.cwd;
  thread.first_prompt = first_prompt(conversation);
  thread.name = one_line_title(conversation.title);
  NewRecords records(thread.id, {thread.id, true, 0});
  RETURN_IF_ERROR(records.add_record(
      "session_meta", thread_meta(thread.id, thread.cwd, thread.model_provider, thread.time_ms), thread.time_ms));
  RETURN_IF_ERROR(fill(records));
  RETURN_IF_ERROR(records.finish());
  ASSIGN_OR_RETURN(const auto made, write_segment(store, thread.id, "", thread.time_ms, conversation.permissions,
                                                  records.lines(), syncs()));
  thread.path = made.path;
  const auto listed = add_thread(store, thread, syncs());
  auto shown = show_made({std::string(kFolders[0]), thread.id + ".jsonl", number});
  if (!made.synced) {
    return made_but_not_synced(made.synced.error(), thread.id);
  }
  if (shown && listed) {
    shown->beside = *listed;
  }
  if (!listed) {
    return Error{Errc::io, "the new thread is there, but Codex does not list it yet: " + listed.error().message +
                               "; go on with it: codex resume " + thread.id};
  }
  return shown;
}

Result<AdoptResult> Writer::adopt(const Conversation& conversation, const std::string& agent) {
  AdoptResult adopted{{}, conversation.as_text, 0};
  ASSIGN_OR_RETURN(adopted.made, make_thread(conversation, agent, [&](NewRecords& records) -> Result<void> {
                     for (const Turn& turn : conversation.turns) {
                       RETURN_IF_ERROR(records.add(turn, adopted.as_text));
                     }
                     return {};
                   }));
  return adopted;
}

Result<AdoptResult> Writer::adopt_own(const SessionPtr& session, const ForeignFork& wanted,
                                      const Conversation& conversation) {
  ASSIGN_OR_RETURN(const auto spoken, spoken_path(session, wanted.entry, wanted.reach));
  ASSIGN_OR_RETURN(const auto items, said_items(spoken));
  if (!are_accepted(items)) {
    return adopt(conversation, wanted.agent);
  }
  AdoptResult adopted;
  ASSIGN_OR_RETURN(adopted.made, make_thread(conversation, wanted.agent, [&](NewRecords& records) -> Result<void> {
                     for (const SaidItem& item : items) {
                       RETURN_IF_ERROR(records.add_own(item.json, item.time_ms));
                     }
                     return {};
                   }));
  return adopted;
}

std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place) {
  const auto* const threads = dynamic_cast<const ThreadStore*>(&store);
  const bool is_thread = place.folder == kFolders[0] && is_thread_id(place.stem());
  return threads == nullptr || !is_thread ? nullptr
                                          : std::make_unique<ThreadFiles>(*threads, std::string(place.stem()));
}

}  // namespace arborfs::codex
