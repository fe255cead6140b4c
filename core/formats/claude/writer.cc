#include "core/formats/claude/writer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/formats/claude/belongings.h"
#include "core/formats/claude/fork_files.h"
#include "core/formats/claude/format.h"
#include "core/formats/claude/last_reply.h"
#include "core/formats/claude/new_rows.h"
#include "core/formats/claude/sent_pieces.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/os/file_tree.h"
#include "core/os/temp_file.h"
#include "core/write/commit.h"
#include "core/write/conversation.h"
#include "core/write/new_file.h"
#include "core/write/transfer.h"

namespace arborfs::claude {
namespace {

using Kind = TurnPart::Kind;

std::string spelled(std::string_view text) {
  return json::stringify_string(text);
}

std::string text_block(std::string_view text) {
  return R"({"type":"text","text":)" + spelled(text) + "}";
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Unique ids of tool calls, made of characters that the model's interface accepts.
class CallIds {
 public:
  const std::string& of(const std::string& id) {
    const auto [known, is_new] = ids_.try_emplace(id);
    if (is_new) {
      std::string plain = id;
      std::replace_if(
          plain.begin(), plain.end(), [](char c) { return !is_plain(c) && c != '_' && c != '-'; }, '_');
      known->second = plain;
      for (std::size_t n = 2; !taken_.insert(known->second).second; ++n) {
        known->second = plain + "-" + std::to_string(n);
      }
    }
    return known->second;
  }

 private:
  std::map<std::string, std::string> ids_;
  std::set<std::string> taken_;
};

std::string image_block(const TurnImage& image) {
  return R"({"type":"image","source":{"type":"base64","media_type":)" + spelled(image.media_type) + R"(,"data":)" +
         spelled(image.base64) + "}}";
}

class Rows {
 public:
  Rows(const Conversation& conversation, const std::string& session, AsText& counts)
      : conversation_(conversation), frame_{session, conversation.cwd}, counts_(counts) {}

  Result<std::string> make() {
    for (const Turn& turn : conversation_.turns) {
      RETURN_IF_ERROR(turn.speaker == Turn::Speaker::user        ? add_prompt(turn)
                      : turn.speaker == Turn::Speaker::assistant ? add_reply(turn)
                                                                 : add_results(turn));
    }
    return rows_ + (conversation_.title.empty() ? "" : title_line(conversation_.title, frame_.session));
  }

 private:
  Result<void> add_row(NewRow::Kind kind, std::string message, std::int64_t time_ms) {
    ASSIGN_OR_RETURN(auto uuid, new_uuid());
    rows_ += row_line(frame_, {kind, uuid, time_ms, std::move(message)}, last_);
    last_ = std::move(uuid);
    return {};
  }

  Result<void> add_prompt(const Turn& turn) {
    const bool is_text = turn.parts.size() == 1 && turn.parts.front().kind == Kind::text;
    return add_row(NewRow::Kind::user,
                   R"({"role":"user","content":)" +
                       (is_text ? spelled(turn.parts.front().text) : "[" + blocks_of(turn) + "]") + "}",
                   turn.time_ms);
  }

  std::string blocks_of(const Turn& turn) {
    std::string blocks;
    for (const TurnPart& part : turn.parts) {
      blocks.append(blocks.empty() ? "" : ",").append(block_of(part));
    }
    return blocks;
  }

  /// Reasoning is text: the program sends it back to the model, which accepts only reasoning that it has signed.
  std::string block_of(const TurnPart& part) {
    switch (part.kind) {
      case Kind::reasoning:
        return text_block(reasoning_as_text(part.text, counts_));
      case Kind::tool_call:
        return R"({"type":"tool_use","id":)" + spelled(ids_.of(part.call_id)) + R"(,"name":)" + spelled(part.tool) +
               R"(,"input":)" + part.text + "}";
      case Kind::image:
        return image_block(part.images.front());
      default:
        return text_block(part.text);
    }
  }

  /// One row per block; all rows share the id of the message.
  Result<void> add_reply(const Turn& turn) {
    ASSIGN_OR_RETURN(const auto id, new_reply_id());
    const bool calls = std::any_of(turn.parts.begin(), turn.parts.end(),
                                   [](const TurnPart& part) { return part.kind == Kind::tool_call; });
    for (const TurnPart& part : turn.parts) {
      RETURN_IF_ERROR(
          add_row(NewRow::Kind::assistant, reply_message({id, turn.model, block_of(part), calls}), turn.time_ms));
    }
    return {};
  }

  Result<void> add_results(const Turn& turn) {
    for (const TurnPart& result : turn.parts) {
      std::string content = spelled(result.text);
      if (!result.images.empty()) {
        content = is_blank(result.text) ? "" : text_block(result.text);
        for (const TurnImage& image : result.images) {
          content.append(content.empty() ? "" : ",").append(image_block(image));
        }
        content = "[" + content + "]";
      }
      RETURN_IF_ERROR(add_row(NewRow::Kind::user,
                              R"({"role":"user","content":[{"tool_use_id":)" + spelled(ids_.of(result.call_id)) +
                                  R"(,"type":"tool_result","content":)" + content +
                                  (result.is_error ? R"(,"is_error":true)" : "") + "}]}",
                              turn.time_ms));
    }
    return {};
  }

  const Conversation& conversation_;
  const RowFrame frame_;
  AsText& counts_;
  std::string rows_;
  std::string last_;  // the uuid of the last row
  CallIds ids_;
};

bool is_of_type(std::string_view block, std::string_view type) {
  return skim::is_string(skim::member(block, "type"), type);
}

std::string_view blocks_of(std::string_view row) {
  return skim::member(skim::member(row, "message"), "content");
}

/// The calls of a list of rows that have no result after them, and the results that have no call before them: each by
/// its number among all blocks.
class Unanswered {
 public:
  void take(std::string_view row) {
    for (skim::Cursor blocks(blocks_of(row)); blocks.next(); ++block_) {
      if (is_of_type(blocks.value(), "tool_use")) {
        open_.add(skim::text_member(blocks.value(), "id"), block_);
        found_.insert(block_);
      } else if (is_of_type(blocks.value(), "tool_result")) {
        const auto call = open_.take(skim::text_member(blocks.value(), "tool_use_id"));
        call ? static_cast<void>(found_.erase(*call)) : static_cast<void>(found_.insert(block_));
      }
    }
  }
  [[nodiscard]] bool contains(std::size_t block) const { return found_.contains(block); }

 private:
  arborfs::OpenCalls<std::size_t> open_;
  std::set<std::size_t> found_;
  std::size_t block_ = 0;
};

/// A call or a result as text that says what it was; images of a result stay.
std::string block_as_text(std::string_view block) {
  if (is_of_type(block, "tool_use")) {
    const std::string_view input = skim::member(block, "input");
    return text_block(call_as_text(skim::text_member(block, "name"), input.empty() ? "{}" : std::string(input)));
  }
  const std::string_view content = skim::member(block, "content");
  std::string text = skim::string_value(content).value_or("");
  std::string images;
  for (skim::Cursor inner(content); inner.next();) {
    if (is_of_type(inner.value(), "image")) {
      images.append(",").append(inner.value());
    } else {
      text.append(text.empty() ? "" : "\n").append(skim::text_member(inner.value(), "text"));
    }
  }
  return text_block(stray_result_as_text("", text)) + images;
}

class RowCopies {
 public:
  RowCopies(const Conversation& conversation, const std::string& session)
      : conversation_(conversation), session_(json::stringify_string(session)) {}

  Result<std::string> make(const SpokenPath& spoken) {
    ASSIGN_OR_RETURN(const auto pieces, sent_pieces(spoken.path, *spoken.log, spoken.reach));
    std::vector<Piece> rows;
    for (const Piece& piece : pieces) {
      if (rows.empty() || rows.back().row != piece.row) {
        rows.push_back(piece);
      }
    }
    for (const Piece& row : rows) {
      ASSIGN_OR_RETURN(const auto raw, read_spoken(*spoken.log, row.row, row.row_length));
      unanswered_.take(raw);
    }
    for (const Piece& row : rows) {
      ASSIGN_OR_RETURN(const auto raw, read_spoken(*spoken.log, row.row, row.row_length));
      RETURN_IF_ERROR(add(raw));
    }
    return std::move(lines_);
  }

 private:
  Result<void> add(std::string_view raw) {
    std::string uuid = skim::text_member(raw, "uuid");
    if (uuid.empty() || !uuids_.insert(uuid).second) {
      ASSIGN_OR_RETURN(uuid, new_uuid());
    }
    const std::string parent = last_.empty() ? "null" : json::stringify_string(last_);
    first_cwd_ = lines_.empty() ? skim::text_member(raw, "cwd") : first_cwd_;
    lines_ += R"({"parentUuid":)" + parent + R"(,"isSidechain":false,"uuid":)" + json::stringify_string(uuid) +
              R"(,"sessionId":)" + session_;
    for (skim::Cursor members(raw); members.next();) {
      if (!is_ours(members)) {
        lines_.append(",\"").append(members.key()).append("\":").append(value_of(members));
      }
    }
    lines_ += "}\n";
    last_ = std::move(uuid);
    return lines_.size() > kMaxConversation ? Result<void>(conversation_too_long()) : Result<void>();
  }

  static bool is_ours(const skim::Cursor& member) {
    return member.key_is("parentUuid") || member.key_is("isSidechain") || member.key_is("uuid") ||
           member.key_is("sessionId");
  }

  std::string value_of(const skim::Cursor& member) {
    if (member.key_is("message")) {
      return message_of(member.value());
    }
    const bool is_home = member.key_is("cwd") && skim::is_string(member.value(), first_cwd_);
    return is_home ? json::stringify_string(conversation_.cwd) : std::string(member.value());
  }

  /// The message with text in place of blocks that the model's interface refuses.
  std::string message_of(std::string_view message) {
    const std::string_view content = skim::member(message, "content");
    std::string blocks;
    bool is_changed = false;
    for (skim::Cursor list(content); list.next(); ++block_) {
      const bool is_refused = unanswered_.contains(block_);
      is_changed = is_changed || is_refused;
      blocks.append(blocks.empty() ? "" : ",")
          .append(is_refused ? block_as_text(list.value()) : std::string(list.value()));
    }
    if (!is_changed) {
      return std::string(message);
    }
    return skim::set_member(std::string(message), "content", "[" + blocks + "]");
  }

  const Conversation& conversation_;
  const std::string session_;  // as JSON
  Unanswered unanswered_;
  std::size_t block_ = 0;  // the next one of all rows
  std::string lines_;
  std::string last_;  // the uuid of the last row
  std::string first_cwd_;
  std::set<std::string> uuids_;
};

/// A file in the folder beside a transcript.
std::string path_beside(const arborfs::Store& store, const LogPlace& place, std::string_view name) {
  return folder_path(store.paths().sessions, place.folder) + "/" + std::string(place.stem()) + "/" + std::string(name);
}

constexpr std::uint64_t kLongestMark = 64 << 10;  // of such a file

Error mark_too_long() {
  return {Errc::too_large, "a file beside the transcript is longer than any that Claude Code writes; move it away"};
}

Result<std::string> read_mark(const File& file, const FileStat& seen) {
  return seen.size > kLongestMark ? Result<std::string>(mark_too_long()) : file.read(0, seen.size);
}

/// Where it stays, the program takes the title from it once that in the transcript is far from its end. Returns what
/// that changed.
Result<std::vector<Effect>> remove_title_file(const arborfs::Store& store, const LogPlace& place) {
  const std::string name(kTitleFile);
  ASSIGN_OR_RETURN(const auto project, store.folder(place));
  const auto beside = project.open_in(std::string(place.stem()));
  FileStat was;
  const auto file = beside ? File::open_in(*beside, name, &was) : Result<File>(beside.error());
  if (!file) {
    return std::vector<Effect>();
  }
  ASSIGN_OR_RETURN(const auto text, read_mark(*file, was));
  RETURN_IF_ERROR(store.disk().remove(*beside, name));
  return std::vector<Effect>{effect_of(removed_file(path_beside(store, place, name), text, was))};
}

/// Fails as remove_title_file() would fail for the file's size, unless there is no title to clear.
Result<void> check_cleared(Session& session) {
  RETURN_IF_ERROR(session.refresh(Depth::head));
  const auto file = Dir::stat_root(path_beside(session.store(), session.place(), kTitleFile));
  const bool is_too_long = file && file->size > kLongestMark && !session.head().header.title.empty();
  return is_too_long ? Result<void>(mark_too_long()) : Result<void>();
}

Result<Dir> folder_beside(const Session& session) {
  ASSIGN_OR_RETURN(const auto project, session.store().folder(session.place()));
  return project.open_in(std::string(session.place().stem()));
}

/// As texts of the program name the folder of long outputs, behind the path of its own folder.
std::string results_of(const LogPlace& place) {
  const std::string path = "projects/" + place.folder + "/" + std::string(place.stem()) + "/tool-results/";
  const std::string spelled = json::stringify_string(path);
  return spelled.substr(1, spelled.size() - 2);
}

std::string replaced(std::string text, std::string_view old, std::string_view fresh) {
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + fresh.size())) {
    text.replace(at, old.size(), fresh);
  }
  return text;
}

/// Those that may have had the logs of a session that was removed, and of its sub-agents.
std::set<LogFolder> folders_of(const Catalog& catalog, const SessionPtr& session) {
  const LogPlace place = session->place();
  std::set<LogFolder> folders{place.in()};
  const std::string below = place.folder + "/" + std::string(place.stem()) + "/";
  for (const auto& [id, other] : catalog.view()->by_id) {
    const LogFolder folder = other->place().in();
    if (folder.store == place.store && folder.name.starts_with(below)) {
      folders.insert(folder);
    }
  }
  return folders;
}

}  // namespace

