// The verbs that print one document of a session: tree, context, text.

#include "core/entry/views.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <unordered_map>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/suggestion.h"
#include "core/base/words.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/entry/text.h"
#include "core/entry/tree.h"
#include "core/json/date.h"
#include "core/views/session_changes.h"
#include "core/views/session_views.h"
#include "core/views/session_work.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/pager.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

int print_content(const Content& content, Form form, Terminal& io) {
  const auto written = [&] {
    const Pager pager(io);
    return write_content(content, form, io);
  }();
  return written ? kDone : fail(io, written.error());
}

int print_document(const Opened& opened, const ViewRow& view, std::uint32_t item, Form form, Terminal& io) {
  const auto document = make_view(*opened.of.session, view, item, *opened.catalog);
  return document ? print_content(*document->content, form, io) : fail(io, document.error());
}

Style style_of(TreeLook::Part part, const LogIndex& index, Ordinal entry) {
  switch (part) {
    case TreeLook::Part::name:
      return index.is_assistant(entry) ? Style::green : index.name(entry) == "user" ? Style::cyan : Style::plain;
    case TreeLook::Part::label:
      return Style::yellow;
    case TreeLook::Part::leaf:
      return Style::bold;
    case TreeLook::Part::number:
    case TreeLook::Part::time:
    case TreeLook::Part::id:
      return Style::dim;
    case TreeLook::Part::plain:
      break;
  }
  return Style::plain;
}

/// tree.txt as it is, or for a terminal, with times, as wide as that is.
int print_tree(const Opened& opened, Terminal& io) {
  TreeLook look;
  if (io.out_is_terminal) {
    look.width = io.width;
    look.has_times = true;
  }
  if (io.has_colour()) {
    look.colour = [&io](TreeLook::Part part, const std::string& text, const LogIndex& index, Ordinal entry) {
      return styled(io, style_of(part, index, entry), text);
    };
  }
  const auto tree = tree_document(*opened.of.session, look);
  return tree ? print_content(**tree, Form{}, io) : fail(io, tree.error());
}

/// A time, or null if the record has none.
JsonText& add_time(JsonText& json, std::string_view key, std::int64_t time_ms) {
  return time_ms == Entry::kNoTime ? json.add_json(key, "null") : json.add(key, json::iso_time(time_ms));
}

/// The members that every verb prints for an entry.
JsonText entry_json(const LogIndex& index, Ordinal ordinal) {
  const EntryId id = index.id(ordinal);
  const Entry& entry = index.entry(ordinal);
  auto json = JsonText::object();
  json.add("entry", ordinal);
  if (id.kind == EntryId::Kind::string) {
    json.add("id", id.text);
  } else {
    json.add_json("id", id.kind == EntryId::Kind::missing ? "null" : id.text);
  }
  json.add("type", index.type_text(ordinal)).add("name", index.role(ordinal));
  return add_time(json, "timestamp", entry.timestamp_ms);
}

using LabelTexts = std::unordered_map<Ordinal, std::vector<std::string>>;

LabelTexts labels_by_entry(const LogIndex& index) {
  LabelTexts labels;
  for (const auto& label : named_labels(index)) {
    labels[label.target].push_back(label.name);
  }
  return labels;
}

std::string node_json(const LogIndex& index, const TreeNode& node, Ordinal parent, const LabelTexts& labels,
                      Ordinal leaf) {
  auto json = entry_json(index, node.ordinal);
  json.add("depth", node.depth);
  json.add_json("parent", parent == kNoEntry ? "null" : std::to_string(parent));
  if (const auto found = labels.find(node.ordinal); found != labels.end()) {
    auto names = JsonText::array();
    for (const auto& name : found->second) {
      names.item(name);
    }
    json.add_json("labels", names.str());
  }
  json.add("leaf", node.ordinal == leaf);
  return json.str();
}

std::string tree_json(const LogIndex& index, Ordinal leaf) {
  const Tree tree = tree_of(index);
  const LabelTexts labels = labels_by_entry(index);
  auto nodes = JsonText::lines();
  std::vector<Ordinal> above;  // the last node of each depth
  for (const TreeNode& node : tree.nodes) {
    above.resize(node.depth + std::size_t{1});
    above.back() = node.ordinal;
    nodes.item_json(node_json(index, node, node.depth == 0 ? kNoEntry : above[node.depth - 1], labels, leaf));
  }
  for (const Ordinal ordinal : tree.unreachable) {
    nodes.item_json(node_json(index, TreeNode{ordinal, 0}, index.parent(ordinal), labels, leaf));
  }
  return nodes.str();
}

