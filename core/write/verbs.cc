#include "core/write/verbs.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/utf8.h"
#include "core/write/command_text.h"
#include "core/write/resolve_target.h"

namespace arborfs {

namespace {

/// The words of usage texts, each with its line feed. For omp; other formats have their own texts (Format::usages).
constexpr std::string_view kAppendUsage =
    "Write to this file to append to the session:\n"
    "  text                                one user message, from open to close\n"
    "  {\"role\":\"toolResult\",...}           any message, as JSON\n"
    "  {\"type\":\"custom\",...}               any entry, as JSON\n"
    "Several JSON objects, one per line and in one write, are appended together or not at all.\n"
    "Two members are options of the command and do not reach the log:\n"
    "  \"ifLeaf\":\"id\"                       fail with ESTALE unless this entry is the leaf\n"
    "  \"force\":true                        write even if an agent may have the session open\n"
    "arborfs sets id, parentId and timestamp of an entry; a message keeps its own timestamp.\n"
    "A text of more than 500,000 characters is shortened, as omp does.\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}. After a failure, lastError in "
    "status.json\n"
    "has the reason; for incomplete JSON it is only there, because shells ignore the result of close.\n";
constexpr std::string_view kBranchUsage =
    "Write an entry to this file to move the leaf to it: an id, a prefix of it of at least four characters, #42, the\n"
    "name of its file, a label, last-user or last-assistant, the same with ^ for the entry before it, or root.\n"
    "Further lines are a summary of the abandoned branch.\n"
    "As JSON: {\"target\":\"a1b2c3d4\",\"summary\":\"...\",\"pin\":true,\"force\":true}. Without a summary an agent "
    "continues\n"
    "there only after the next append; with \"pin\" an entry is written, so that it continues there at once.\n";
constexpr std::string_view kLabelUsage =
    "Write an entry and a label to this file to label the entry, or an entry alone to clear its label.\n"
    "Several lines in one write take effect together or not at all. A new label replaces the old one.\n"
    "As JSON: {\"entry\":\"a1b2c3d4\",\"label\":\"...\",\"force\":true}. In labels/, ln -s, mv and rm do the same.\n";
/// Where the format has no labels.
constexpr std::string_view kNotedLabelUsage =
    "Write an entry and a label to this file to label the entry, or an entry alone to clear its label.\n"
    "Several lines in one write take effect together or not at all. A new label replaces the old one.\n"
    "As JSON: {\"entry\":\"a1b2c3d4\",\"label\":\"...\"}. In labels/, ln -s, mv and rm do the same. The agent does not "
    "see\n"
    "the labels: arborfs keeps them beside its files, and takes them while the agent runs, too.\n";
constexpr std::string_view kForkUsage =
    "Write an empty line to this file to copy the session to a new log, or an entry to copy the path to it.\n"
    "As JSON: {\"entry\":\"a1b2c3d4\",\"title\":\"...\",\"force\":true}. Without a title the fork gets the session's "
    "title\n"
    "followed by (fork). After a write, the same descriptor returns {\"session\":...,\"path\":...}.\n"
    "{\"agent\":\"pi\",\"entry\":\"a1b2c3d4\"} writes what the model had at the entry, or at the leaf, as a session "
    "of\n"
    "another agent; with \"full\":true the whole path, also what a compaction replaced. Parts that the agent cannot\n"
    "represent become text, and the answer counts them.\n"
    "\"without\":[\"a1b2c3d4\"] leaves entries out, with the calls or results that belong to them, and\n"
    "\"withoutOutput\":[...] the outputs of their tools.\n";
/// Where sessions are only copied to other agents.
constexpr std::string_view kForeignForkUsage =
    "Write {\"agent\":\"pi\"} to this file to write what the model had at the leaf as a session of another agent, or\n"
    "{\"agent\":\"pi\",\"entry\":\"...\",\"title\":\"...\"} for what it had at an entry; with \"full\":true the whole "
    "path. Without an agent, or with an empty line, it stays with the session's own.\n"
    "Parts that the agent cannot represent become text, and the answer counts them. After a write, the same\n"
    "descriptor returns "
    "{\"session\":...,\"path\":...,\"agent\":...,\"asText\":...,\"mended\":...,\"leftOut\":...}.\n"
    "\"without\":[\"id\"] leaves entries out, with the calls or results that belong to them, and "
    "\"withoutOutput\":[...]\n"
    "the outputs of their tools.\n";
constexpr std::string_view kNewUsage =
    "Write the absolute path of a working directory to this file to create a session.\n"
    "As JSON: "
    "{\"agent\":...,\"cwd\":...,\"title\":...,\"parentSession\":...,\"model\":\"provider/model\",\"provider\":...}.\n"
    "Without an agent, the first one is used whose sessions arborfs creates. A provider is only for Opal.\n"
    "After a write, the same descriptor returns {\"session\":...,\"path\":...}.\n";

constexpr std::string_view kReplaceUsage =
    "Write {\"first\":\"id\",\"last\":\"id\",\"messages\":[{...},...]} to this file to replace a run of messages with "
    "others.\n"
    "The entries after the run then follow the new messages; without new messages the run is removed from the path.\n";
constexpr std::string_view kSummaryUsage =
    "Write an empty line to this file to append a message that summarises a run for later sessions, or write your own\n"
    "text for it. Lines that arrive in one write are one message, as with cat FILE > summary; the printf of a shell\n"
    "writes each line by itself.\n"
    "After a write, the same descriptor returns {\"id\":...,\"parentId\":...}.\n";
constexpr std::string_view kCheckpointUsage =
    "Write a name, and files below the session's working directory, on one line to save them in a checkpoint.\n"
    "Without files, those of the last checkpoint are saved; without a name, the current time is used.\n"
    "As JSON: {\"name\":\"...\",\"files\":[\"with a blank.txt\",...]}. After a write, the same descriptor returns\n"
    "{\"checkpoint\":...,\"files\":...,\"absent\":...}.\n";
constexpr std::string_view kRewindUsage =
    "Write the id or the name of a checkpoint to this file to restore its files to the working directory. Overwritten\n"
    "files are first saved in a checkpoint. As JSON: {\"checkpoint\":\"...\",\"dryRun\":true} only lists the changes.\n"
    "After a write, the same descriptor returns the list.\n";

/// The most by which another agent's record of an entry is longer than the text in it.
constexpr std::uint64_t kRecord = 1 << 10;
constexpr std::uint64_t kNewSession = 4 << 10;

/// "" unless the text is a JSON object with this member.
std::string member_of(std::string_view text, std::string_view key) {
  json::Document command;
  const bool is_object = JsonCommand::is_one(text) && json::parse(text, command) && command.IsObject();
  return is_object ? json::text_member(command, key) : std::string();
}

/// For a command that writes nothing to the disk of the session.
std::vector<RoomAt> room_elsewhere(Writer& /*writer*/, const Subject& /*subject*/, std::string_view /*text*/) {
  return {};
}

std::vector<RoomAt> room_of_fork(Writer& writer, const Subject& subject, std::string_view text) {
  const Session& session = *subject.session;
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  if (const auto guard = subject.session->refresh(Depth::index) ? session.read() : std::nullopt) {
    bytes = guard->stat().size;
    entries = guard->index().size();
  }
  const std::string agent = member_of(text, "agent");
  const bool is_own = agent.empty() || agent == session.agent();
  if (!is_own || !session.format().takes("fork")) {
    return writer.room_for_new(is_own ? std::string(session.agent()) : agent, 2 * bytes + entries * kRecord, entries);
  }
  auto folder = session.store().folder(session.place());
  std::vector<RoomAt> room;
  if (folder) {
    room.push_back({*std::move(folder), RoomWanted::for_new_session(bytes + kNewSession)});
  }
  return room;
}

std::vector<RoomAt> room_of_new(Writer& writer, const Subject& /*subject*/, std::string_view text) {
  return writer.room_for_new(member_of(text, "agent"), kNewSession + text.size(), 0);
}

std::vector<RoomAt> room_of_checkpoint(Writer& writer, const Subject& subject, std::string_view text) {
  const auto wanted = checkpoint_of_text(text);
  return wanted ? writer.room_for_checkpoint(subject.session, *wanted) : std::vector<RoomAt>();
}

std::vector<RoomAt> room_of_rewind(Writer& writer, const Subject& subject, std::string_view text) {
  const auto wanted = rewind_of_text(text);
  return wanted && !wanted->dry_run ? writer.room_for_rewind(subject.session, wanted->checkpoint)
                                    : std::vector<RoomAt>();
}

constexpr std::size_t kMaxLine = 64 * 1024;

std::string line_of(const AppendResult& written) {
  const auto id_or_null = [](const std::string& id) { return id.empty() ? "null" : json::stringify_string(id); };
  return json::Text::object()
             .add_json("id", id_or_null(written.id))
             .add_json("parentId", id_or_null(written.parent_id))
             .str() +
         "\n";
}

std::string line_of(const CreateResult& made) {
  return json::Text::object().add("session", made.id).add("path", made.path).str() + "\n";
}

Result<void> check_line(std::string_view text) {
  if (text.size() > kMaxLine) {
    return Error{Errc::too_large, "such a command may have at most 64 KiB"};
  }
  if (!json::is_valid_utf8(text)) {
    return Error{Errc::not_utf8, "the command is not UTF-8"};
  }
  return {};
}

Result<Answer> run_append(Writer& writer, const Subject& subject, std::string text, bool is_json) {
  const std::string prompt = writer.settings().history && !is_json ? text : std::string();
  ASSIGN_OR_RETURN(const auto written, writer.append_text(subject.session, {std::move(text), is_json, subject.at}));
  if (!is_blank(prompt)) {
    writer.remember_prompt(subject.session, prompt);
  }
  return Answer{line_of(written), nullptr};
}

Result<Answer> answer_of(const SessionPtr& session, Result<MovedLeaf> moved) {
  if (!moved) {
    return moved.error();
  }
  json::Text line = json::Text::object();
  line.add("leaf", moved->leaf);
  for (const auto& [key, value] : {std::pair("summary", moved->summary_id), std::pair("pin", moved->pin_id),
                                   std::pair("agentLeaf", moved->agent_leaf)}) {
    if (!value.empty()) {
      line.add(key, value);
    }
  }
  Answer answer{line.str() + "\n", nullptr};
  if (moved->move) {
    answer.take_back = [session, move = *moved->move](Writer& writer) { return writer.move_back(session, move); };
  }
  return answer;
}

/// A read of `branch` returns the leaf's id, and an editor saves it next to the entry that its user has typed. Fails
/// with invalid_argument if a line of a summary is nothing but an entry.
Result<void> refuse_entries(const Subject& subject, std::string_view summary) {
  if (is_blank(summary)) {
    return {};
  }
  RETURN_IF_ERROR(subject.session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, subject.session->read_index());
  while (!summary.empty()) {
    const std::string_view line = stripped(take_line(summary));
    const bool is_place =
        line.size() > 1 && line.front() == '#' && line.find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (is_place || line == "root" || (!line.empty() && guard.index().find(line) != kNoEntry)) {
      return {Errc::invalid_argument,
              "a line of the summary is only the name of an entry; write one entry on the first "
              "line, and a summary in words after it"};
    }
  }
  return {};
}

/// The entry that a user names, as the writers know it: without the words that mean an entry only now, such as
/// last-user^. Other names stay. Errors: those of find_by_word.
Result<std::string> target_of(const Subject& subject, std::string_view spelled) {
  RETURN_IF_ERROR(subject.session->refresh(Depth::index));
  ASSIGN_OR_RETURN(const auto guard, subject.session->read_index());
  ASSIGN_OR_RETURN(const auto meant, find_by_word(guard.index(), guard.leaf(), spelled));
  return meant ? target_name(guard.index(), *meant) : std::string(spelled);
}

Result<Answer> run_branch(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  if (!JsonCommand::is_one(text)) {
    ASSIGN_OR_RETURN(const std::string target, target_of(subject, stripped(take_line(text))));
    RETURN_IF_ERROR(refuse_entries(subject, text));
    return answer_of(subject.session, writer.branch(subject.session, target, std::string(stripped(text))));
  }
  const auto command = JsonCommand::parse(text, {"target", "leaf", "summary", "pin", "force"});
  if (!command) {
    return command.error();
  }
  if (command->has("target") && command->has("leaf")) {
    return Error{Errc::invalid_argument, "target and leaf mean the same; give only one of them"};
  }
  ASSIGN_OR_RETURN(const std::string target,
                   target_of(subject, command->text(command->has("target") ? "target" : "leaf")));
  return answer_of(subject.session, writer.branch(subject.session, target, command->text("summary"), command->force(),
                                                  command->flag("pin")));
}

/// The target is known once its line is complete.
Result<void> judge_branch(Writer& writer, const Subject& subject, const Incoming& incoming) {
  std::string_view text = incoming.text;
  if (JsonCommand::is_one(text) || text.find('\n') == std::string_view::npos) {
    return {};
  }
  ASSIGN_OR_RETURN(const std::string target, target_of(subject, stripped(take_line(text))));
  return writer.check_branch(subject.session, target);
}

/// JSON that lacks only its line feed can be checked completely.
Result<void> judge_append(Writer& writer, const Subject& subject, const Incoming& incoming) {
  if (!incoming.is_json) {
    return writer.check_text(subject.session, subject.at);
  }
  return incoming.is_whole ? writer.check_json(subject.session, incoming.text) : Result<void>();
}

Result<std::vector<LabelChange>> label_lines(const Subject& subject, std::string_view text) {
  std::vector<LabelChange> changes;
  while (!text.empty()) {
    const std::string_view line = stripped(take_line(text));
    if (line.empty()) {
      continue;
    }
    const std::size_t space = line.find_first_of(" \t");
    const std::string_view label = space == std::string_view::npos ? "" : stripped(line.substr(space));
    ASSIGN_OR_RETURN(const std::string entry, target_of(subject, line.substr(0, space)));
    changes.push_back({entry, std::string(label)});
  }
  return changes;
}

Result<Answer> run_label(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  std::vector<LabelChange> changes;
  bool force = false;
  if (JsonCommand::is_one(text)) {
    ASSIGN_OR_RETURN(const auto command, JsonCommand::parse(text, {"entry", "label", "force"}));
    ASSIGN_OR_RETURN(const std::string entry, target_of(subject, command.text("entry")));
    changes.push_back({entry, command.text("label")});
    force = command.force();
  } else {
    ASSIGN_OR_RETURN(changes, label_lines(subject, text));
  }
  if (changes.empty()) {
    return Error{Errc::invalid_argument,
                 "a label command is an entry and its label, or an entry alone to clear its label"};
  }
  ASSIGN_OR_RETURN(const auto written, writer.label(subject.session, changes, force));
  return Answer{line_of(written), nullptr};
}

Result<Answer> run_title(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  ASSIGN_OR_RETURN(const auto title, writer.set_title(subject.session, text));
  return Answer{json::Text::object().add("title", title).str() + "\n", nullptr};
}

/// As lines, all tags of the session, or further ones where the file was opened to append; as JSON, a change.
Result<Answer> run_tags(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  Notes::TagChange change;
  if (JsonCommand::is_one(text)) {
    ASSIGN_OR_RETURN(const auto command, JsonCommand::parse(text, {"add", "remove"}));
    change = {command.texts("add"), command.texts("remove")};
  } else {
    change.clears = !subject.adds;
    while (!text.empty()) {
      if (const std::string_view tag = stripped(take_line(text)); !tag.empty()) {
        change.add.emplace_back(tag);
      }
    }
  }
  ASSIGN_OR_RETURN(const auto tags, writer.change_tags(subject.session, change));
  return Answer{json::Text::object().add_json("tags", json::Text::array_of(tags).str()).str() + "\n", nullptr};
}

template <Mark kMark>
Result<Answer> run_mark(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  const std::string_view word = stripped(text);
  if (word != "true" && word != "false") {
    return Error{Errc::invalid_argument, "write true or false to " + std::string(mark_name(kMark))};
  }
  RETURN_IF_ERROR(writer.set_mark(subject.session, kMark, word == "true"));
  return Answer{json::Text::object().add(mark_name(kMark), word == "true").str() + "\n", nullptr};
}

using Counts = std::initializer_list<std::pair<std::string_view, std::size_t>>;

/// The numbers for the kinds that occurred.
std::string counts_json(const Counts& kinds) {
  json::Text text = json::Text::object();
  for (const auto& [kind, count] : kinds) {
    if (count != 0) {
      text.add(kind, std::uint64_t{count});
    }
  }
  return text.str();
}

Result<Answer> run_foreign_fork(Writer& writer, const Subject& subject, const ForeignFork& wanted) {
  ASSIGN_OR_RETURN(const auto adopted, writer.fork_to(subject.session, wanted));
  const AsText& counts = adopted.as_text;
  return Answer{
      json::Text::object()
              .add("session", adopted.made.id)
              .add("path", adopted.made.path)
              .add("agent", wanted.agent)
              .add_json("asText", counts_json({{"reasoning", counts.reasoning},
                                               {"calls", counts.calls},
                                               {"results", counts.results},
                                               {"errors", counts.errors},
                                               {"images", counts.images},
                                               {"notes", counts.notes}}))
              .add_json("mended",
                        counts_json({{"names", counts.names}, {"blanks", counts.blanks}, {"starts", counts.starts}}))
              .add_json("leftOut", std::to_string(adopted.left_out))
              .str() +
          "\n",
      nullptr};
}

Result<Answer> run_fork(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  std::string target(stripped(text));
  if (!JsonCommand::is_one(text)) {
    ASSIGN_OR_RETURN(target, target_of(subject, target));
  }
  std::string title;
  bool force = false;
  if (JsonCommand::is_one(text)) {
    ASSIGN_OR_RETURN(const auto command, JsonCommand::parse(text, {"entry", "title", "force", "agent", "cwd", "full",
                                                                   "without", "withoutOutput"}));
    ASSIGN_OR_RETURN(target, target_of(subject, command.text("entry")));
    title = command.text("title");
    force = command.force();
    std::string agent = command.text("agent");
    ContextEdit edit{command.texts("without"), command.texts("withoutOutput")};
    const bool is_own = agent.empty() || agent == subject.session->agent();
    if (!is_own || !edit.is_empty() || !subject.session->format().takes("fork")) {
      const Reach reach = command.flag("full") ? Reach::path : Reach::context;
      agent = agent.empty() ? std::string(subject.session->agent()) : std::move(agent);
      return run_foreign_fork(writer, subject, {agent, target, title, command.text("cwd"), reach, std::move(edit)});
    }
    if (!command.text("cwd").empty()) {
      return Error{Errc::invalid_argument,
                   "a fork for the same agent keeps the working directory of its session; leave out 'cwd'"};
    }
  }
  if (!subject.session->format().takes("fork")) {
    return run_foreign_fork(writer, subject,
                            {std::string(subject.session->agent()), target, title, "", Reach::context, {}});
  }
  ASSIGN_OR_RETURN(const auto made, writer.fork(subject.session, target, force, title));
  return Answer{line_of(made), nullptr};
}

Error is_no_object() {
  return {Errc::invalid_argument, "the command is not one JSON object; read this file for its usage"};
}

Result<void> judge_replace(Writer& /*writer*/, const Subject& /*subject*/, const Incoming& incoming) {
  return incoming.is_json || is_blank(incoming.text) ? Result<void>() : Result<void>(is_no_object());
}

Result<Answer> run_replace(Writer& writer, const Subject& subject, std::string text, bool /*is_json*/) {
  json::Document command;
  if (!json::is_valid_utf8(text) || !json::parse(text, command) || !command.IsObject()) {
    return is_no_object();
  }
  const auto first = json::string_member(command, "first");
  const auto last = json::string_member(command, "last");
  const auto* messages = json::member(command, "messages");
  const auto* force = json::member(command, "force");
  if (!first || messages == nullptr || !messages->IsArray()) {
    return Error{Errc::invalid_argument, "the command must have 'first', the first entry to replace, and 'messages'"};
  }
  Replacement wanted{std::string(*first), std::string(last.value_or(*first)), {}};
  for (const auto& message : messages->GetArray()) {
    wanted.messages.push_back(json::stringify(message));
  }
  ASSIGN_OR_RETURN(const auto written, writer.replace(subject.session, wanted, force != nullptr && force->IsTrue()));
  return Answer{line_of(written), nullptr};
}

Result<Answer> run_summary(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  ASSIGN_OR_RETURN(const auto written, writer.summarize(subject.session, std::string(stripped(text))));
  return Answer{line_of(written), nullptr};
}

Result<Answer> run_checkpoint(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  ASSIGN_OR_RETURN(const auto wanted, checkpoint_of_text(text));
  ASSIGN_OR_RETURN(auto line, writer.checkpoint(subject.session, wanted));
  return Answer{std::move(line), nullptr};
}

Result<Answer> run_rewind(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  ASSIGN_OR_RETURN(const auto wanted, rewind_of_text(text));
  ASSIGN_OR_RETURN(auto line, writer.rewind(subject.session, wanted.checkpoint, wanted.dry_run, wanted.force));
  return Answer{std::move(line), nullptr};
}

Result<Answer> run_new(Writer& writer, const Subject& /*subject*/, std::string_view text, bool /*is_json*/) {
  NewSession wanted;
  if (JsonCommand::is_one(text)) {
    ASSIGN_OR_RETURN(const auto command,
                     JsonCommand::parse(text, {"agent", "cwd", "title", "parentSession", "model", "provider"}));
    wanted = {command.text("cwd"),   command.text("title"), command.text("parentSession"),
              command.text("model"), command.text("agent"), command.text("provider")};
  } else {
    wanted.cwd = stripped(text);
    if (wanted.cwd.find('\n') != std::string::npos) {
      return Error{Errc::invalid_argument, "the command must be one line: the working directory of the session"};
    }
  }
  ASSIGN_OR_RETURN(const auto made, writer.create(wanted));
  return Answer{line_of(made), nullptr};
}

/// The checks that all line commands share.
template <Result<Answer> (*kRun)(Writer&, const Subject&, std::string_view, bool)>
Result<Answer> checked(Writer& writer, const Subject& subject, std::string text, bool is_json) {
  auto fits = check_line(text);
  return fits ? kRun(writer, subject, text, is_json) : Result<Answer>(fits.error());
}

constexpr std::string_view kComment = "# ";
constexpr std::string_view kInEditors =
    "In an editor, replace these lines by the new text: a command that contains one of them is refused.";

/// Calls f(line) for each line of the words of the usage text.
template <class Function>
void for_each_usage_line(const Verb& verb, const Subject& subject, const Function& f) {
  for (std::string_view left = subject.session ? verb.usage_for(subject.session->format()) : verb.usage;
       !left.empty();) {
    f(take_line(left));
  }
  if (!verb.usage.empty()) {
    f(kInEditors);
  }
}

}  // namespace

const std::vector<Verb>& all_verbs() {
  static const std::vector<Verb> verbs = {
      {"append", Framing::messages, true, kAppendUsage, run_append, judge_append},
      {"branch", Framing::target_and_text, true, kBranchUsage, checked<run_branch>, judge_branch},
      {"label", Framing::lines, true, kLabelUsage, checked<run_label>, nullptr, VerbFile::of_session, true,
       kNotedLabelUsage},
      {"fork", Framing::lines, false, kForkUsage, checked<run_fork>, nullptr, VerbFile::of_session, true,
       kForeignForkUsage, room_of_fork},
      {"new", Framing::lines, false, kNewUsage, checked<run_new>, nullptr, VerbFile::of_mount, false, "", room_of_new},
      {"title", Framing::lines, true, "", checked<run_title>, nullptr, VerbFile::of_view, true},
      {"tags", Framing::lines, false, "", checked<run_tags>, nullptr, VerbFile::of_view, true, "", room_elsewhere},
      {mark_name(Mark::archived), Framing::lines, false, "", checked<run_mark<Mark::archived>>, nullptr,
       VerbFile::of_view, false, "", room_elsewhere},
      {mark_name(Mark::pinned), Framing::lines, false, "", checked<run_mark<Mark::pinned>>, nullptr, VerbFile::of_view,
       false, "", room_elsewhere},
      {"replace", Framing::messages, true, kReplaceUsage, run_replace, judge_replace},
      {"summary", Framing::lines, true, kSummaryUsage, checked<run_summary>},
      {"checkpoint", Framing::lines, false, kCheckpointUsage, checked<run_checkpoint>, nullptr, VerbFile::of_session,
       false, "", room_of_checkpoint},
      {"rewind", Framing::lines, false, kRewindUsage, checked<run_rewind>, nullptr, VerbFile::of_session, false, "",
       room_of_rewind},
  };
  return verbs;
}

const Verb* find_verb(std::string_view name) {
  const auto& verbs = all_verbs();
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) { return verb.name == name; });
  return found == verbs.end() ? nullptr : &*found;
}