void Writer::take_back_parts() {
  changes_.take_back_parts("claude");
  for (const auto& store : catalog().stores()) {
    const auto projects = store->format().agent == "claude" ? Dir::open_below_root(store->paths().agent_dir, "projects")
                                                            : Result<Dir>(Errc::not_found, "");
    const auto names = projects ? projects->list() : Result<std::vector<DirEntry>>(projects.error());
    if (const auto own = names ? Dir::open_root(store->paths().agent_dir) : Result<Dir>(names.error())) {
      remove_leftovers(store->disk(), *own);  // of a restore from another file system
    }
    for (const DirEntry& name : names ? *names : std::vector<DirEntry>()) {
      if (const auto folder = projects->open_in(name.name)) {
        remove_leftovers(store->disk(), *folder);
      }
    }
  }
}

Result<AppendResult> Writer::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(const auto rows, new_rows(text));
  if (!rows.force) {
    ASSIGN_OR_RETURN(auto open, calls_open_at(session, text.at));
    RETURN_IF_ERROR(check_pairs(std::move(open), rows.rows));
  }
  AppendResult result;
  Command command;
  command.verb = "append";
  command.policy = live_policy(rows.force);
  command.bytes = text.text.size();
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    ASSIGN_OR_RETURN(result, plan.add(rows, text.at));
    return {};
  });
  RETURN_IF_ERROR(changes_.make(session, std::move(command)));
  return result;
}