int print_text_json(const Opened& opened, const ViewRow& view, Ordinal ordinal, Terminal& io) {
  const auto document = make_view(*opened.of.session, view, ordinal, *opened.catalog);
  if (!document) {
    return fail(io, document.error());
  }
  const auto text = document->content->read_all();
  if (!text) {
    return fail(io, text.error());
  }
  auto json = JsonText::object().add("session", opened.of.id);
  if (const auto guard = opened.of.session->read(); guard && &view == &item_views::entry_text) {
    json = entry_json(guard->index(), ordinal).add("session", opened.of.id);
  }
  io.out << terminal_safe_json(json.add("text", *text).str()) << "\n";
  return kDone;
}

/// The columns of the screen, or of fzf's preview; 0 if the text goes elsewhere.
std::size_t width_of_text(const Terminal& io) {
  if (io.out_is_terminal) {
    return io.width;
  }
  const std::string columns = io.env ? io.env("FZF_PREVIEW_COLUMNS").value_or("") : "";
  std::size_t width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  return width - std::min<std::size_t>(width, 1);  // below a line that fills the preview, fzf leaves one empty
}

Form form_of_text(const Terminal& io) {
  return {.coloured = io.has_colour(), .width = width_of_text(io)};
}

/// Why an entry that is named by a word is none.
Error no_entry_in(const Session& session) {
  const auto guard = session.read();
  return {Errc::not_found, guard && guard->index().size() > 0 ? "the leaf is the root, before the first entry"
                                                              : "the session has no entries"};
}

/// What an entry says, without reasoning and calls of tools.
constexpr std::array kSaid{TurnPart::Kind::text, TurnPart::Kind::tool_result};
constexpr std::array kThought{TurnPart::Kind::reasoning};

/// An entry and its text.
struct SaidText {
  Ordinal ordinal = kNoEntry;
  std::string text;
};

/// The texts of these kinds in an entry, each with a line feed. Errors: stale, too_large; those of reading.
Result<std::string> text_said(const Session& session, Ordinal ordinal, std::span<const TurnPart::Kind> kinds) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  const Entry entry = index.entry(ordinal);
  const std::uint64_t length = index.length(ordinal);
  const std::string name(index.name(ordinal));
  if (length > kMaxRenderedEntry) {
    return Error{Errc::too_large, "the entry is too long; an entry may have 64 MiB"};
  }
  ASSIGN_OR_RETURN(const auto raw, guard.log()->read(entry.offset, length));
  std::vector<Turn> turns;
  session.format().renderer->add_turns({entry.type, name, raw, entry.timestamp_ms, *session.store().blobs()}, turns);
  std::string text;
  for (const Turn& turn : turns) {
    for (const TurnPart& part : turn.parts) {
      const bool is_meant = std::find(kinds.begin(), kinds.end(), part.kind) != kinds.end();
      text += is_meant ? part.text + "\n" : "";
    }
  }
  return text;
}

/// The newest message of the assistant on the path to `leaf` that has code. Errors: not_found; those of text_said.
Result<SaidText> last_code(const Session& session, Ordinal leaf) {
  std::vector<Ordinal> answers;
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    answers = people_entries(guard.index(), leaf);
    std::erase_if(answers, [&](Ordinal step) { return !guard.index().is_assistant(step); });
  }
  for (auto at = answers.rbegin(); at != answers.rend(); ++at) {
    ASSIGN_OR_RETURN(auto text, text_said(session, *at, kSaid));
    if (!code_blocks(text).empty()) {
      return SaidText{*at, std::move(text)};
    }
  }
  return Error{Errc::not_found,
               answers.empty() ? "the branch has no answer of the assistant yet"
                               : "no answer on the branch has a fenced code block; name another --branch or ENTRY"};
}

/// The entry whose code is printed: the named one, or the last answer on the branch that has any.
Result<SaidText> entry_of_code(const CommandLine& line, const Session& session) {
  if (line.entry.empty()) {
    ASSIGN_OR_RETURN(const Ordinal leaf, find_branch(session, line.branch));
    return last_code(session, leaf);
  }
  ASSIGN_OR_RETURN(const Ordinal ordinal, find_entry(session, line.entry));
  if (ordinal == kNoEntry) {
    return no_entry_in(session);
  }
  ASSIGN_OR_RETURN(auto text, text_said(session, ordinal, kSaid));
  return SaidText{ordinal, std::move(text)};
}

constexpr std::size_t kRoleCharacters = 40;
constexpr std::string_view kThinking = "thinking";  // no role of an entry, but a part of what the assistant says

