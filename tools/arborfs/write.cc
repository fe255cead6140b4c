// The verbs that change or create a session. Each passes the command that a control file of the mount would get to the
// same table (core/write/verbs.h).

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/entry/text.h"
#include "core/formats/registry.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/text_bytes.h"
#include "core/json/utf8.h"
#include "core/write/command_text.h"
#include "core/write/resolve_target.h"
#include "core/write/verbs.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/draft.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/programs.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kResultCharacters = 4096;  // characters of a result
constexpr std::size_t kReadBytes = 1 << 16;

/// A command as a control file would get it.
struct Command {
  std::string_view verb;
  std::string text;
  bool is_json = false;  // framed as JSON values; matters only to append
  std::string at = {};
};

/// Runs the command and returns its result, one JSON line.
Result<std::string> carry_out(Command command, Catalog& catalog, const SessionPtr& session, const CommandLine& line,
                              Terminal& io) {
  if (command.verb != "append" && !json::is_valid_utf8(command.text)) {
    return Error{Errc::not_utf8, "the arguments are not UTF-8; convert them first, for example with iconv"};
  }
  const auto writer = make_writer(catalog, write_settings(line));
  writer->take_back_parts();
  const Progress progress(io, "writing");
  ASSIGN_OR_RETURN(auto answer, run_verb(*find_verb(command.verb), *writer, {session, command.at},
                                         std::move(command.text), command.is_json));
  return std::move(answer.line);
}

std::string member_of(const std::string& result, std::string_view member) {
  json::Document parsed;
  json::parse(result, parsed);
  return json::text_member(parsed, member);
}

/// Prints this member of the result, or all of it as JSON.
void print_result(const std::string& result, std::string_view shown, const CommandLine& line, Terminal& io) {
  io.out << (line.json ? terminal_safe_json(result) : visible_line(member_of(result, shown), kResultCharacters) + "\n");
}

/// Runs a command on the session of the command line and prints its result.
int change(const Command& command, std::string_view shown, const Opened& opened, const CommandLine& line,
           Terminal& io) {
  const auto result = carry_out(command, *opened.catalog, opened.of.session, line, io);
  if (!result) {
    return fail(io, result.error());
  }
  print_result(*result, shown, line, io);
  return kDone;
}

/// A verb whose text is the words of the command line.
int run_words(std::string_view verb, std::string_view shown, const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::index, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  return change({verb, line.words.value_or("")}, shown, *opened, line, io);
}

/// One line with the numbers in a member of the answer, if it has any.
void print_counts(const json::Value& answer, std::string_view member, std::string_view before, Terminal& io) {
  const json::Value* kinds = json::member(answer, member);
  std::string words;
  if (kinds != nullptr && kinds->IsObject()) {
    for (const auto& [kind, count] : json::members(*kinds)) {
      words += (words.empty() ? "" : ", ") + std::string(json::as_string(kind)) + " " + json::stringify(count);
    }
  }
  if (!words.empty()) {
    io.err << "arborfs: " << before << ": " << words << "\n";
  }
}

/// What a fork to another agent could not write as it was.
void print_changes(const std::string& result, Terminal& io) {
  json::Document answer;
  json::parse(result, answer);
  print_counts(answer, "asText", "written as text", io);
  print_counts(answer, "mended", "mended for the model", io);
}

/// The sessions that were created in this minute or the one before.
std::vector<SessionPtr> created_lately(const CatalogView& view) {
  constexpr std::int64_t kLately = 120'000;  // milliseconds
  const std::int64_t now = now_ms();
  std::vector<SessionPtr> sessions;
  for (const ShownAt* at : view.shown) {
    const auto created = json::parse_date(at->session()->head().header.timestamp);
    if (created && *created > now - kLately) {
      sessions.push_back(at->session());
    }
  }
  return sessions;
}

/// The same for a command that creates a session: prints its id and the path of its log.
int make(const Command& command, Catalog& catalog, const SessionPtr& source, const CommandLine& line, Terminal& io) {
  // The answer has the session's path in a mount, whose name may be that of another session of this minute.
  if (const auto named = catalog.read_names_of(created_lately(*catalog.view())); !named) {
    return fail(io, named.error());
  }
  const auto result = carry_out(command, catalog, source, line, io);
  if (!result) {
    return fail(io, result.error());
  }
  if (line.json) {
    io.out << terminal_safe_json(*result);
    return kDone;
  }
  print_changes(*result, io);
  const std::string id = member_of(*result, "session");
  const auto made = catalog.find(id);
  io.out << visible_line(id, kResultCharacters) << (made ? " " + log_path(**made) : "") << "\n";
  return kDone;
}

