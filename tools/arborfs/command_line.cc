#include "tools/arborfs/command_line.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/render/text.h"
#include "tools/arborfs/access.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kShownOfWord = 80;
constexpr const char* kSessionHelp = "Path, id, unique prefix of an id, or 'latest'";
constexpr const char* kEntryHelp = "Id, unique prefix of an id (4 or more), number (#42), file name, or label";
constexpr const char* kFooter =
    "A session is named by the path of its log or of its folder in a mount, its id, a\n"
    "unique prefix of the id, or 'latest'. Exit status: 0, 1 (failed), 2 (usage).\n"
    "See also: man 1 arborfs (options), man 5 arborfs (the tree).";

// What is wrong with a word, "" for nothing.

std::string complain_of_number(const std::string& word) {
  const bool is_number =
      !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? "" : "'" + visible_line(word, kShownOfWord) + "' is no number";
}

std::string complain_of_nothing(const std::string& word) {
  return word.empty() ? "a folder is needed, not an empty word" : "";
}

std::string complain_of_model(const std::string& word) {
  const std::size_t slash = word.find('/');
  const bool has_both = slash != std::string::npos && slash > 0 && slash + 1 < word.size();
  return has_both ? "" : "'" + visible_line(word, kShownOfWord) + "' is no PROVIDER/MODEL";
}