Result<void> Writer::check_json(const SessionPtr& session, std::string_view text) {
  ASSIGN_OR_RETURN(const auto rows, new_rows({std::string(text), true, ""}));
  return check(session, rows.force);
}

Result<void> Writer::check_branch(const SessionPtr& session, const std::string& target) {
  RETURN_IF_ERROR(check(session, false));
  ASSIGN_OR_RETURN(const auto guard, session->read_index());
  RETURN_IF_ERROR(find_place(guard.index(), target));
  return {};
}

Result<MovedLeaf> Writer::branch(const SessionPtr& session, const std::string& target, const std::string& summary,
                                 bool force, bool /*pin*/) {
  RETURN_IF_ERROR(check(session, force));
  if (!summary.empty()) {
    return Error{Errc::not_permitted,
                 "sessions of Claude Code have no place for a summary of a branch; move the leaf without one, then "
                 "append {\"note\":\"...\"}"};
  }
  ASSIGN_OR_RETURN(const auto open, calls_open_at(session, target));
  if (!open.empty() && !force) {
    return Error{
        Errc::invalid_argument,
        "the branch would end in a tool call without its result, which models reject; choose another entry, or "
        "force it"};
  }
  MovedLeaf moved;
  Command command;
  command.verb = "branch";
  command.policy = live_policy(force);
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    RETURN_IF_ERROR(plan.move(target));
    moved.leaf = plan.leaf.empty() ? "root" : plan.leaf;
    return {};
  });
  RETURN_IF_ERROR(changes_.make(session, std::move(command)));
  return moved;
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view title, bool force,
                                      std::string_view source) {
  const bool clears = json::is_valid_utf8(title) && one_line_title(title).empty();
  ASSIGN_OR_RETURN(const std::string wanted, clears ? Result<std::string>(std::string()) : checked_title(title));
  RETURN_IF_ERROR(check_writable(session->format()));
  if (clears) {
    RETURN_IF_ERROR(check_cleared(*session));
  }
  std::string in_force;
  Command command;
  command.verb = "title";
  command.policy = live_policy(force);
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    const std::string& present = plan.index->header().title;
    in_force = title_in_force(present, wanted, source);
    if (in_force == present) {
      return {};
    }
    plan.set_title(wanted);
    if (clears) {
      plan.last_step = [&]() -> Result<void> {
        ASSIGN_OR_RETURN(auto removed, remove_title_file(session->store(), session->place()));
        std::move(removed.begin(), removed.end(), std::back_inserter(plan.effects));
        return {};
      };
    }
    return {};
  });
  RETURN_IF_ERROR(changes_.make(session, std::move(command)));
  return in_force;
}