/// The entry in the table's spelling, which has no words such as leaf and last-user. Errors: those of find_by_word and
/// find_leaf_target.
Result<std::string> target_of(const Session& session, const std::string& spelled) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  ASSIGN_OR_RETURN(const auto meant, word_meant(guard, spelled));
  if (!meant) {
    const auto found = spelled.empty() ? Result<Ordinal>(kNoEntry) : find_leaf_target(guard.index(), spelled);
    return found ? Result<std::string>(spelled) : about_entry(guard, spelled, found.error());
  }
  return target_name(guard.index(), *meant);
}

/// The same where the target must be an entry.
Result<std::string> entry_target_of(const Session& session, const std::string& spelled) {
  auto target = target_of(session, spelled);
  return target && *target == "root" && spelled != "root" ? about_word(spelled, before_the_first()) : target;
}

/// Reads up to one byte more than a command may have, so that a longer one is noticed.
Result<std::string> read_message(std::istream& in) {
  std::string text;
  while (in && text.size() <= kMaxCommandBytes) {
    const std::size_t had = text.size();
    text.resize(had + kReadBytes);
    in.read(text.data() + had, kReadBytes);
    text.resize(had + static_cast<std::size_t>(in.gcount()));
  }
  return in.bad() ? Result<std::string>(Errc::io, "cannot read the message") : Result<std::string>(std::move(text));
}

/// True if nothing of the command line says where the message is, and there is a user to write it.
bool is_to_be_typed(const CommandLine& line, const Terminal& io) {
  return !line.words && line.file.empty() && (io.in == nullptr || io.in_is_terminal);
}

Result<std::string> message_of(const CommandLine& line, Terminal& io) {
  if (line.words) {
    return *line.words;
  }
  if (line.file.empty() || line.file == "-") {
    return io.in != nullptr ? read_message(*io.in) : Result<std::string>(std::string());
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(line.file, ignored)) {
    return Error{Errc::invalid_argument, line.file + " is a folder; give a file"};
  }
  std::ifstream file(line.file, std::ios::binary);
  return file ? read_message(file) : Result<std::string>(error_from_errno(errno, "cannot open " + line.file));
}

/// `flag`: the name of a member that is true; "" for none. `arrays` are JSON already. A value that is not UTF-8 is
/// returned as it is, for carry_out() to refuse: in JSON it would become another one.
std::string command_json(const std::vector<std::pair<const char*, std::string>>& members, bool force,
                         std::string_view flag = "",
                         const std::vector<std::pair<const char*, std::string>>& arrays = {}) {
  auto json = JsonText::object();
  for (const auto& [key, value] : members) {
    if (!json::is_valid_utf8(value)) {
      return value;
    }
    if (!value.empty()) {
      json.add(key, value);
    }
  }
  if (!flag.empty()) {
    json.add(flag, true);
  }
  for (const auto& [key, array] : arrays) {
    json.add_json(key, array);
  }
  return (force ? json.add("force", true) : json).str();
}

/// A line for each file that a rewind changes or leaves unchanged.
std::string rewind_report(const std::string& result, bool& is_complete) {
  json::Document parsed;
  json::parse(result, parsed);
  is_complete = json::is_truthy(json::member(parsed, "complete"));
  std::string report;
  json::Value none(rapidjson::kArrayType);
  const json::Value* found = json::member(parsed, "files");
  const json::Value& files = found != nullptr && found->IsArray() ? *found : none;
  for (const json::Value& file : files.GetArray()) {
    const auto text = [&file](std::string_view key) { return json::text_member(file, key); };
    const std::string why = text("why");
    report +=
        visible_line(text("action") + " " + text("path") + (why.empty() ? "" : ": " + why), kResultCharacters) + "\n";
  }
  if (const auto kept = json::string_member(parsed, "kept")) {
    report += "kept what was there as " + visible_line(std::string(*kept), kResultCharacters) + "\n";
  }
  return report;
}

}  // namespace

