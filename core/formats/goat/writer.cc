#include "core/formats/goat/writer.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/formats/goat/checkpoints.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/metadata.h"
#include "core/formats/goat/new_records.h"
#include "core/formats/goat/rewind.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/utf8.h"
#include "core/os/environment.h"
#include "core/write/command_text.h"
#include "core/write/commit.h"
#include "core/write/conversation.h"
#include "core/write/new_file.h"
#include "core/write/resolve_target.h"

namespace arborfs::goat {
namespace {

/// A conversation of another agent as messages of goat (goat/FORMAT.md C1, C2). Pure but for new ids; any thread.
struct AdoptedMessages {
  std::string lines;
  std::size_t messages = 0;
  std::size_t turns = 0;  // of the user
  std::string model;      // of the last answer that names it
};

constexpr std::size_t kLongestImage = kLongestLine / 2;

std::string as_json(std::string_view text) {
  return json::stringify_string(text);
}

/// The content of a message: a text, a list of texts and images, or null.
class SaidContent {
 public:
  explicit SaidContent(AsText& counts) : counts_(counts) {}

  void add_text(const std::string& text) {
    only_text_ = text;
    parts_.push_back(R"({"type":"text","text":)" + as_json(text) + "}");
  }
  void add_image(const TurnImage& image) {
    if (image.base64.size() > kLongestImage) {
      return add_text(image_as_text(image, counts_));
    }
    has_image_ = true;
    parts_.push_back(R"({"type":"image_url","image_url":{"url":)" +
                     as_json("data:" + image.media_type + ";base64," + image.base64) + "}}");
  }
  [[nodiscard]] std::string json() const {
    if (parts_.empty()) {
      return "null";
    }
    if (parts_.size() == 1 && !has_image_) {
      return as_json(only_text_);
    }
    std::string list;
    for (const std::string& part : parts_) {
      list.append(list.empty() ? "" : ",").append(part);
    }
    return "[" + list + "]";
  }

 private:
  AsText& counts_;
  std::vector<std::string> parts_;
  std::string only_text_;
  bool has_image_ = false;
};

class MessageWriter {
 public:
  explicit MessageWriter(AsText& counts) : counts_(counts) {}

  Result<void> add(const Turn& turn) {
    if (turn.speaker == Turn::Speaker::tool) {
      for (const TurnPart& result : turn.parts) {
        RETURN_IF_ERROR(add_result(result, turn.time_ms));
      }
      return {};
    }
    SaidContent content(counts_);
    std::string calls;
    for (const TurnPart& part : turn.parts) {
      if (part.kind == TurnPart::Kind::tool_call) {
        calls += (calls.empty() ? "" : ",") + call_of(part);
      } else if (part.kind == TurnPart::Kind::image) {
        content.add_image(part.images.front());
      } else {
        const bool is_reasoning = part.kind == TurnPart::Kind::reasoning;
        content.add_text(is_reasoning ? reasoning_as_text(part.text, counts_) : part.text);
      }
    }
    const bool is_user = turn.speaker == Turn::Speaker::user;
    made_.turns += is_user ? 1 : 0;
    made_.model = turn.model.empty() ? made_.model : turn.model;
    return add_line(R"({"role":)" + as_json(is_user ? "user" : "assistant") + R"(,"content":)" + content.json() +
                        (calls.empty() ? "" : R"(,"tool_calls":[)" + calls + "]") + "}",
                    turn.time_ms);
  }

  [[nodiscard]] AdoptedMessages take() && { return std::move(made_); }

 private:
  static std::string call_of(const TurnPart& call) {
    return R"({"id":)" + as_json(call.call_id) + R"(,"type":"function","function":{"name":)" + as_json(call.tool) +
           R"(,"arguments":)" + as_json(call.text) + "}}";
  }

  Result<void> add_result(const TurnPart& result, std::int64_t time_ms) {
    SaidContent content(counts_);
    if (const std::string text = result.is_error ? failure_as_text(result.text, counts_) : result.text;
        !text.empty() || result.images.empty()) {
      content.add_text(text);
    }
    for (const TurnImage& image : result.images) {
      content.add_image(image);
    }
    return add_line(
        R"({"role":"tool","content":)" + content.json() + R"(,"tool_call_id":)" + as_json(result.call_id) + "}",
        time_ms);
  }

  Result<void> add_line(const std::string& message, std::int64_t time_ms) {
    ASSIGN_OR_RETURN(auto id, new_uuid());
    const std::string line = message_line(Shape::nested, {std::move(id), go_text(message)}, json::iso_time(time_ms));
    if (line.size() > kLongestLine) {
      return Error{Errc::too_large, "a message of more than 10 MiB would stop goat from reading the session"};
    }
    made_.lines += line;
    ++made_.messages;
    return {};
  }