Result<Notes::Tags> Writer::change_tags(const SessionPtr& session, const Notes::TagChange& change) {
  RETURN_IF_ERROR(session->refresh(Depth::head));
  const std::string own = session->tag();
  const Notes::Tags wanted = Notes::changed(tags_of(*session, *session->noted()), change);
  const auto is_no_tag = [](const std::string& tag) { return !check_tag(tag); };
  const bool stays = std::find(wanted.begin(), wanted.end(), own) != wanted.end() || (!own.empty() && is_no_tag(own));
  const std::string next = stays ? own : wanted.empty() ? "" : wanted.front();
  if (next == own || wanted.size() > Notes::kMostTags || std::any_of(wanted.begin(), wanted.end(), is_no_tag)) {
    return arborfs::Writer::change_tags(session, change);
  }
  std::optional<Notes::Tags> tags;
  Command command;
  command.verb = "tags";
  command.is_alone = true;
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    if (plan.index->header().tag != own) {
      return {Errc::stale, "another program tagged the session at the same moment; try again"};
    }
    plan.set_tag(next);
    plan.last_step = [&]() -> Result<void> {
      auto noted = note_tags(session, change, plan.effects);
      if (!noted) {
        const std::string shown = next.empty() ? "no tag" : "the tag '" + next + "'";
        return {noted.error().code, noted.error().message + "; Claude Code shows " + shown + " already"};
      }
      tags = *std::move(noted);
      return {};
    };
    return {};
  });
  const auto done = changes_.make(session, std::move(command));
  if (!done && own.empty() && !tags) {
    write_log(LogLevel::info, "the tag is only noted, not shown by Claude Code: " + done.error().message);
    return arborfs::Writer::change_tags(session, change);
  }
  return done ? Result<Notes::Tags>(*std::move(tags)) : done.error();
}