namespace {

int append(std::string text, const std::string& target, const Opened& opened, const CommandLine& line, Terminal& io) {
  if (line.note || line.queue) {
    const char* const member = line.note ? "note" : "queue";
    text.resize(text.size() - (text.ends_with('\n') ? 1 : 0));
    text = text.empty() ? std::string("{\"") + member + "\":\"\"}" : command_json({{member, text}}, false);
  }
  const bool is_json = line.note || line.queue || JsonCommand::is_one(text);
  return change({"append", std::move(text), is_json, target}, "id", opened, line, io);
}

/// Fails for --note and --queue if the session's agent has no such thing.
Result<void> check_kind(const CommandLine& line, const Format& format) {
  if ((!line.note && !line.queue) || !format.is_writable() ||
      (line.note ? format.takes_notes : format.queues_messages)) {
    return {};
  }
  return {Errc::not_permitted, "sessions of " + std::string(format.agent) +
                                   (line.note ? " take no notes for the model; append a message without --note"
                                              : " have no queue; append a message without --queue")};
}

}  // namespace

int run_append(const CommandLine& line, Terminal& io) {
  const bool is_typed = is_to_be_typed(line, io);
  const std::string editor = is_typed && io.out_is_terminal ? editor_command(io) : "";
  if (is_typed && editor.empty()) {
    return misused(
        io, "append",
        "a message is needed: as an argument, with -f FILE, on standard input, or from $EDITOR at a terminal");
  }
  const auto opened = open_session(line, Depth::index, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const auto target = target_of(*opened->of.session, line.entry);
  if (!target) {
    return fail(io, target.error());
  }
  if (const auto checked = check_kind(line, opened->of.session->format()); !checked) {
    return fail(io, checked.error());
  }
  if (!is_typed) {
    auto text = message_of(line, io);
    return text ? append(std::move(*text), *target, *opened, line, io) : fail(io, text.error());
  }
  const auto draft = write_draft(editor, opened->of);
  if (!draft) {
    return fail(io, draft.error());
  }
  const int status = append(draft->text, *target, *opened, line, io);
  if (status == kDone) {
    discard(*draft);
  } else {
    io.err << "arborfs: the message is kept in " << visible_line(draft->path, kResultCharacters)
           << "; -f FILE appends it\n";
  }
  return status;
}

int run_branch(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::index, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const auto target = target_of(*opened->of.session, line.entry);
  if (!target) {
    return fail(io, target.error());
  }
  const std::string command =
      command_json({{"target", *target}, {"summary", line.words.value_or("")}}, line.force, line.pin ? "pin" : "");
  const auto result = carry_out({"branch", command}, *opened->catalog, opened->of.session, line, io);
  if (!result) {
    return fail(io, result.error());
  }
  print_result(*result, "leaf", line, io);
  if (const std::string agent = member_of(*result, "agentLeaf"); !agent.empty() && !line.json) {
    io.err << "arborfs: an agent that resumes the session continues at " << visible_line(agent, kResultCharacters)
           << " until the next append; with --pin it continues at the new leaf at once\n";
  }
  return kDone;
}

int run_label(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::index, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const auto target = entry_target_of(*opened->of.session, line.entry);
  if (!target) {
    return fail(io, target.error());
  }
  return change({"label", command_json({{"entry", *target}, {"label", line.words.value_or("")}}, line.force)}, "id",
                *opened, line, io);
}

int run_title(const CommandLine& line, Terminal& io) {
  return run_words("title", "title", line, io);
}

namespace {

Result<Noted::Tags> tags_now(const Opened& opened) {
  ASSIGN_OR_RETURN(const auto noted, opened.catalog->noted_of(*opened.of.session));
  return tags_of(*opened.of.session, *noted);
}

}  // namespace

int run_tag(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::head, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const bool changes = !line.query.empty() || !line.removed_tags.empty();
  const auto tags = changes ? make_writer(*opened->catalog, write_settings(line))
                                  ->change_tags(opened->of.session, {line.query, line.removed_tags})
                            : tags_now(*opened);
  if (!tags) {
    return fail(io, tags.error());
  }
  if (line.json) {
    io.out << terminal_safe_json(JsonText::array_of(*tags).str()) << "\n";
    return kDone;
  }
  for (const std::string& tag : *tags) {
    io.out << visible_line(tag, kResultCharacters) << "\n";
  }
  return kDone;
}

int run_summary(const CommandLine& line, Terminal& io) {
  return run_words("summary", "id", line, io);
}

/// The entries of a list such as `a1b2c3d4,#12`, as entry_target_of spells them, as a JSON array.
Result<std::string> entry_targets_of(const Session& session, const std::vector<std::string>& lists) {
  std::vector<std::string> targets;
  for (const std::string& list : lists) {
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      ASSIGN_OR_RETURN(auto target, entry_target_of(session, list.substr(begin, end - begin)));
      targets.push_back(std::move(target));
      begin = end + 1;
    }
  }
  return JsonText::array_of(targets).str();
}

