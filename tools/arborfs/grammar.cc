#include "tools/arborfs/grammar.h"

#include <algorithm>
#include <functional>

#include "core/render/text.h"

namespace arborfs::cli {
namespace {

constexpr const char* kSessionHelp = "Path, id, unique prefix of an id, or 'latest'";
constexpr const char* kEntryHelp = "Id, unique prefix of an id (4 or more), number (#42), file name, or label";
constexpr const char* kFooter =
    "A session is named by the path of its log or of its folder in a mount, its id, a\n"
    "unique prefix of the id, or 'latest'. Options may stand before the verb.\n"
    "'arborfs help VERB' prints the options of a verb. Exit status: 0, 1 (failed),\n"
    "2 (usage). See also: man 1 arborfs (options), man 5 arborfs (the tree).";

// What is wrong with a word, "" for nothing.

std::string complain_of_number(const std::string& word) {
  const bool is_number =
      !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? "" : "'" + visible_line(word, kShownOfWord) + "' is no number";
}

/// A check that refuses the empty word, which mostly is a variable of a script that was never set.
std::function<std::string(const std::string&)> needs(const std::string& what) {
  return [what](const std::string& word) { return word.empty() ? what + " is needed, not an empty word" : ""; };
}

/// A check for one of a few words.
std::function<std::string(const std::string&)> is_one_of(const std::vector<std::string>& choices) {
  return [choices](const std::string& word) {
    const bool known = std::find(choices.begin(), choices.end(), word) != choices.end();
    return known ? "" : "'" + visible_line(word, kShownOfWord) + "' is none of " + CLI::detail::join(choices, ", ");
  };
}

std::string complain_of_model(const std::string& word) {
  const std::size_t slash = word.find('/');
  const bool has_both = slash != std::string::npos && slash > 0 && slash + 1 < word.size();
  return has_both ? "" : "'" + visible_line(word, kShownOfWord) + "' is no PROVIDER/MODEL";
}

}  // namespace

Grammar::Grammar(CommandLine& into) : into_(into), app_("Coding agent sessions as a file system", "arborfs") {
  app_.set_version_flag("-V,--version", "arborfs " ARBORFS_VERSION, "Print the version and exit");
  app_.set_help_flag("-h,--help", "Print this help and exit");
  app_.require_subcommand(1);
  app_.footer(kFooter);
  app_.get_formatter()->column_width(kHelpColumn);
  app_.get_formatter()->label("REQUIRED", "");
  app_.get_formatter()->label("SUBCOMMAND", "VERB");
  app_.get_formatter()->label("TEXT", "");
  app_.get_formatter()->label("UINT", "");
  add_mounting();
  add_reading();
  add_writing();
  add_making();
  add_checking();
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

CLI::App* Grammar::add(const char* name, Verb verb, const char* help) {
  CLI::App* sub = app_.add_subcommand(name, help);
  sub->group("Verbs");
  sub->callback([this, verb] { into_.verb = verb; });
  sub->add_flag("--json", into_.json, "Print JSON, errors too");
  verbs_.push_back(sub);
  return sub;
}

CLI::App* Grammar::add_with_store(const char* name, Verb verb, const char* help) {
  CLI::App* sub = add(name, verb, help);
  sub->add_option("--agent-dir", into_.agent_dir,
                  "Where the agent keeps its state; default: $PI_CODING_AGENT_DIR, else ~/.omp/agent")
      ->option_text("DIR")
      ->check(needs("a folder"));
  return sub;
}

CLI::App* Grammar::add_with_session(const char* name, Verb verb, const char* help) {
  CLI::App* sub = add_with_store(name, verb, help);
  sub->add_option("SESSION", into_.session, kSessionHelp)->required()->option_text(" ")->check(needs("a session"));
  return sub;
}

void Grammar::add_mounting() {
  CLI::App* mount = add_with_store("mount", Verb::mount, "Mount the sessions as a directory tree");
  mount->add_flag("-f,--foreground", into_.foreground, "Stay in the foreground and log to standard error");
  mount
      ->add_option("--durability", into_.durability,
                   "synced: a write is on disk before it succeeds (the default); none: left to the kernel")
      ->option_text("HOW")
      ->check(is_one_of({"synced", "none"}));
  mount->add_option("-o,--options", into_.mount_options, "Mount options, separated by commas; see man 1 arborfs")
      ->option_text("OPTIONS")
      ->expected(1)
      ->take_all();
  mount->add_option("MOUNTPOINT", into_.mountpoint, "A folder; what is in it is hidden until it is unmounted")
      ->required()
      ->option_text(" ")
      ->check(needs("a folder"));
  CLI::App* umount = add("umount", Verb::umount, "Unmount");
  umount->add_option("MOUNTPOINT", into_.mountpoint, "Where it is mounted")
      ->required()
      ->option_text(" ")
      ->check(needs("a folder"));
}

void Grammar::add_reading() {
  CLI::App* ls = add_with_store("ls", Verb::ls, "List the sessions, newest first");
  ls->add_option("-n,--limit", into_.limit, "At most so many; 0 for all; default: 30 on a terminal, else all")
      ->option_text("LIMIT")
      ->check(complain_of_number);
  ls->add_option("-p,--project", into_.project,
                 "Only projects with this name, part of a name, or working directory (. for this one)")
      ->option_text("PROJECT")
      ->check(needs("a project"));
  ls->add_flag("-q,--quiet", into_.only_ids, "Only the ids, one a line");
  add_with_session("show", Verb::show, "Show one session: header, state, counts, branches, labels, usage");
  add_with_session("tree", Verb::tree, "Draw the tree of a session");
  add_entry(add_with_session("context", Verb::context, "Print the context that the model would get"));
  add_entry(add_with_session("text", Verb::text, "Print the transcript up to the leaf, or the text of one entry"));
}

CLI::App* Grammar::durable(CLI::App* sub) {
  sub->add_option("--durability", into_.durability,
                  "synced: it is on disk before this succeeds (the default); none: left to the kernel")
      ->option_text("HOW")
      ->check(is_one_of({"synced", "none"}));
  return sub;
}

CLI::App* Grammar::add_change(const char* name, Verb verb, const char* help) {
  CLI::App* sub = add_with_session(name, verb, help);
  sub->add_flag("--force", into_.force, "Although an agent may have the session open");
  return sub;
}

void Grammar::add_words(CLI::App* sub, const char* name, const char* help) {
  sub->add_option(name, into_.words, help)->option_text(" ");
}

void Grammar::add_writing() {
  CLI::App* append = durable(add_change("append", Verb::append, "Append a message, or entries given as JSON"));
  add_words(append, "TEXT", "The message; default: standard input");
  append->add_option("-f,--file", into_.file, "Take it from there; - for standard input")
      ->option_text("FILE")
      ->check(needs("a file"))
      ->excludes("TEXT");
  append->add_option("--at", into_.entry, "Append to this entry instead of the leaf")
      ->option_text("ENTRY")
      ->check(needs("an entry"));
  CLI::App* branch = durable(add_change("branch", Verb::branch, "Move the leaf: the next append goes there"));
  branch->add_option("TARGET", into_.entry, std::string(kEntryHelp) + ", or 'root'")
      ->required()
      ->option_text(" ")
      ->check(needs("an entry"));
  add_words(branch, "SUMMARY", "What was tried on the way that is left");
  branch->add_flag("--pin", into_.pin, "Write an entry there, so that an agent goes on there at once");
  CLI::App* label = durable(add_change("label", Verb::label, "Label an entry, or clear its label"));
  add_entry(label)->required();
  add_words(label, "LABEL", "Default: none, which clears it");
  CLI::App* title = durable(add_change("title", Verb::title, "Give a session another title"));
  title->add_option("TITLE", into_.words, "The title")->required()->option_text(" ");
}

void Grammar::add_making() {
  CLI::App* fork = durable(add_with_session("fork", Verb::fork, "Copy a session, or the way to one entry"));
  add_entry(fork);
  fork->add_option("--title", into_.words, "Its title; default: that of the session, with (fork) behind it")
      ->option_text("TITLE");
  fork->add_flag("--force", into_.force, "Although the way ends in a tool call without its result");
  CLI::App* create = durable(add_with_store("new", Verb::create, "Create a session"));
  create->add_option("CWD", into_.cwd, "Its working directory; default: the current one")
      ->option_text(" ")
      ->check(needs("a folder"));
  create->add_option("--title", into_.words, "Its title")->option_text("TITLE");
  create->add_option("--model", into_.model, "The model to begin with")
      ->option_text("PROVIDER/MODEL")
      ->check(complain_of_model);
  create->add_option("--parent-session", into_.parent_session, "The session that it goes on from")
      ->option_text("SESSION")
      ->check(needs("a session"));
  CLI::App* rm = add_with_store("rm", Verb::rm, "Move sessions to the trash");
  rm->add_option("SESSION", into_.sessions, kSessionHelp)->required()->option_text(" ")->check(needs("a session"));
  rm->add_flag("--force", into_.force, "Although an agent may have them open; does not ask");
  rm->add_flag("-y,--yes", into_.yes, "Do not ask");
  CLI::App* restore = add("restore", Verb::restore, "List the trash, or bring a session back");
  restore->add_option("NAME", into_.trashed, "Name in the trash, a unique prefix of it, or 'latest'")
      ->option_text(" ")
      ->check(needs("a name"));
}

CLI::Option* Grammar::add_entry(CLI::App* sub) {
  return sub->add_option("ENTRY", into_.entry, kEntryHelp)->option_text(" ")->check(needs("an entry"));
}

void Grammar::add_checking() {
  CLI::App* doctor = add_with_store("doctor", Verb::doctor, "Report damage, and mend it if told to");
  CLI::Option* repair = doctor->add_flag("--repair", into_.repair, "Mend what can be mended, after a copy");
  doctor->add_flag("--dry-run", into_.dry_run, "Only say what --repair would do");
  doctor->add_flag("--force", into_.force, "With --repair: also sessions that may be live")
      ->needs(repair)
      ->option_text(" ");
  doctor->add_option("SESSION", into_.sessions, "Only these; default: the whole store")
      ->option_text(" ")
      ->check(needs("a session"));
  CLI::App* completion = add("completion", Verb::completion, "Print the completion script for a shell");
  completion->add_option("SHELL", into_.shell, "bash, zsh or fish")
      ->required()
      ->check(is_one_of({"bash", "zsh", "fish"}))
      ->option_text(" ");
}

}  // namespace arborfs::cli