/// The entries of a branch that have the role, or the agent's own word for it. Errors: not_found if none has.
Result<std::vector<Ordinal>> entries_of_role(const LogIndex& index, Ordinal end, const std::string& role) {
  std::vector<Ordinal> entries = people_entries(index, end);
  if (role == kThinking) {
    return entries;
  }
  std::vector<std::string> roles;
  for (const Ordinal entry : entries) {
    if (std::find(roles.begin(), roles.end(), index.role(entry)) == roles.end()) {
      roles.emplace_back(index.role(entry));
    }
  }
  std::erase_if(entries, [&](Ordinal entry) { return index.role(entry) != role && index.name(entry) != role; });
  if (entries.empty()) {
    roles.emplace_back(kThinking);
    return Error{Errc::not_found, "no entry of the branch has the role '" + visible_line(role, kRoleCharacters) +
                                      "'; there are " + join_words(roles) + did_you_mean(nearest(role, roles))};
  }
  return entries;
}

/// An entry of a role, copied so that no lock is held while it is read.
struct RoleEntry {
  Ordinal ordinal = kNoEntry;
  std::string heading;
  JsonText json;
};

Result<std::vector<RoleEntry>> role_entries(const Session& session, Ordinal end, const std::string& role) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  ASSIGN_OR_RETURN(const auto ordinals, entries_of_role(index, end, role));
  std::vector<RoleEntry> entries;
  for (const Ordinal ordinal : ordinals) {
    entries.push_back({ordinal, entry_heading(index, ordinal), entry_json(index, ordinal)});
  }
  return entries;
}

/// The reasoning in an entry, "" without any, or its text. Errors: stale; those of reading.
Result<std::string> text_of_role(const Session& session, Ordinal ordinal, const std::string& role) {
  if (role == kThinking) {
    ASSIGN_OR_RETURN(const auto thought, text_said(session, ordinal, kThought));
    return visible(thought);
  }
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const Entry& entry = guard.index().entry(ordinal);
  return read_text(*session.format().renderer, *guard.log(), entry.type, entry.offset, guard.index().length(ordinal));
}

/// The texts of one role on a branch, or only the reasoning, below the headings of a transcript.
int print_role(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::index, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const Session& session = *opened->of.session;
  const auto end = find_branch(session, line.branch);
  auto entries = end ? role_entries(session, *end, line.role) : Result<std::vector<RoleEntry>>(end.error());
  if (!entries) {
    return fail(io, entries.error());
  }
  auto rows = JsonText::lines();
  Content content;
  for (RoleEntry& entry : *entries) {
    const auto text = text_of_role(session, entry.ordinal, line.role);
    if (!text) {
      return fail(io, text.error());
    }
    if (!text->empty()) {
      rows.item_json(entry.json.add("text", *text).str());
      content.add_text(entry.heading + *text + "\n");
    }
  }
  if (content.size() == 0) {
    return fail(io, {Errc::not_found, "the branch has no reasoning; agents keep what their models return of it"});
  }
  if (line.json) {
    io.out << terminal_safe_json(rows.str()) << "\n";
    return kDone;
  }
  return print_content(content, form_of_text(io), io);
}

std::string code_json(const Opened& opened, Ordinal ordinal, const std::vector<CodeBlock>& blocks) {
  auto code = JsonText::array();
  for (const CodeBlock& block : blocks) {
    code.item_json(JsonText::object().add("language", block.language).add("text", block.text).str());
  }
  auto json = JsonText::object();
  if (const auto guard = opened.of.session->read()) {
    json = entry_json(guard->index(), ordinal);
  }
  return json.add("session", opened.of.id).add_json("code", code.str()).str();
}

int print_code(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, Depth::index, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const auto answer = entry_of_code(line, *opened->of.session);
  if (!answer) {
    return fail(io, answer.error());
  }
  const auto blocks = code_blocks(answer->text);
  if (blocks.empty()) {
    return fail(io, {Errc::not_found, "the entry has no fenced code block; name another ENTRY"});
  }
  if (line.json) {
    io.out << terminal_safe_json(code_json(*opened, answer->ordinal, blocks)) << "\n";
    return kDone;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    io.out << (i == 0 ? "" : "\n") << (io.out_is_terminal ? visible(blocks[i].text) : blocks[i].text);
  }
  return kDone;
}

}  // namespace