int run_fork(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::index, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const Session& session = *opened->of.session;
  const bool edits = !line.without.empty() || !line.without_output.empty();
  std::string cwd;
  const bool copies = !edits && session.format().takes("fork");  // the log as it is
  const std::string agent = !copies && line.agent.empty() ? std::string(session.agent()) : line.agent;
  const bool is_own = copies && agent == session.agent();
  const auto store = opened->catalog->stores().first_of(agent);
  const bool needs_cwd = store && opened->catalog->stores().at(*store)->format().has_cwd;
  if (needs_cwd && !is_own && session.head().header.cwd.empty()) {
    std::error_code failed;
    cwd = std::filesystem::current_path(failed).string();
  }
  const auto target = entry_target_of(session, line.entry);
  if (!target) {
    return fail(io, target.error());
  }
  const auto without = entry_targets_of(session, line.without);
  const auto without_output = entry_targets_of(session, line.without_output);
  if (!without || !without_output) {
    return fail(io, without ? without_output.error() : without.error());
  }
  std::vector<std::pair<const char*, std::string>> edit;
  if (edits) {
    edit = {{"without", *without}, {"withoutOutput", *without_output}};
  }
  std::string command =
      command_json({{"entry", *target}, {"title", line.words.value_or("")}, {"agent", agent}, {"cwd", cwd}}, line.force,
                   line.full ? "full" : "", edit);
  return make({"fork", std::move(command)}, *opened->catalog, opened->of.session, line, io);
}

/// A misspelled name is kept as that of a file that does not exist, so the user must learn of it.
void warn_of_absent_files(const std::string& result, Terminal& io) {
  json::Document parsed;
  json::parse(result, parsed);
  const json::Value* absent = json::member(parsed, "absent");
  const std::string count = absent != nullptr ? json::stringify(*absent) : "0";
  if (count != "0") {
    io.err << "arborfs: " << count << (count == "1" ? " file does" : " files do")
           << " not exist now; if they exist later, a rewind to this checkpoint removes them\n";
  }
}

int run_checkpoint(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::head, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  auto files = JsonText::array();
  for (const std::string& file : line.files) {
    std::error_code failed;
    const auto path = std::filesystem::absolute(file, failed).lexically_normal();
    if (failed) {
      return fail(io, error_from_errno(failed.value(), "cannot find the working directory"));
    }
    files.item(path.string());
  }
  const auto result =
      carry_out({"checkpoint", JsonText::object().add("name", line.checkpoint).add_json("files", files.str()).str()},
                *opened->catalog, opened->of.session, line, io);
  if (!result) {
    return fail(io, result.error());
  }
  print_result(*result, "checkpoint", line, io);
  warn_of_absent_files(*result, io);
  return kDone;
}

int run_rewind(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::head, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  auto command = JsonText::object().add("checkpoint", line.checkpoint).add("dryRun", line.dry_run);
  const auto result =
      carry_out({"rewind", command.add("force", line.force).str()}, *opened->catalog, opened->of.session, line, io);
  if (!result) {
    return fail(io, result.error());
  }
  bool is_complete = false;
  const std::string report = rewind_report(*result, is_complete);
  io.out << (line.json ? terminal_safe_json(*result) : report);
  return is_complete ? kDone : kFailed;
}

int run_new(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  std::error_code failed;
  const auto cwd =
      line.cwd.empty() ? std::filesystem::current_path(failed) : std::filesystem::absolute(line.cwd, failed);
  if (failed) {
    return fail(io, error_from_errno(failed.value(), "cannot find the working directory"));
  }
  std::string parent;
  if (!line.parent_session.empty()) {
    const auto session = find_session(**catalog, line.parent_session);
    if (!session) {
      return fail(io, session.error());
    }
    parent = (*session)->id();
  }
  return make({"new", command_json({{"agent", line.agent},
                                    {"cwd", cwd.string()},
                                    {"title", line.words.value_or("")},
                                    {"parentSession", parent},
                                    {"model", line.model},
                                    {"provider", line.provider}},
                                   false)},
              **catalog, nullptr, line, io);
}

}  // namespace arborfs::cli