  AsText& counts_;
  AdoptedMessages made_;
};

/// Adds the parts that could only be written as text to `counts`. Errors: io; too_large for a message that goat could
/// not read.
Result<AdoptedMessages> adopted_messages(const Conversation& conversation, AsText& counts) {
  MessageWriter writer(counts);
  for (const Turn& turn : conversation.turns) {
    RETURN_IF_ERROR(writer.add(turn));
  }
  return std::move(writer).take();
}

/// The number of messages that the log has now.
Result<std::string> count_messages(Session& session) {
  RETURN_IF_ERROR(session.refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  return std::to_string(guard.index().size());
}

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
  RETURN_IF_ERROR(index.header().check_valid());
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
    const std::string_view inner = go_member(line, "message");
    const std::string_view message = inner.starts_with('{') ? inner : std::string_view(line);
    answered.insert(go_string(go_member(message, "tool_call_id")).value_or(""));
    for (skim::Cursor call(go_member(message, "tool_calls")); call.next();) {
      if (!answered.contains(go_string(go_member(call.value(), "id")).value_or(""))) {
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
  const auto literal = [](const std::string& value) { return go_literal(value); };
  const std::string now = literal(timestamp_now());
  const bool is_flat = metadata_value(text, "id").empty() && !metadata_value(text, "session_id").empty();
  text = with_metadata(std::move(text), is_flat ? "session_id" : "id", literal(id));
  text = with_metadata(std::move(text), "parent_session_id", literal(copied.header.id));
  text = with_metadata(std::move(text), "created_at", now);
  text = with_metadata(std::move(text), "updated_at", now);
  if (is_part) {
    text = with_metadata(std::move(text), "message_count", std::to_string(copied.messages));
    text = with_metadata(std::move(text), "fork_point_uuid", literal(copied.last_id));
  }
  if (title) {
    text = with_metadata(std::move(text), "leaf_title",
                         literal(title->empty() ? copied.header.title + " (fork)" : *title));
  }
  return text;
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

constexpr std::size_t kShortestPrefix = 4;

/// The files of the last checkpoint that are in the working directory.
Result<std::vector<std::vector<std::string>>> files_kept_last(const Dir& session, const WorkFolder& work) {
  ASSIGN_OR_RETURN(const auto checkpoints, list_checkpoints(session));
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
Result<Checkpoint> find_checkpoint(const Dir& session, const std::string& name) {
  auto found = read_checkpoint(session, name);
  if (found || found.error().code == Errc::corrupt || name.size() < kShortestPrefix) {
    return found || found.error().code == Errc::corrupt
               ? std::move(found)
               : Result<Checkpoint>(Errc::not_found, "the session has no checkpoint with that name");
  }
  ASSIGN_OR_RETURN(auto all, list_checkpoints(session));
  std::erase_if(all, [&](const Checkpoint& one) { return !one.id.starts_with(name); });
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

Writer::Writer(Catalog& catalog, WriteSettings settings, std::chrono::milliseconds quiet)
    : arborfs::Writer(catalog, std::move(settings)),
      updates_([this](const SessionPtr& session) { update_metadata(session); }, quiet),
      message_editor_(kMessagesFile, [this](const SessionPtr& session) { updates_.add(session); }),
      transcript_editor_(kTranscriptFile, [](const SessionPtr&) {}),
      messages_(catalog, {syncs(), this->settings().write_live}, message_editor_),
      transcript_(catalog, {syncs(), this->settings().write_live}, transcript_editor_) {}

/// A title is in the metadata, which are written anew.
RoomWanted Writer::room_for(const SessionPtr& session, std::string_view verb, std::uint64_t bytes) {
  RoomWanted room = arborfs::Writer::room_for(session, verb, bytes);
  if (verb == "title") {
    const auto folder = session->store().folder(session->place());
    const auto metadata = folder ? folder->stat(kMetadataFile) : Result<FileStat>(folder.error());
    room.bytes += metadata ? metadata->size : 0;
    room.grown_file.clear();
  }
  return room;
}

Result<void> Writer::check_json(const SessionPtr& session, std::string_view text) {
  ASSIGN_OR_RETURN(const auto records, new_records({std::string(text), true, ""}, ""));
  return check(session, records.force);
}

void Writer::take_back_parts() {
  messages_.take_back_parts("goat");
  transcript_.take_back_parts("goat");
}

Result<AppendResult> Writer::append_text(const SessionPtr& session, AppendText text) {
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(const auto records, new_records(text, session->stem()));
  AppendResult result;
  Command command;
  command.verb = "append";
  command.policy = live_policy(records.force);
  command.bytes = text.text.size();
  command.change = change_of<LogPlan>([&](LogPlan& plan) -> Result<void> {
    ASSIGN_OR_RETURN(result, plan.add(records, records.is_transcript ? "" : text.at));
    return {};
  });
  RETURN_IF_ERROR((records.is_transcript ? transcript_ : messages_).make(session, std::move(command)));
  return result;
}

/// Adds no fields that the file does not have: the flat shape has neither. The messages are counted after the metadata
/// is read: another program changes it after it has appended, so no count replaces one of more messages.
void Writer::update_metadata(const SessionPtr& session) {
  const auto update = [&]() -> Result<void> {
    ASSIGN_OR_RETURN(const auto folder, session->store().folder(session->place()));
    const auto change = [&](std::string text) -> Result<std::string> {
      ASSIGN_OR_RETURN(const std::string count, count_messages(*session));
      for (const auto& [key, value] :
           {std::pair("updated_at", go_literal(timestamp_now())), std::pair("message_count", count)}) {
        text = metadata_value(text, key).empty() ? text : with_metadata(text, key, value);
      }
      return text;
    };
    RETURN_IF_ERROR(change_metadata(session->store().disk(), folder, syncs(), change));
    return read_back(*session, Depth::head);
  };
  try {
    if (const auto done = update(); !done) {
      write_log(LogLevel::warning,
                "the metadata of " + session->stem() + " is behind its messages: " + done.error().message);
    }
  } catch (const std::exception&) {
    write_log(LogLevel::warning, "the metadata of " + session->stem() + " is behind its messages");
  }
}

Result<std::string> Writer::set_title(const SessionPtr& session, std::string_view title, bool force,
                                      std::string_view source) {
  ASSIGN_OR_RETURN(const std::string wanted, checked_title(title));
  RETURN_IF_ERROR(check(session, force));
  std::string in_force;
  FileChange replaced;
  const auto change = [&](std::string text) -> Result<std::string> {
    const std::string present = go_string(metadata_value(text, "leaf_title")).value_or("");
    in_force = title_in_force(present, wanted, source);
    if (in_force == present) {
      return text;
    }
    std::string titled = with_metadata(text, "leaf_title", go_literal(wanted));
    const std::string path = session->store().paths().sessions + "/" + session->place().folder + "/" + kMetadataFile;
    const auto was = Dir::stat_root(path);
    replaced = replaced_in(path, text, titled, was ? *was : FileStat());
    return titled;
  };
  ASSIGN_OR_RETURN(const auto folder, session->store().folder(session->place()));
  RETURN_IF_ERROR(change_metadata(session->store().disk(), folder, syncs(), change));
  if (!replaced.path.empty()) {
    note_effects(*session, "title", {effect_of(replaced)});
  }
  RETURN_IF_ERROR(read_back(*session, Depth::head));
  return in_force;
}

Result<Relocation> Writer::describe_relocation(const SessionPtr& session, const FolderMove& move) {
  session->forget_look();
  RETURN_IF_ERROR(session->refresh(Depth::head));
  RETURN_IF_ERROR(check_writable(session->format()));
  ASSIGN_OR_RETURN(auto wanted, start_relocation(*session, move));
  ASSIGN_OR_RETURN(const auto folder, session->store().folder(session->place()));
  FileStat seen;
  ASSIGN_OR_RETURN(const auto text, read_metadata(folder, seen));
  wanted.edits.push_back(edit_of(0, text, with_metadata(text, "cwd", go_literal(wanted.cwd_after))));
  wanted.edits.back().file = kMetadataFile;
  return wanted;
}

Result<AdoptResult> Writer::adopt(const Conversation& conversation, const std::string& agent) {
  const std::uint8_t number = *catalog().stores().first_of(agent);
  const arborfs::Store& store = *catalog().stores().at(number);
  AdoptResult adopted{{}, conversation.as_text, 0};
  ASSIGN_OR_RETURN(const auto messages, adopted_messages(conversation, adopted.as_text));
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  const std::string now = go_literal(timestamp_now());
  std::vector<Field> fields{{"id", go_literal(id)},
                            {"cwd", go_literal(conversation.cwd)},
                            {"model", go_literal(messages.model)},
                            {"created_at", now},
                            {"updated_at", now},
                            {"message_count", std::to_string(messages.messages)},
                            {"turn_count", std::to_string(messages.turns)},
                            {"total_cost_usd", "0"}};
  if (!conversation.title.empty()) {
    fields.push_back({"leaf_title", go_literal(conversation.title)});
  }
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(store.paths().sessions));
  ASSIGN_OR_RETURN(auto folder, new_folder(store.disk(), base, conversation.permissions, syncs()));
  RETURN_IF_ERROR(folder->put(kMetadataFile, new_metadata(fields)));
  RETURN_IF_ERROR(folder->put(kMessagesFile, messages.lines));
  ASSIGN_OR_RETURN(adopted.made, put_in_place(*folder, id, number));
  return adopted;
}

/// The session is shown before a failed sync is reported.
Result<CreateResult> Writer::put_in_place(TempFolder& folder, const std::string& id, std::uint8_t store) {
  RETURN_IF_ERROR(folder.publish(id));
  const auto synced = folder.sync_name();
  auto made = show_made({id, id + ".jsonl", store});
  return synced ? made : made_but_not_synced(synced.error(), id);
}

Result<CreateResult> Writer::create(const NewSession& wanted) {
  if (!wanted.provider.empty()) {
    return Error{Errc::not_permitted, "sessions of goat store no provider"};
  }
  const auto number = catalog().stores().first_of("goat");
  if (!number) {
    return Error{Errc::not_found, "no store of goat is open"};
  }
  const arborfs::Store& store = *catalog().stores().at(*number);
  ASSIGN_OR_RETURN(const auto cwd, clean_cwd(wanted.cwd, settings().mountpoint));
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  const std::string now = go_literal(timestamp_now());
  std::vector<Field> fields{{"id", go_literal(id)}, {"cwd", go_literal(cwd)}, {"model", go_literal(wanted.model)}};
  if (!wanted.parent_session.empty()) {
    fields.push_back({"parent_session_id", go_literal(wanted.parent_session)});
  }
  for (Field field : {Field{"created_at", now},
                      {"updated_at", now},
                      {"message_count", "0"},
                      {"turn_count", "0"},
                      {"total_cost_usd", "0"}}) {
    fields.push_back(std::move(field));
  }
  if (!wanted.title.empty()) {
    fields.push_back({"leaf_title", go_literal(wanted.title)});
  }
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(store.paths().sessions));
  ASSIGN_OR_RETURN(auto folder, new_folder(store.disk(), base, kAnyPermissions, syncs()));
  RETURN_IF_ERROR(folder->put(kMetadataFile, new_metadata(fields)));
  return put_in_place(*folder, id, *number);
}

Result<CreateResult> Writer::fork(const SessionPtr& session, const std::string& target, bool force,
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
  ASSIGN_OR_RETURN(auto text, read_metadata(source, stat));
  ASSIGN_OR_RETURN(const auto id, new_uuid());
  Disk& disk = session->store().disk();
  ASSIGN_OR_RETURN(const auto base, Dir::open_root(session->store().paths().sessions));
  ASSIGN_OR_RETURN(auto folder, new_folder(disk, base, permissions_of(*session), syncs()));
  RETURN_IF_ERROR(folder->put(kMetadataFile, forked_metadata(std::move(text), id, copied, !target.empty(), title)));
  {
    ASSIGN_OR_RETURN(const auto fd, folder->create_file(kMessagesFile));
    RETURN_IF_ERROR(copy_lines(disk, copied, fd.get()));
    RETURN_IF_ERROR(syncs() ? disk.sync(fd.get()) : Result<void>());
  }
  return put_in_place(*folder, id, session->store_number());
}

Result<void> Writer::remove(const SessionPtr& session, bool force) {
  RETURN_IF_ERROR(check_remove(session, force));
  updates_.settle();
  const LogPlace place = session->place();
  Result<void> done;
  {
    ASSIGN_OR_RETURN(const auto folder, session->store().folder(place));
    ASSIGN_OR_RETURN(const auto lock, take_lock(session->store().disk(), folder, kMessagesFile));
    done = move_to_trash(session, belongings_of(session->store(), place));
  }
  catalog().rescan_folder(place.in());
  return done;
}

Result<void> Writer::under_lock(const SessionPtr& session, const std::function<Result<void>()>& work, bool force) {
  const auto folder = session->store().folder(session->place());
  if (folder && !folder->stat(kMessagesFile)) {  // which the lock would create; nothing locks the metadata (B1)
    RETURN_IF_ERROR(check_quiet(session, force));
    auto done = work();
    session->forget_look();
    static_cast<void>(session->refresh(Depth::index));
    return done;
  }
  const std::uint64_t before = session->stat().size;
  RETURN_IF_ERROR(arborfs::Writer::under_lock(session, work, force));
  if (session->stat().size != before) {
    updates_.add(session);
  }
  return {};
}

std::unique_ptr<Belongings> belongings_of(const arborfs::Store& store, const LogPlace& place) {
  if (place.folder.starts_with('.') || place.file != place.folder + ".jsonl") {
    return nullptr;
  }
  return std::make_unique<NamedBelongings>(
      store, std::string(kSessionsItself),
      [place](const Dir& /*folder*/) {
        return std::vector<Belonging>{{"", place.folder, Belonging::Role::own}};
      },
      ".lock");
}

/// The open folders of a session that its checkpoints need.
struct Writer::Places {
  Dir session;
  WorkFolder work;
  std::string cwd;
};

Result<Writer::Places> Writer::open_places(const SessionPtr& session) {
  RETURN_IF_ERROR(check_writable(session->format()));
  RETURN_IF_ERROR(session->refresh(Depth::head));
  const Header header = session->head().header;
  RETURN_IF_ERROR(header.check_valid());
  ASSIGN_OR_RETURN(auto folder, session->store().folder(session->place()));
  ASSIGN_OR_RETURN(const auto base, Dir::stat_root(session->store().paths().sessions));
  ASSIGN_OR_RETURN(auto work, WorkFolder::open(header.cwd));
  RETURN_IF_ERROR(work.keep_out(base));
  return Places{std::move(folder), std::move(work), header.cwd};
}

std::vector<RoomAt> Writer::room_for_checkpoint(const SessionPtr& session, const CheckpointWanted& wanted) {
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
std::vector<RoomAt> Writer::room_for_rewind(const SessionPtr& session, const std::string& checkpoint) {
  auto places = open_places(session);
  const auto found = places ? find_checkpoint(places->session, checkpoint) : Result<Checkpoint>(places.error());
  std::vector<RoomAt> room;
  if (!found) {
    return room;
  }
  CopiesWanted kept;
  CopiesWanted written;
  for (const PlannedFile& file : plan_rewind(places->session, *found, places->work, false)) {
    if (!file.changes()) {
      continue;
    }
    kept.add(file.present ? file.present->size : 0);
    const auto content = open_content(places->session, found->id, file.hash);
    const auto stat = content ? content->stat() : Result<FileStat>(content.error());
    written.add(stat ? stat->size : 0);
  }
  if (auto folder = places->work.folder_of({"."})) {
    room.push_back({*std::move(folder), written.room()});
  }
  room.push_back({std::move(places->session), kept.room()});
  return room;
}

Result<std::string> Writer::checkpoint(const SessionPtr& session, const CheckpointWanted& wanted, bool /*force*/) {
  ASSIGN_OR_RETURN(const auto places, open_places(session));
  std::string name = wanted.name;
  if (name.empty()) {
    ASSIGN_OR_RETURN(name, checkpoint_name_now("arborfs"));
  }
  RETURN_IF_ERROR(check_checkpoint_name(name));
  ASSIGN_OR_RETURN(auto files, wanted.files.empty() ? files_kept_last(places.session, places.work)
                                                    : files_wanted(wanted.files, places.work));
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  ASSIGN_OR_RETURN(
      const auto kept,
      take_checkpoint({session->store().disk(), places.session, places.work, places.cwd, syncs()}, name, files));
  const auto absent = std::count_if(kept.begin(), kept.end(), [](const KeptFile& file) { return !file.seen; });
  return "{\"checkpoint\":" + json::stringify_string(name) +
         ",\"files\":" + std::to_string(kept.size() - static_cast<std::size_t>(absent)) +
         ",\"absent\":" + std::to_string(absent) + "}\n";
}

Result<std::string> Writer::rewind(const SessionPtr& session, const std::string& checkpoint, bool dry_run, bool force) {
  ASSIGN_OR_RETURN(const auto places, open_places(session));
  ASSIGN_OR_RETURN(const auto found, find_checkpoint(places.session, checkpoint));
  Rewound rewound;
  if (dry_run) {
    rewound.files = plan_rewind(places.session, found, places.work, true);
  } else {
    RETURN_IF_ERROR(check_quiet(session, force));
    ASSIGN_OR_RETURN(rewound,
                     rewind_to({session->store().disk(), places.session, places.work, places.cwd, syncs()}, found));
  }
  return line_of(found.id, dry_run, rewound);
}

}  // namespace arborfs::goat