int run_tree(const CommandLine& line, Terminal& io) {
  const ViewRow& view = *find_view("tree.txt");
  const auto opened = open_session(line, view.depth, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  if (!line.json) {
    return print_tree(*opened, io);
  }
  const auto guard = opened->of.session->read();
  if (!guard) {
    return fail(io, session_changed());
  }
  io.out << terminal_safe_json(tree_json(guard->index(), guard->leaf())) << "\n";
  return kDone;
}

int run_context(const CommandLine& line, Terminal& io) {
  const auto opened = open_session(line, item_views::branch_context.depth, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const auto ordinal = find_entry(*opened->of.session, line.entry);
  if (!ordinal) {
    return fail(io, ordinal.error());
  }
  const ViewRow& view = *ordinal == kNoEntry ? *find_view("context.json") : item_views::branch_context;
  const Form form{.safe_json = io.out_is_terminal, .one_line = line.json};
  return print_document(*opened, view, *ordinal, form, io);
}

int run_text(const CommandLine& line, Terminal& io) {
  if (line.code) {
    return print_code(line, io);
  }
  if (!line.role.empty()) {
    return print_role(line, io);
  }
  const bool whole = line.entry.empty();
  const ViewRow& view = !line.branch.empty() ? item_views::branch_transcript
                        : whole              ? *find_view("transcript.md")
                                             : item_views::entry_text;
  const auto opened = open_session(line, view.depth, io);
  if (!opened) {
    return fail(io, opened.error());
  }
  const Session& session = *opened->of.session;
  const auto ordinal = whole ? find_branch(session, line.branch) : find_entry(session, line.entry);
  if (!ordinal) {
    return fail(io, ordinal.error());
  }
  if ((!whole || !line.branch.empty()) && *ordinal == kNoEntry) {
    return fail(io, no_entry_in(*opened->of.session));
  }
  const Form form = form_of_text(io);
  return line.json ? print_text_json(*opened, view, *ordinal, io) : print_document(*opened, view, *ordinal, form, io);
}

namespace {

constexpr std::size_t kFilePathCharacters = 4096;

/// The calls that the command line names, and what holds their sessions.
struct NamedCalls {
  Opened opened;
  std::vector<SessionPtr> started;
  std::vector<CallsOf> calls;
};

/// Of a session those on the named branch, else on `usual`; with them those of the sessions that it started. Errors:
/// those of open_session and find_branch; those of reading.
Result<NamedCalls> named_calls(const CommandLine& line, std::optional<Ordinal> usual, Terminal& io) {
  NamedCalls named;
  ASSIGN_OR_RETURN(named.opened, open_session(line, Depth::index, io));
  const Session& session = *named.opened.of.session;
  CallsOf own{session, usual};
  if (!line.branch.empty()) {
    ASSIGN_OR_RETURN(own.branch, find_branch(session, line.branch));
  }
  named.calls.push_back(std::move(own));
  if (line.children) {
    named.started = named.opened.catalog->view()->descendants_of(session.number());
  }
  for (const SessionPtr& started : named.started) {
    const std::string id = listed(*named.opened.catalog, started).id;
    if (const auto read = started->refresh(Depth::index); !read) {
      return Error{read.error().code, id + ": " + read.error().message};
    }
    named.calls.push_back({*started, usual, id});
  }
  return named;
}

/// What a session did, for a verb whose other form is the view of that name.
Result<SessionWork> work_of(const CommandLine& line, Terminal& io) {
  ASSIGN_OR_RETURN(const auto named, named_calls(line, std::nullopt, io));
  return session_work(named.calls);
}

void print_files(const SessionWork& work, Terminal& io) {
  constexpr std::size_t kRoomyPath = 40;
  Table table({{"READS", true, false, 2},
               {"EDITS", true, false, 3},
               {"WRITES", true, false, 4},
               {"LAST", false, false, 1},
               {"PATH", false, true, 0, kRoomyPath}});
  for (const FileWork& file : work.files) {
    table.add({grouped(file.reads), grouped(file.edits), grouped(file.writes),
               file.last_ms == Entry::kNoTime ? "-" : local_time(file.last_ms, "%Y-%m-%d %H:%M"),
               visible_line(file.path, kFilePathCharacters)});
  }
  const Pager pager(io);
  print_with_heading(table.lines(io.width), io);
}

/// Tells a person at a terminal why nothing is printed.
void explain_nothing(bool is_nothing, const char* why, Terminal& io) {
  if (is_nothing && io.err_is_terminal) {
    io.err << why << "\n";
  }
}

/// The line above a command: one that failed is red.
Style style_of_command(std::string_view line) {
  const bool has_failed =
      line.ends_with(" · failed") || (line.find(" · exit ") != std::string_view::npos && !line.ends_with(" · exit 0"));
  return !line.starts_with("# ") ? Style::plain : has_failed ? Style::red : Style::dim;
}

/// The lines of changes.diff in git's colours. Within a part, a line that begins as a file's name does is a change.
class DiffStyles {
 public:
  Style operator()(std::string_view line) {
    const char first = line.empty() ? '\0' : line[0];
    if (line.starts_with("@@")) {
      is_in_part_ = true;
      return Style::cyan;
    }
    is_in_part_ = is_in_part_ && (first == ' ' || first == '+' || first == '-' || first == '\\');
    if (is_in_part_) {
      return first == '+' ? Style::green : first == '-' ? Style::red : Style::plain;
    }
    return first == '#' ? Style::dim : first == '-' || first == '+' ? Style::bold : Style::plain;
  }

 private:
  bool is_in_part_ = false;
};

/// `entries`, and with those of sessions that it started `started`.
void add_entries(JsonText& row, const std::vector<EntryOf>& entries) {
  auto own = JsonText::array();
  auto others = JsonText::array();
  bool has_others = false;
  for (const EntryOf& entry : entries) {
    if (entry.session.empty()) {
      own.item_json(std::to_string(entry.ordinal));
    } else {
      others.item_json(JsonText::object().add("session", entry.session).add("entry", entry.ordinal).str());
      has_others = true;
    }
  }
  row.add_json("entries", own.str());
  if (has_others) {
    row.add_json("started", others.str());
  }
}

std::string json_of(const FileWork& file) {
  auto row = JsonText::object().add("path", file.path);
  row.add("reads", file.reads).add("edits", file.edits).add("writes", file.writes);
  add_time(row, "last", file.last_ms);
  add_entries(row, file.entries);
  return row.str();
}

std::string json_of(const CommandWork& command) {
  auto row = JsonText::object().add("entry", std::uint64_t{command.entry.ordinal});
  if (!command.entry.session.empty()) {
    row.add("session", command.entry.session);
  }
  row.add("command", command.command);
  row.add("folder", command.folder);
  add_time(row, "time", command.time_ms).add_json("status", command.status ? std::to_string(*command.status) : "null");
  return row.add("done", command.has_result).add("failed", command.has_failed).str();
}

std::string json_of(const DiffPart& change) {
  auto row = JsonText::object().add("path", change.path);
  add_entries(row, change.entries);
  return row.add_json("notes", JsonText::array_of(change.notes).str()).add("diff", change.diff).str();
}

template <class Row>
int print_rows(const std::vector<Row>& rows, Terminal& io) {
  auto all = JsonText::lines();
  for (const Row& row : rows) {
    all.item_json(json_of(row));
  }
  io.out << terminal_safe_json(all.str()) << "\n";
  return kDone;
}

}  // namespace

int run_files(const CommandLine& line, Terminal& io) {
  const auto work = work_of(line, io);
  if (!work) {
    return fail(io, work.error());
  }
  if (line.json) {
    return print_rows(work->files, io);
  }
  if (!io.out_is_terminal) {
    bool is_heading = true;
    io.out << styled_lines(io, files_tsv(*work), [&is_heading](std::string_view /*line*/) {
      return std::exchange(is_heading, false) ? Style::bold : Style::plain;
    });
  } else if (!work->files.empty()) {
    print_files(*work, io);
  }
  explain_nothing(work->files.empty(), "no tool of the session read, edited or wrote a file", io);
  return kDone;
}

int run_commands(const CommandLine& line, Terminal& io) {
  const auto work = work_of(line, io);
  if (!work) {
    return fail(io, work.error());
  }
  if (line.json) {
    return print_rows(work->commands, io);
  }
  {
    const Pager pager(io);
    io.out << styled_lines(io, commands_text(*work), style_of_command);
  }
  explain_nothing(work->commands.empty(), "no tool of the session ran a command", io);
  return kDone;
}

int run_changes(const CommandLine& line, Terminal& io) {
  const auto named = named_calls(line, kNoEntry, io);
  const auto changes = named ? session_changes(named->calls) : Result<SessionChanges>(named.error());
  if (!changes) {
    return fail(io, changes.error());
  }
  if (line.json) {
    return print_rows(changes->changes, io);
  }
  const std::string diff = changes_diff(*changes);
  {
    const Pager pager(io);
    io.out << styled_lines(io, io.out_is_terminal ? visible(diff) : diff, DiffStyles());
  }
  explain_nothing(diff.empty(), "no tool of the session changed a file", io);
  return kDone;
}

}  // namespace arborfs::cli