/// As the program's library does (claude/FORMAT.md I7).
Result<void> Writer::set_mark(const SessionPtr& session, Mark mark, bool is_set, bool force) {
  if (mark != Mark::archived) {
    return arborfs::Writer::set_mark(session, mark, is_set, force);
  }
  const arborfs::Store& store = session->store();
  const LogPlace place = session->place();
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(store.stat(place));
  if (is_marked(store, place, mark) == is_set) {
    return {};
  }
  ASSIGN_OR_RETURN(const auto beside, make_folders(store.disk(), folder_path(store.paths().sessions, place.folder),
                                                   {std::string(place.stem())}, 0700, syncs()));
  const std::string text =
      json::Text::object().add("archived", is_set).add("at", json::iso_time(now_ms())).add("by", "arborfs").str();
  FileStat was;
  const auto old = File::open_in(beside, std::string(kArchiveFile), &was);
  const auto before = old ? read_mark(*old, was) : Result<std::string>(old.error());
  RETURN_IF_ERROR(before || before.error().code == Errc::not_found ? Result<void>() : Result<void>(before.error()));
  RETURN_IF_ERROR(write_whole_file(store.disk(), beside, std::string(kArchiveFile),
                                   old ? was.mode & kAnyPermissions : 0600, text, Disk::Existing::replace, syncs()));
  const std::string path = path_beside(store, place, kArchiveFile);
  note_effects(*session, is_set ? "archive" : "unarchive",
               {effect_of(before ? replaced_in(path, *before, text, was) : made_file(path, text))});
  session->publish_touched();
  return {};
}

/// The transcript is locked meanwhile, so that no other process of arborfs writes to it.
Result<void> Writer::remove(const SessionPtr& session, bool force) {
  session->forget_look();
  RETURN_IF_ERROR(session->refresh(Depth::head));
  RETURN_IF_ERROR(check_remove(session, force));
  const arborfs::Store& store = session->store();
  const LogPlace place = session->place();
  ASSIGN_OR_RETURN(const auto held, lock_transcript(store, place, Editor::Wait::yes));
  auto done = move_to_trash(session, belongings_of(store, place));
  catalog().rescan_folders(folders_of(catalog(), session));
  return done;
}

