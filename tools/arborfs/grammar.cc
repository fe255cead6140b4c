#include "tools/arborfs/grammar.h"

#include <algorithm>

#include "core/views/stats.h"
#include "tools/arborfs/verbs.h"
#include "tools/arborfs/word_checks.h"

namespace arborfs::cli {
namespace {

constexpr const char* kSessionHelp = "Path, id, unique prefix of the id, AGENT:ID, or 'latest'";
constexpr const char* kEntryHelp =
    "Id, unique prefix of the id (at least 4 characters), number (#42), file name, label, or one of leaf, last, "
    "last-user, last-assistant; ENTRY^ is the entry before it";
constexpr const char* kFooter =
    "SESSION is the path of a log or of a session's folder in a mount, an id, a unique prefix of an id, or 'latest'; "
    "AGENT:ID is a session of that agent. Options may precede the verb.\n"
    "'arborfs help VERB' prints the options of a verb. Exit status: 0, 1 (failed), 2 (usage). See also: man 1 arborfs "
    "(options), man 5 arborfs (the tree).";

}  // namespace

Grammar::Grammar(CommandLine& into, const std::string& first)
    : into_(into), app_("Coding agent sessions as a file system", "arborfs") {
  app_.set_version_flag("-V,--version", "arborfs " ARBORFS_VERSION, "Print the version and exit");
  app_.set_help_flag("-h,--help", "Print this help and exit");
  app_.require_subcommand(1);
  app_.footer(kFooter);
  app_.get_formatter()->column_width(kHelpColumn);
  app_.get_formatter()->label("REQUIRED", "");
  app_.get_formatter()->label("SUBCOMMAND", "VERB");
  app_.get_formatter()->label("TEXT", "");
  app_.get_formatter()->label("UINT", "");
  struct Some {
    const char* group;  // in which --help lists the first of them; null for that of those before
    void (Grammar::*add)();
  };
  for (const Some& some : {Some{"Mount", &Grammar::add_mounting}, Some{nullptr, &Grammar::add_reading},
                           Some{"Write", &Grammar::add_writing}, Some{nullptr, &Grammar::add_making},
                           Some{nullptr, &Grammar::add_checking}}) {
    group_ = some.group == nullptr ? group_ : some.group;
    (this->*some.add)();
    if (verb(first) != nullptr) {
      return;  // all of them are a third of what a small command does
    }
  }
}

CLI::App* Grammar::verb(const std::string& word) const {
  const auto found = std::find_if(verbs_.begin(), verbs_.end(), [&](CLI::App* sub) { return sub->get_name() == word; });
  return found == verbs_.end() ? nullptr : *found;
}

std::vector<std::string> Grammar::verb_names() const {
  std::vector<std::string> names{"help"};
  for (const CLI::App* verb : verbs_) {
    names.push_back(verb->get_name());
  }
  return names;
}

CLI::App* Grammar::add(const char* name, RunVerb run, const char* help, Access access) {
  CLI::App* sub = app_.add_subcommand(name, help);
  sub->group(group_);
  sub->callback([this, run, access] {
    into_.run = run;
    into_.access = access;
  });
  sub->add_flag("--json", into_.json, "Print JSON, including errors");
  verbs_.push_back(sub);
  return sub;
}

CLI::App* Grammar::add_with_store(const char* name, RunVerb run, const char* help, Access access) {
  CLI::App* sub = add(name, run, help, access);
  sub->add_option("--store", into_.stores,
                  "A folder with an agent's state; may be repeated; default: all that 'arborfs stores' lists")
      ->option_text("AGENT=DIR")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(complain_of_store);
  sub->add_option("--agent-dir", into_.agent_dir, "The same as --store omp=DIR")
      ->option_text("DIR")
      ->check(needs("a folder"));
  return sub;
}

CLI::App* Grammar::add_with_session(const char* name, RunVerb run, const char* help, Access access) {
  CLI::App* sub = add_with_store(name, run, help, access);
  sub->add_option("SESSION", into_.session, kSessionHelp)->required()->option_text(" ")->check(needs("a session"));
  return sub;
}

void Grammar::add_mounting() {
  CLI::App* mount = add_with_store("mount", run_mount, "Mount the sessions as a directory tree");
  mount->add_flag("-f,--foreground", into_.foreground, "Stay in the foreground and log to standard error");
  mount
      ->add_option(
          "--durability", into_.durability,
          "synced: a write is on disk before it succeeds (the default); none: the kernel decides when to write")
      ->option_text("HOW")
      ->check(is_one_of({"synced", "none"}));
  mount->add_option("-o,--options", into_.mount_options, "Mount options, separated by commas; see man 1 arborfs")
      ->option_text("OPTIONS")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  mount->add_option("MOUNTPOINT", into_.mountpoint, "A folder; its contents are hidden until it is unmounted")
      ->required()
      ->option_text(" ")
      ->check(needs("a folder"));
  CLI::App* umount = add("umount", run_umount, "Unmount the sessions");
  umount->add_option("MOUNTPOINT", into_.mountpoint, "The folder at which they are mounted")
      ->required()
      ->option_text(" ")
      ->check(needs("a folder"));
}

void Grammar::add_project(CLI::App* sub) {
  sub->add_option("-p,--project", into_.project,
                  "Only projects with this name, part of a name, or working directory (. is the current one)")
      ->option_text("PROJECT")
      ->check(needs("a project"));
}

void Grammar::add_choice(CLI::App* sub) {
  add_project(sub);
  sub->add_option("-a,--agent", into_.agent, "Only sessions of this agent, such as omp or pi")
      ->option_text("AGENT")
      ->check(needs("an agent"));
}

CLI::App* Grammar::coloured(CLI::App* sub) {
  sub->add_option("--color", into_.color, "Colour the output: auto (on a terminal; the default), always or never")
      ->option_text("WHEN")
      ->check(is_one_of({"auto", "always", "never"}));
  return sub;
}

void Grammar::add_times(CLI::App* sub, const char* since_help, const char* until_help) {
  sub->add_option("--since", into_.since, since_help)->option_text("TIME")->check(complain_of_date);
  sub->add_option("--until", into_.until, until_help)->option_text("TIME")->check(complain_of_date);
}

void Grammar::add_history() {
  CLI::App* history = coloured(
      add_with_store("history", run_history, "List the prompts that were typed to agents, or add one", Access::look));
  history
      ->add_option("-n,--limit", into_.limit, "List at most this many, 0 for all; default: 30 on a terminal, else all")
      ->option_text("LIMIT")
      ->check(complain_of_number);
  add_times(history, "Only prompts of this time or later: a date, yesterday, 12h, 3d, 2w",
            "Only prompts before this time; for a date, before its end");
  add_project(history);
  history->add_option("-a,--agent", into_.agent, "Only prompts that were typed to this agent; for add, the agent")
      ->option_text("AGENT")
      ->check(needs("an agent"));
  history
      ->add_option("QUERY", into_.query,
                   "Words that the prompts contain; default: all prompts. add TEXT: adds a prompt")
      ->option_text(" ");
}

void Grammar::add_stats() {
  CLI::App* stats = coloured(
      add_with_store("stats", run_stats, "Sum up tokens and cost, each message once, by its own time", Access::look));
  stats->add_option("--by", into_.by, "day (the default), week, month, project, model, agent, session, or host")
      ->option_text("WHAT")
      ->check(is_one_of({stats::kByNames.begin(), stats::kByNames.end()}));
  auto* const since =
      stats->add_option("--since", into_.since, "Only messages of this day or later, such as 2026-02-16, \"last week\"")
          ->option_text("DATE")
          ->check(complain_of_date);
  auto* const until = stats->add_option("--until", into_.until, "Only messages of this day or earlier")
                          ->option_text("DATE")
                          ->check(complain_of_date);
  stats
      ->add_option("--in", into_.period,
                   "Only messages of this day, month or year, or of \"this week\", \"last month\"")
      ->option_text("PERIOD")
      ->check(complain_of_period)
      ->excludes(since)
      ->excludes(until);
  add_choice(stats);
}

void Grammar::add_ls() {
  CLI::App* ls = coloured(add_with_store("ls", run_ls, "List the sessions, most recently written first", Access::look));
  ls->add_option("-n,--limit", into_.limit, "List at most this many, 0 for all; default: 30 on a terminal, else all")
      ->option_text("LIMIT")
      ->check(complain_of_number);
  add_choice(ls);
  add_times(ls, "Only sessions written at or after this time: a date, yesterday, 12h, 3d, 2w",
            "Only sessions written before this time; for a date, before its end");
  ls->add_option("--state", into_.state, "Only sessions in this state: live, maybe or quiet")
      ->option_text("STATE")
      ->check(is_one_of({"live", "maybe", "quiet"}));
  ls->add_option("--model", into_.model, "Only sessions that used a model whose name contains this; reads whole logs")
      ->option_text("MODEL")
      ->check(needs("a part of a model's name"));
  ls->add_option("--tag", into_.tag, "Only sessions with this tag")->option_text("TAG")->check(needs("a tag"));
  ls->add_option("--label", into_.label, "Only sessions with an entry that has this label; reads whole logs")
      ->option_text("LABEL")
      ->check(needs("a label"));
  ls->add_option("--sort", into_.sort,
                 "Order: modified (the default), title, project, agent, or size or cost, which are shown then")
      ->option_text("KEY")
      ->check(is_one_of({"modified", "title", "project", "agent", "size", "cost"}));
  ls->add_flag("--cost", into_.cost, "Also show the cost of each session; reads whole logs");
  ls->add_flag("--size", into_.size, "Also show what each session occupies, with all that belongs to it");
  ls->add_flag("-c,--children", into_.children, "Also list the sessions that others started");
  ls->add_flag("-q,--quiet", into_.only_ids, "Print only the ids, one per line");
}

void Grammar::add_du() {
  CLI::App* du = add_with_store("du", run_du, "Show what sessions and projects occupy", Access::look);
  du->add_option("SESSION", into_.sessions, "Sessions and projects; default: all projects")
      ->option_text(" ")
      ->check(needs("a session or a project"));
}

void Grammar::add_search() {
  CLI::App* search =
      coloured(add_with_store("search", run_search, "Find the sessions whose texts contain all words", Access::look));
  search
      ->add_option("-n,--limit", into_.limit, "List at most this many, 0 for all; default: 10 on a terminal, else all")
      ->option_text("LIMIT")
      ->check(complain_of_number);
  add_choice(search);
  search->add_option("--title", into_.title, "Only sessions whose title contains this")
      ->option_text("TEXT")
      ->check(needs("a part of a title"));
  search->add_option("--tag", into_.tag, "Only sessions with this tag")->option_text("TAG")->check(needs("a tag"));
  search
      ->add_option("--path", into_.path,
                   "Only sessions whose tools touched this file; a slash at its end: in this folder")
      ->option_text("FILE")
      ->check(needs("a file"));
  add_times(search, "Only entries of this time or later: a date, yesterday, 12h, 3d, 2w",
            "Only entries before this time; for a date, before its end");
  search->add_option("--role", into_.role, "Only entries of this role, such as user or assistant")
      ->option_text("ROLE")
      ->check(needs("a role"));
  search->add_option("--tool", into_.tool, "Only entries that call this tool")
      ->option_text("NAME")
      ->check(needs("a tool"));
  search->add_option("--label", into_.label, "Only entries with this label")
      ->option_text("LABEL")
      ->check(needs("a label"));
  search
      ->add_option(
          "QUERY", into_.query,
          "Words, \"a phrase\", -unwanted (after --), and filters: agent: project: title: tag: path: role: tool: "
          "label: after: before:")
      ->option_text(" ");
}

void Grammar::add_reading() {
  group_ = "Find";
  add_ls();
  add_search();
  add_history();
  add_stats();
  add_du();
  group_ = "Read";
  add_session_readers();
  group_ = "Follow and go on";
  CLI::App* tail = add_with_store("tail", run_tail, "Print the last line of each session that changes", Access::look);
  CLI::Option* one =
      tail->add_option("SESSION", into_.session, kSessionHelp)->option_text(" ")->check(needs("a session"));
  tail->add_flag("--all", into_.all, "Follow all sessions")->excludes(one);
  add_with_session("wait", run_wait, "Return when the turn in progress has ended, and say how", Access::look);
  add_resume();
}

void Grammar::add_session_readers() {
  coloured(add_with_session("show", run_show, "Show one session: header, state, counts, branches, sub-agents, usage",
                            Access::look));
  coloured(add_with_session("tree", run_tree, "Draw the tree of a session", Access::look));
  add_entry(add_with_session("context", run_context, "Print what the agent would send to the model", Access::look));
  CLI::App* text = coloured(add_with_session(
      "text", run_text, "Print the transcript up to the leaf, or the text of one entry", Access::look));
  CLI::Option* entry = add_entry(text);
  CLI::Option* code = text->add_flag(
      "--code", into_.code, "Print only the fenced code blocks: of ENTRY, else of the last answer that has any");
  text->add_option("--role", into_.role,
                   "Print only the texts of this role, such as user or assistant, or only the reasoning: thinking")
      ->option_text("ROLE")
      ->check(needs("a role"))
      ->excludes(code)
      ->excludes(entry);
  add_branch(text, "Take the branch that ends at this entry, such as show names it")->excludes(entry);
  add_work("files", run_files, "List the files that the tools of a session read, edited and wrote",
           "Only by calls on the branch that ends at this entry; default: on all branches");
  add_work("commands", run_commands, "Print the commands that the tools of a session ran",
           "Only those on the branch that ends at this entry; default: on all branches");
  add_work("changes", run_changes, "Print what the edit tools of a session changed in files, as a diff",
           "What was changed on the branch that ends at this entry; default: the current one");
  add_export();
  CLI::App* open = add_with_store("open", run_open, "Open the page of a session, or that of all sessions, in a browser",
                                  Access::look);
  open->add_option("SESSION", into_.session, kSessionHelp)->option_text(" ")->check(needs("a session"));
}

CLI::Option* Grammar::add_branch(CLI::App* sub, const char* help) {
  return sub->add_option("--branch", into_.branch, help)->option_text("BRANCH")->check(needs("a branch"));
}

void Grammar::add_work(const char* name, RunVerb run, const char* help, const char* branch_help) {
  CLI::App* sub = coloured(add_with_session(name, run, help, Access::look));
  add_branch(sub, branch_help);
  sub->add_flag("-c,--children", into_.children, "Count what the sessions did that it started, however deep");
}

void Grammar::add_export() {
  CLI::App* sub =
      add_with_session("export", run_export, "Write a session as one file, to show and to share", Access::look);
  CLI::Option* html = sub->add_flag("--html", into_.html, "A page for a browser, images and all (the default)");
  CLI::Option* markdown = sub->add_flag("--markdown", into_.markdown, "The transcript")->excludes(html);
  CLI::Option* atif =
      sub->add_flag("--atif", into_.atif, "A trajectory in the format ATIF-v1.7")->excludes(html, markdown);
  sub->get_option("--json")->excludes(html, markdown, atif);
  CLI::Option* branch = add_branch(sub, "Take the branch that ends at this entry, such as show names it");
  sub->add_flag("--all-branches", into_.all_branches, "Take all branches")->excludes(branch, atif);
  sub->add_flag("--with-children", into_.children, "With the sub-agents")->excludes(atif, "--json");
  CLI::Option* redact =
      sub->add_flag("--redact", into_.redact, "Without secrets, which are shown and asked about first");
  sub->add_flag("-y,--yes", into_.yes, "Do not ask")->needs(redact);
  sub->add_option("-o,--output", into_.output, "Write to this file, which is there once it is whole")
      ->option_text("FILE")
      ->check(needs("a file"));
}

void Grammar::add_resume() {
  CLI::App* resume = add_with_store("resume", run_resume, "Continue a session: run its agent in its working directory");
  CLI::Option* print = resume->add_flag("--print", into_.print, "Print the command instead of running it");
  resume->add_flag("--list", into_.list, "List the sessions from which a choice at a terminal chooses")
      ->excludes(print);
  resume->add_flag("--force", into_.force, "Resume it even if an agent has the session open");
  add_choice(resume);
  resume
      ->add_option("SESSION", into_.query,
                   "A session, '.' for the latest one of the current folder, or words of a title or of texts; default: "
                   "a choice at a terminal, else '.'")
      ->option_text(" ");
}

CLI::App* Grammar::durable(CLI::App* sub) {
  sub->add_option(
         "--durability", into_.durability,
         "synced: the data is on disk before the verb ends (the default); none: the kernel decides when to write")
      ->option_text("HOW")
      ->check(is_one_of({"synced", "none"}));
  return sub;
}

CLI::App* Grammar::add_change(const char* name, RunVerb run, const char* help) {
  CLI::App* sub = add_with_session(name, run, help);
  sub->add_flag("--force", into_.force, "Write even if an agent may have the session open");
  return sub;
}

void Grammar::add_words(CLI::App* sub, const char* name, const char* help) {
  sub->add_option(name, into_.words, help)->option_text(" ");
}

void Grammar::add_writing() {
  CLI::App* append = durable(add_change("append", run_append, "Append a message, or entries given as JSON"));
  add_words(append, "TEXT", "The message; default: what an editor gives at a terminal, else standard input");
  append->add_option("--text", into_.words, "The message, also one that begins with a hyphen")
      ->option_text("TEXT")
      ->excludes("TEXT");
  append->add_option("-f,--file", into_.file, "Read the message from this file; - is standard input")
      ->option_text("FILE")
      ->check(needs("a file"))
      ->excludes("TEXT")
      ->excludes("--text");
  append->add_option("--at", into_.entry, "Append to this entry instead of the leaf")
      ->option_text("ENTRY")
      ->check(needs("an entry"));
  auto* const note =
      append->add_flag("--note", into_.note, "Append TEXT as a note that the model reads before the next prompt");
  append->add_flag("--queue", into_.queue, "Leave TEXT in the agent's own queue: the agent runs it as its next turn")
      ->excludes(note);
  CLI::App* branch = durable(add_change("branch", run_branch, "Move the leaf, where the next append goes"));
  branch->add_option("TARGET", into_.entry, std::string(kEntryHelp) + ", or 'root'")
      ->required()
      ->option_text(" ")
      ->check(needs("an entry"));
  add_words(branch, "SUMMARY", "A summary of the abandoned branch");
  branch->add_flag("--pin", into_.pin, "Write an entry at TARGET, so that agents continue there at once");
  CLI::App* label = durable(add_change("label", run_label, "Label an entry, or clear its label"));
  add_entry(label)->required();
  add_words(label, "LABEL", "The label; without it the entry's label is cleared");
  CLI::App* title = durable(add_change("title", run_title, "Change the title of a session"));
  title->add_option("TITLE", into_.words, "The new title")->required()->option_text(" ");
  CLI::App* tag = durable(add_with_session("tag", run_tag, "List the tags of a session, or change them"));
  tag->add_option("TAG", into_.query, "Tags to add")->option_text(" ");
  tag->add_option("-d,--delete", into_.removed_tags, "Remove this tag; may be repeated")
      ->option_text("TAG")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->check(needs("a tag"));
  add_marks();
  CLI::App* summary = durable(add_change("summary", run_summary, "Append a summary of a run to a session of OpenCode"));
  add_words(summary, "TEXT", "The summary; default: one made from the session");
}

void Grammar::add_marks() {
  const auto add = [&](const char* name, RunVerb run, const char* help) {
    CLI::App* sub = durable(add_with_store(name, run, help));
    sub->add_option("SESSION", into_.sessions, kSessionHelp)->required()->option_text(" ")->check(needs("a session"));
    sub->add_flag("--force", into_.force, "Do it even if an agent may have the session open");
  };
  add("archive", run_archive, "Put sessions into their agent's archive (Claude Code, Codex)");
  add("unarchive", run_unarchive, "Take sessions out of their agent's archive");
  add("pin", run_pin, "Pin sessions to the top of their agent's list (Codex)");
  add("unpin", run_unpin, "Take the pin away");
}

void Grammar::add_making() {
  CLI::App* fork = durable(
      add_with_session("fork", run_fork, "Copy a session, or the path to one entry, optionally to another agent"));
  add_entry(fork);
  fork->add_option("--title", into_.words, "The title of the fork; default: that of the session, followed by (fork)")
      ->option_text("TITLE");
  fork->add_option("--to", into_.agent, "Write the conversation as a session of this agent, such as opal or claude")
      ->option_text("AGENT")
      ->check(needs("an agent"));
  const auto add_entries = [&](const char* option, std::vector<std::string>& into, const char* help) {
    fork->add_option(option, into, help)
        ->option_text("ENTRY,...")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all()
        ->check(needs("an entry"));
  };
  add_entries("--without", into_.without, "Leave entries out, with the calls or results that belong to them");
  add_entries("--redact-output", into_.without_output,
              "Replace the tool outputs of these entries with a line that says so");
  fork->add_flag("--full", into_.full, "With --to, take the whole path instead of what the model still had of it");
  fork->add_flag("--force", into_.force, "Fork even if the path ends in a tool call without its result");
  CLI::App* create = durable(add_with_store("new", run_new, "Create a session"));
  create->add_option("CWD", into_.cwd, "The working directory; default: the current one")
      ->option_text(" ")
      ->check(needs("a folder"));
  create->add_option("--title", into_.words, "The title of the session")->option_text("TITLE");
  create->add_option("--model", into_.model, "The model with which the session begins")
      ->option_text("PROVIDER/MODEL")
      ->check(complain_of_model);
  create->add_option("-a,--agent", into_.agent, "The agent; default: the first whose sessions arborfs creates")
      ->option_text("AGENT")
      ->check(needs("an agent"));
  create
      ->add_option("--provider", into_.provider,
                   "The module through which Opal reaches the model; default: the one for the model")
      ->option_text("PROVIDER")
      ->check(needs("a provider"));
  create->add_option("--parent-session", into_.parent_session, "The session that the new one continues")
      ->option_text("SESSION")
      ->check(needs("a session"));
  add_checkpoints();
  group_ = "Remove and take back";
  add_removing();
}

void Grammar::add_removing() {
  CLI::App* rm = add_with_store("rm", run_rm, "Move sessions to the trash");
  rm->add_option("SESSION", into_.sessions, kSessionHelp)->required()->option_text(" ")->check(needs("a session"));
  rm->add_flag("--force", into_.force, "Remove them even if an agent may have them open; does not ask");
  rm->add_flag("-y,--yes", into_.yes, "Do not ask");
  add_prune();
  add_protect();
  add_relocate();
  add_undo();
  CLI::App* restore = add_with_store("restore", run_restore, "List the trash, or restore a session");
  restore->add_option("NAME", into_.trashed, "Name in the trash, id, unique prefix of either, or 'latest'")
      ->option_text(" ")
      ->check(needs("a name"));
  CLI::App* trash = add_with_store("trash", run_trash, "List the trash, or delete what is in it for good");
  trash->add_option("ACTION", into_.action, "list (the default) or empty")
      ->option_text(" ")
      ->check(is_one_of({"list", "empty"}));
  trash->add_option("--days", into_.days, "Only sessions that were removed at least N days ago")
      ->option_text("N")
      ->check(complain_of_number);
  trash->add_flag("-n,--dry-run", into_.dry_run, "Only report what would be deleted");
  trash->add_flag("-y,--yes", into_.yes, "Do not ask");
}

void Grammar::add_undo() {
  CLI::App* undo =
      durable(add_with_store("undo", run_undo, "Take back what arborfs changed last, or list its changes"));
  undo->add_flag("--list", into_.list, "List what arborfs changed, oldest first");
  undo->add_flag("--force", into_.force, "Take it back even if an agent may have the session open");
  undo->add_option("ID", into_.operation, "The change to take back, by its id in the list; default: the last one")
      ->option_text(" ")
      ->check(needs("an id"));
}

void Grammar::add_protect() {
  CLI::App* protect =
      add_with_store("protect", run_protect, "Keep sessions from being deleted by their agent, as Claude Code does");
  CLI::Option* all = protect->add_flag("--all", into_.all, "All sessions, by the agent's own settings");
  protect->add_option("SESSION", into_.session, kSessionHelp)
      ->option_text(" ")
      ->check(needs("a session"))
      ->excludes(all);
}

void Grammar::add_relocate() {
  CLI::App* relocate = durable(add_with_store("relocate", run_relocate,
                                              "Take the sessions of a project that was moved to another folder along"));
  relocate->add_option("OLD", into_.moved_from, "The folder that the project was in, or one above it that was moved")
      ->required()
      ->option_text(" ")
      ->check(needs("a folder"));
  relocate->add_option("NEW", into_.moved_to, "The folder that it is in now")
      ->required()
      ->option_text(" ")
      ->check(needs("a folder"));
  relocate->add_flag("-n,--dry-run", into_.dry_run, "Only report what would be relocated");
}

void Grammar::add_checkpoints() {
  CLI::App* checkpoint =
      durable(add_with_session("checkpoint", run_checkpoint, "Save working files of a session (goat)"));
  checkpoint->add_option("NAME", into_.checkpoint, "The name of the checkpoint")
      ->required()
      ->option_text(" ")
      ->check(needs("a name"));
  checkpoint->add_option("FILE", into_.files, "A file to keep; default: those of the last checkpoint")
      ->option_text(" ")
      ->check(needs("a file"));
  CLI::App* rewind = durable(add_change("rewind", run_rewind, "Restore the files of a checkpoint (goat)"));
  rewind->add_option("CHECKPOINT", into_.checkpoint, "Its name, or a unique prefix of at least four characters")
      ->required()
      ->option_text(" ")
      ->check(needs("a checkpoint"));
  rewind->add_flag("-n,--dry-run", into_.dry_run, "Only report what would change");
}

void Grammar::add_prune() {
  CLI::App* prune = add_with_store("prune", run_prune, "Move old sessions to the trash");
  prune->add_option("--keep-days", into_.keep_days, "Keep sessions that were written in the last N days; default: 30")
      ->option_text("N")
      ->check(complain_of_number);
  prune->add_option("--keep-count", into_.keep_count, "Keep the N sessions that were written last; default: 50")
      ->option_text("N")
      ->check(complain_of_number);
  add_choice(prune);
  prune->add_flag("--labelled", into_.labelled, "Also remove sessions that have labels or tags");
  prune->add_flag("-n,--dry-run", into_.dry_run, "Only report what would be removed");
  prune->add_flag("-y,--yes", into_.yes, "Do not ask");
}

CLI::Option* Grammar::add_entry(CLI::App* sub) {
  return sub->add_option("ENTRY", into_.entry, kEntryHelp)->option_text(" ")->check(needs("an entry"));
}

void Grammar::add_checking() {
  group_ = "Check and set up";
  add_with_store("stores", run_stores, "List the stores: agent, folder, sessions, state", Access::look);
  CLI::App* doctor = add_with_store("doctor", run_doctor, "Report damage, and repair it with --repair", Access::look);
  CLI::Option* repair = doctor->add_flag("--repair", into_.repair, "Repair what can be repaired, after making a copy");
  doctor->add_flag("-n,--dry-run", into_.dry_run, "Only report what --repair would do");
  doctor->add_flag("--force", into_.force, "With --repair, also repair sessions that may be live")
      ->needs(repair)
      ->option_text(" ");
  doctor->add_option("SESSION", into_.sessions, "Examine only these; default: the whole store")
      ->option_text(" ")
      ->check(needs("a session"));
  CLI::App* completion = add("completion", run_completion, "Print the completion script for a shell");
  completion->add_option("SHELL", into_.shell, "bash, zsh or fish")
      ->required()
      ->check(is_one_of({"bash", "zsh", "fish"}))
      ->option_text(" ");
  add("skill", run_skill, "Print a skill page (SKILL.md), from which an agent learns to use arborfs");
}

}  // namespace arborfs::cli
