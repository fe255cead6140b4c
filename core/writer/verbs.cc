#include "core/writer/verbs.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "core/base/clock.h"
#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/utf8.h"
#include "core/writer/command_text.h"
#include "core/writer/verb_room.h"
#include "core/writer/verb_usage.h"

namespace arborfs {

namespace {

constexpr std::size_t kMaxLine = 64 * 1024;

/// Builds one JSON line, members in the order of the calls.
class ResultLine {
 public:
  ResultLine& add(std::string_view key, std::string_view value) {
    json::stringify_string(key, begin());
    text_ += ":";
    json::stringify_string(value, text_);
    return *this;
  }
  ResultLine& add_or_null(std::string_view key, std::string_view value) {
    if (!value.empty()) {
      return add(key, value);
    }
    json::stringify_string(key, begin());
    text_ += ":null";
    return *this;
  }
  ResultLine& add_json(std::string_view key, std::string_view value) {
    json::stringify_string(key, begin());
    text_.append(":").append(value);
    return *this;
  }
  [[nodiscard]] std::string line() const { return text_ + "}\n"; }

 private:
  std::string& begin() { return text_ += text_.size() > 1 ? "," : ""; }
  std::string text_ = "{";
};

std::string line_of(const AppendResult& written) {
  return ResultLine().add_or_null("id", written.id).add_or_null("parentId", written.parent_id).line();
}

std::string line_of(const CreateResult& made) {
  return ResultLine().add("session", made.id).add("path", made.path).line();
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
  ResultLine line;
  line.add("leaf", moved->leaf);
  for (const auto& [key, value] : {std::pair("summary", moved->summary_id), std::pair("pin", moved->pin_id),
                                   std::pair("agentLeaf", moved->agent_leaf)}) {
    if (!value.empty()) {
      line.add(key, value);
    }
  }
  Answer answer{line.line(), nullptr};
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

Result<Answer> run_branch(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  if (!JsonCommand::is_one(text)) {
    const std::string target(stripped(take_line(text)));
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
  const std::string target = command->text(command->has("target") ? "target" : "leaf");
  return answer_of(subject.session, writer.branch(subject.session, target, command->text("summary"), command->force(),
                                                  command->flag("pin")));
}

/// The target is known once its line is complete.
Result<void> judge_branch(Writer& writer, const Subject& subject, const Incoming& incoming) {
  std::string_view text = incoming.text;
  if (JsonCommand::is_one(text) || text.find('\n') == std::string_view::npos) {
    return {};
  }
  return writer.check_branch(subject.session, std::string(stripped(take_line(text))));
}

/// JSON that lacks only its line feed can be checked completely.
Result<void> judge_append(Writer& writer, const Subject& subject, const Incoming& incoming) {
  if (!incoming.is_json) {
    return writer.check_text(subject.session, subject.at);
  }
  return incoming.is_whole ? writer.check_json(subject.session, incoming.text) : Result<void>();
}

std::vector<LabelChange> label_lines(std::string_view text) {
  std::vector<LabelChange> changes;
  while (!text.empty()) {
    const std::string_view line = stripped(take_line(text));
    if (line.empty()) {
      continue;
    }
    const std::size_t space = line.find_first_of(" \t");
    const std::string_view label = space == std::string_view::npos ? "" : stripped(line.substr(space));
    changes.push_back({std::string(line.substr(0, space)), std::string(label)});
  }
  return changes;
}

Result<Answer> run_label(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  std::vector<LabelChange> changes;
  bool force = false;
  if (JsonCommand::is_one(text)) {
    ASSIGN_OR_RETURN(const auto command, JsonCommand::parse(text, {"entry", "label", "force"}));
    changes.push_back({command.text("entry"), command.text("label")});
    force = command.force();
  } else {
    changes = label_lines(text);
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
  return Answer{ResultLine().add("title", title).line(), nullptr};
}

using Counts = std::initializer_list<std::pair<std::string_view, std::size_t>>;

/// The numbers for the kinds that occurred.
std::string counts_json(const Counts& kinds) {
  std::string text = "{";
  for (const auto& [kind, count] : kinds) {
    if (count != 0) {
      text += (text.size() > 1 ? "," : "") + json::stringify_string(kind) + ":" + std::to_string(count);
    }
  }
  return text + "}";
}

Result<Answer> run_foreign_fork(Writer& writer, const Subject& subject, const ForeignFork& wanted) {
  ASSIGN_OR_RETURN(const auto adopted, writer.fork_to(subject.session, wanted));
  const AsText& counts = adopted.as_text;
  return Answer{
      ResultLine()
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
          .line(),
      nullptr};
}

Result<Answer> run_fork(Writer& writer, const Subject& subject, std::string_view text, bool /*is_json*/) {
  std::string target(stripped(text));
  std::string title;
  bool force = false;
  if (JsonCommand::is_one(text)) {
    ASSIGN_OR_RETURN(const auto command, JsonCommand::parse(text, {"entry", "title", "force", "agent", "cwd", "full"}));
    target = command.text("entry");
    title = command.text("title");
    force = command.force();
    const std::string agent = command.text("agent");
    const bool is_own = agent.empty() || agent == subject.session->agent();
    if (!is_own || (!agent.empty() && !subject.session->format().takes("fork"))) {
      const Reach reach = command.flag("full") ? Reach::path : Reach::context;
      return run_foreign_fork(writer, subject, {agent, target, title, command.text("cwd"), reach});
    }
    if (!command.text("cwd").empty()) {
      return Error{Errc::invalid_argument,
                   "a fork for the same agent keeps the working directory of its session; leave out 'cwd'"};
    }
  }
  if (const Format& format = subject.session->format(); !format.takes("fork")) {
    return Error{Errc::invalid_argument, "a fork of a session of " + std::string(format.agent) +
                                             " needs the target agent: {\"agent\":\"omp\"}"};
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

}  // namespace

const std::vector<Verb>& all_verbs() {
  static const std::vector<Verb> verbs = {
      {"append", Framing::messages, true, kAppendUsage, run_append, judge_append},
      {"branch", Framing::target_and_text, true, kBranchUsage, checked<run_branch>, judge_branch},
      {"label", Framing::lines, true, kLabelUsage, checked<run_label>},
      {"fork", Framing::lines, false, kForkUsage, checked<run_fork>, nullptr, VerbFile::of_session, true,
       kForeignForkUsage, room_of_fork},
      {"new", Framing::lines, false, kNewUsage, checked<run_new>, nullptr, VerbFile::of_mount, false, "", room_of_new},
      {"title", Framing::lines, true, "", checked<run_title>, nullptr, VerbFile::of_view},
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

}  // namespace arborfs