Result<Answer> run_verb(const Verb& verb, Writer& writer, const Subject& subject, std::string text, bool is_json) {
  auto may = is_json ? Result<void>() : refuse_usage(verb, subject, text);
  return may ? verb.run(writer, subject, std::move(text), is_json) : Result<Answer>(may.error());
}

std::string_view Verb::usage_for(const Format& format) const {
  for (const OwnUsage& own : format.usages) {
    if (own.verb == name) {
      return own.text;
    }
  }
  return is_for_all && !format.takes(name) ? usage_for_others : usage;
}

std::string usage_text(const Verb& verb, const Subject& subject) {
  std::string text;
  for_each_usage_line(verb, subject, [&](std::string_view line) { text.append(kComment).append(line) += '\n'; });
  return text;
}

Result<void> refuse_usage(const Verb& verb, const Subject& subject, std::string_view text) {
  for (std::size_t at = text.find(kComment); at != std::string_view::npos; at = text.find(kComment, at + 1)) {
    const std::string_view rest = text.substr(at + kComment.size());
    bool is_usage = false;
    for_each_usage_line(verb, subject, [&](std::string_view line) { is_usage = is_usage || rest.starts_with(line); });
    if (is_usage) {
      return {Errc::invalid_argument, "the text contains a line of the usage text of " + std::string(verb.name) +
                                          ", which an editor reads from this file; write only the new text"};
    }
  }
  return {};
}

}  // namespace arborfs