/// The program looks in the folder of a project, and does not ask where the session began (I6). The last row tells
/// readers.
Result<Relocation> Writer::describe_relocation(const SessionPtr& session, const FolderMove& move) {
  session->forget_look();
  RETURN_IF_ERROR(session->refresh(Depth::head));
  RETURN_IF_ERROR(check_writable(session->format()));
  const arborfs::Store& store = session->store();
  const LogPlace from = session->place();
  ASSIGN_OR_RETURN(auto wanted, start_relocation(*session, move));
  wanted.to.folder = project_folder_of(wanted.cwd_after);
  ASSIGN_OR_RETURN(const auto folder, store.folder(from));
  if (wanted.to.folder != from.folder) {
    ASSIGN_OR_RETURN(wanted.files, project_files_of(store, from));
    const auto there = store.folder(wanted.to);
    if (folder.open_in(kMemory) && !(there && there->stat(kMemory))) {
      wanted.files.insert(wanted.files.begin(), Belonging{"", kMemory});
    }
  }
  FileStat end;
  ASSIGN_OR_RETURN(const auto log, File::open_in(folder, from.file, &end));
  ASSIGN_OR_RETURN(const auto last, log.read(end.size - std::min<std::uint64_t>(end.size, 1), 1));
  wanted.edits.push_back({"", from.file, end.size, "",
                          (last.empty() || last == "\n" ? "" : "\n") + relocated_line(wanted.cwd_after, from.stem())});
  return wanted;
}

Result<AdoptResult> Writer::adopt(const Conversation& conversation, const std::string& agent) {
  AdoptResult adopted{{}, conversation.as_text, 0};
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  ASSIGN_OR_RETURN(const auto rows, Rows(conversation, id, adopted.as_text).make());
  ASSIGN_OR_RETURN(adopted.made, write_transcript(agent, conversation.cwd, id, rows));
  return adopted;
}

Result<AdoptResult> Writer::adopt_own(const SessionPtr& session, const ForeignFork& wanted,
                                      const Conversation& conversation) {
  AdoptResult adopted;
  adopted.as_text.calls = conversation.as_text.calls;
  adopted.as_text.results = conversation.as_text.results;
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  ASSIGN_OR_RETURN(const auto spoken, spoken_path(session, wanted.entry, wanted.reach));
  ASSIGN_OR_RETURN(auto rows, RowCopies(conversation, id).make(spoken));
  rows += conversation.title.empty() ? "" : title_line(conversation.title, id);
  const auto beside = folder_beside(*session);
  ASSIGN_OR_RETURN(adopted.made, write_transcript(wanted.agent, conversation.cwd, id, std::move(rows),
                                                  beside ? &*beside : nullptr, session->place()));
  return adopted;
}

/// The folder is there before the transcript: without one, the program takes it for nothing, and deletes it in time.
Result<CreateResult> Writer::write_transcript(const std::string& agent, const std::string& cwd, const std::string& id,
                                              std::string rows, const Dir* beside, const LogPlace& source) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  arborfs::Store& store = *catalog().stores().at(number);
  const LogPlace place{project_folder_of(cwd), id + ".jsonl", number};
  ASSIGN_OR_RETURN(const auto folder,
                   make_folders(store.disk(), store.paths().agent_dir, {"projects", place.folder}, 0700, syncs()));
  std::vector<PathBeside> named;
  if (beside != nullptr) {
    ASSIGN_OR_RETURN(named, named_beside(*beside, rows));
  }
  if (!named.empty()) {
    ASSIGN_OR_RETURN(const auto copy, TempFolder::create(store.disk(), folder, {}, syncs()));
    RETURN_IF_ERROR(copy_beside(store.disk(), *beside, named, copy->dir()));
    RETURN_IF_ERROR(copy->publish(id));
    RETURN_IF_ERROR(copy->sync_name());
    rows = replaced(std::move(rows), results_of(source), results_of(place));
  }
  const auto written = write_whole_file(store.disk(), folder, place.file, 0600, rows, Disk::Existing::keep, syncs());
  if (!written && !folder.stat(place.file)) {
    static_cast<void>(named.empty() ? Result<void>() : remove_tree(store.disk(), folder, id));
    return written.error();
  }
  auto made = show_made(place);
  return written ? std::move(made) : Result<CreateResult>(made_but_not_synced(written.error(), id));
}

}  // namespace arborfs::claude