/// The grammar, bound to the CommandLine that it fills.
class Grammar {
 public:
  explicit Grammar(CommandLine& into) : into_(into), app_("Coding agent sessions as a file system", "arborfs") {
    app_.set_version_flag("--version", "arborfs " ARBORFS_VERSION, "Print the version and exit");
    app_.set_help_flag("-h,--help", "Print this help and exit");
    app_.require_subcommand(1);
    app_.footer(kFooter);
    app_.get_formatter()->column_width(28);
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

  CLI::App& app() { return app_; }
  const std::vector<CLI::App*>& verbs() const { return verbs_; }
  bool has_verb(const std::string& word) const {
    return std::any_of(verbs_.begin(), verbs_.end(), [&](CLI::App* sub) { return sub->get_name() == word; });
  }

 private:
  CLI::App* add(const char* name, Verb verb, const char* help) {
    CLI::App* sub = app_.add_subcommand(name, help);
    sub->group("Verbs");
    sub->callback([this, verb] { into_.verb = verb; });
    sub->add_flag("--json", into_.json, "Print JSON");
    verbs_.push_back(sub);
    return sub;
  }

  CLI::App* add_with_store(const char* name, Verb verb, const char* help) {
    CLI::App* sub = add(name, verb, help);
    sub->add_option("--agent-dir", into_.agent_dir,
                    "Where the agent keeps its state; default: $PI_CODING_AGENT_DIR, else ~/.omp/agent")
        ->option_text("DIR");
    return sub;
  }

  CLI::App* add_with_session(const char* name, Verb verb, const char* help) {
    CLI::App* sub = add_with_store(name, verb, help);
    sub->add_option("SESSION", into_.session, kSessionHelp)->required()->option_text(" ");
    return sub;
  }

  void add_mounting() {
    CLI::App* mount = add_with_store("mount", Verb::mount, "Mount the sessions as a directory tree");
    mount->add_flag("-f,--foreground", into_.foreground, "Stay in the foreground and log to standard error");
    mount
        ->add_option("--durability", into_.durability,
                     "synced: a write is on disk before it succeeds (the default); none: left to the kernel")
        ->option_text("HOW")
        ->check(CLI::IsMember({"synced", "none"}));
    mount->add_option("-o,--options", into_.mount_options, "Mount options, separated by commas; see man 1 arborfs")
        ->option_text("OPTIONS")
        ->expected(1)
        ->take_all();
    mount->add_option("MOUNTPOINT", into_.mountpoint, "A folder; what is in it is hidden until it is unmounted")
        ->required()
        ->option_text(" ");
    CLI::App* umount = add("umount", Verb::umount, "Unmount");
    umount->add_option("MOUNTPOINT", into_.mountpoint, "Where it is mounted")->required()->option_text(" ");
  }

  void add_reading() {
    CLI::App* ls = add_with_store("ls", Verb::ls, "List the sessions, newest first");
    ls->add_option("-n,--limit", into_.limit, "At most so many; 0 for all; default: 30 on a terminal, else all")
        ->option_text("LIMIT")
        ->check(complain_of_number);
    ls->add_option("-p,--project", into_.project, "Only this project, by name or working directory")
        ->option_text("PROJECT");
    ls->add_flag("-q,--quiet", into_.only_ids, "Only the ids, one a line");
    add_with_session("show", Verb::show, "Show one session: header, state, counts, branches, labels, usage");
    add_with_session("tree", Verb::tree, "Draw the tree of a session");
    add_entry(add_with_session("context", Verb::context, "Print the context that the model would get"));
    add_entry(add_with_session("text", Verb::text, "Print the transcript up to the leaf, or the text of one entry"));
  }

  CLI::App* durable(CLI::App* sub) {
    sub->add_option("--durability", into_.durability,
                    "synced: it is on disk before this succeeds (the default); none: left to the kernel")
        ->option_text("HOW")
        ->check(CLI::IsMember({"synced", "none"}));
    return sub;
  }

  CLI::App* add_change(const char* name, Verb verb, const char* help) {
    CLI::App* sub = add_with_session(name, verb, help);
    sub->add_flag("--force", into_.force, "Although an agent may have the session open");
    return sub;
  }

  void add_words(CLI::App* sub, const char* name, const char* help) {
    sub->add_option(name, into_.words, help)->option_text(" ");
  }

  void add_writing() {
    CLI::App* append = durable(add_change("append", Verb::append, "Append a message, or entries given as JSON"));
    add_words(append, "TEXT", "The message; default: standard input");
    append->add_option("-f,--file", into_.file, "Take it from there; - for standard input")
        ->option_text("FILE")
        ->excludes("TEXT");
    append->add_option("--at", into_.entry, "Append to this entry instead of the leaf")->option_text("ENTRY");
    CLI::App* branch = durable(add_change("branch", Verb::branch, "Move the leaf: the next append goes there"));
    branch->add_option("TARGET", into_.entry, std::string(kEntryHelp) + ", or 'root'")->required()->option_text(" ");
    add_words(branch, "SUMMARY", "What was tried on the way that is left");
    CLI::App* label = durable(add_change("label", Verb::label, "Label an entry, or clear its label"));
    label->add_option("ENTRY", into_.entry, kEntryHelp)->required()->option_text(" ");
    add_words(label, "LABEL", "Default: none, which clears it");
    CLI::App* title = durable(add_change("title", Verb::title, "Give a session another title"));
    title->add_option("TITLE", into_.words, "The title")->required()->option_text(" ");
  }

  void add_making() {
    CLI::App* fork = durable(add_with_session("fork", Verb::fork, "Copy a session, or the way to one entry"));
    fork->add_option("ENTRY", into_.entry, kEntryHelp)->option_text(" ");
    fork->add_flag("--force", into_.force, "Although the way ends in a tool call without its result");
    CLI::App* create = durable(add_with_store("new", Verb::create, "Create a session"));
    create->add_option("CWD", into_.cwd, "Its working directory; default: the current one")
        ->option_text(" ")
        ->check(complain_of_nothing);
    create->add_option("--title", into_.words, "Its title")->option_text("TITLE");
    create->add_option("--model", into_.model, "The model to begin with")
        ->option_text("PROVIDER/MODEL")
        ->check(complain_of_model);
    create->add_option("--parent-session", into_.parent_session, "The session that it goes on from")
        ->option_text("SESSION");
    CLI::App* rm = add_change("rm", Verb::rm, "Move a session to the trash");
    rm->add_flag("-y,--yes", into_.yes, "Do not ask");
    CLI::App* restore = add("restore", Verb::restore, "List the trash, or bring a session back");
    restore->add_option("NAME", into_.trashed, "Name in the trash, a unique prefix of it, or 'latest'")
        ->option_text(" ");
  }

  void add_entry(CLI::App* sub) { sub->add_option("ENTRY", into_.entry, kEntryHelp)->option_text(" "); }

  void add_checking() {
    CLI::App* doctor = add_with_store("doctor", Verb::doctor, "Report damage, and mend it if told to");
    CLI::Option* repair = doctor->add_flag("--repair", into_.repair, "Mend what can be mended, after a copy");
    doctor->add_flag("--dry-run", into_.dry_run, "Only say what --repair would do");
    doctor->add_flag("--force", into_.force, "With --repair: also sessions that may be live")->needs(repair);
    doctor->add_option("SESSION", into_.sessions, "Only these; default: the whole store")->option_text(" ");
    CLI::App* completion = add("completion", Verb::completion, "Print the completion script for a shell");
    completion->add_option("SHELL", into_.shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->option_text(" ");
  }

  CommandLine& into_;
  CLI::App app_;
  std::vector<CLI::App*> verbs_;
};

bool is_directory(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

/// SOURCE of fstab: a folder, or a word for the user's own.
bool is_mount_source(const std::string& word) {
  return word.empty() || word == "none" || word == "arborfs" || word.find('/') != std::string::npos ||
         is_directory(word);
}

/// `arborfs SOURCE MOUNTPOINT [-o OPTIONS]` as `arborfs mount --agent-dir=SOURCE MOUNTPOINT [-o OPTIONS]`.
std::vector<std::string> with_verb(std::vector<std::string> words) {
  if (words.size() < 2 || words[1].substr(0, 1) == "-" || !is_mount_source(words[0])) {
    return words;
  }
  const std::string source = words[0];
  words[0] = "mount";
  if (!source.empty() && source != "none" && source != "arborfs") {
    words.insert(words.begin() + 1, "--agent-dir=" + source);
  }
  return words;
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-';
}

/// What is wrong, in words of this program.
std::string complaint(const CLI::ParseError& error, const std::vector<std::string>& words, bool knows_verb) {
  if (knows_verb) {
    return error.what();
  }
  return words.empty() || is_option(words[0]) ? "a verb is needed" : "no verb '" + words[0] + "'";
}

}  // namespace

CommandLine read_command_line(int argc, const char* const* argv, Terminal& io) {
  CommandLine line;
  Grammar grammar(line);
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!grammar.has_verb(words.empty() ? "" : words[0])) {
    words = with_verb(std::move(words));
  }
  const bool knows_verb = !words.empty() && grammar.has_verb(words[0]);
  try {
    // CLI11 wants a vector in reverse.
    grammar.app().parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& stop) {
    line.verb = Verb::none;
    if (stop.get_exit_code() != 0) {
      line.status = misused(io, knows_verb ? words[0] : "", complaint(stop, words, knows_verb));
    } else if (dynamic_cast<const CLI::CallForVersion*>(&stop) != nullptr) {
      io.out << grammar.app().version() << "\n";
    } else {
      io.out << grammar.app().help();
    }
  }
  return line;
}

std::vector<VerbOptions> all_options() {
  CommandLine unused;
  Grammar grammar(unused);
  std::vector<CLI::App*> apps = grammar.verbs();
  apps.insert(apps.begin(), &grammar.app());
  std::vector<VerbOptions> all;
  for (CLI::App* app : apps) {
    VerbOptions of{app == &grammar.app() ? "" : app->get_name(), {}};
    for (const CLI::Option* option : app->get_options()) {
      for (const auto& name : option->get_lnames()) {
        of.options.push_back("--" + name);
      }
      for (const auto& name : option->get_snames()) {
        of.options.push_back("-" + name);
      }
    }
    all.push_back(std::move(of));
  }
  return all;
}

}  // namespace arborfs::cli
