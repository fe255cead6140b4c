// The parsed command line. The verbs and their options are defined in grammar.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/store/store_set.h"
#include "tools/arborfs/terminal.h"

namespace arborfs::cli {

struct CommandLine;
/// A verb (verbs.h): a command line in, an exit status out.
using RunVerb = int (*)(const CommandLine& line, Terminal& io);

struct CommandLine {
  RunVerb run = nullptr;          // null: help or the version was printed, or the usage was wrong; see `status`
  Access access = Access::write;  // of the verb to the stores; of doctor, unless it repairs
  int status = 0;
  bool json = false;
  std::string color;                // auto (also ""), always, never
  std::string agent_dir;            // "" if it is not given
  std::vector<std::string> stores;  // AGENT=DIR, checked; none: the own stores of the user's agents

  std::string mountpoint;  // mount, umount
  bool foreground = false;
  std::vector<std::string> mount_options;  // one per -o, commas inside

  std::optional<std::size_t> limit;  // ls; 0 for all
  std::string project;
  std::string agent;                        // fork: the one to fork to
  bool full = false;                        // fork: the whole path
  std::vector<std::string> without;         // fork: lists of entries
  std::vector<std::string> without_output;  // fork: the same
  bool only_ids = false;
  bool children = false;  // ls, files, commands, changes
  std::string state;      // ls: live, maybe, quiet
  bool cost = false;      // ls
  bool size = false;      // ls
  std::string sort;       // ls; "" for modified

  std::vector<std::string> query;  // search, history, resume; tag: those to add
  /// The words of the query, separated by blanks.
  [[nodiscard]] std::string query_text() const;
  std::string title;  // search: the filters with these names
  std::string tag;    // ls too
  std::string path;
  std::string role;  // text too
  std::string tool;
  std::string label;   // ls too
  bool print = false;  // resume
  bool list = false;   // resume; undo

  std::string by;     // stats; "" for day
  std::string since;  // stats, ls, search, history; a word of period.h
  std::string until;
  std::string period;  // instead of both

  std::string session;                // verbs on one session: show to text, append to rewind
  std::vector<std::string> sessions;  // rm; doctor, du: empty for all; du: projects, too
  std::string entry;                  // context, text, append, branch, label, fork
  bool all = false;                   // tail, protect
  bool code = false;                  // text
  std::string branch;                 // text, export, files, commands, changes
  bool all_branches = false;          // export, as the next ones; `children` too
  bool html = false;
  bool markdown = false;
  bool atif = false;
  bool redact = false;
  std::string output;  // a file; "" for standard output

  std::optional<std::string> words;       // a message, a branch's summary, a label, a title (fork, new too)
  std::string file;                       // append; "-" for standard input
  std::vector<std::string> removed_tags;  // tag
  std::string checkpoint;                 // checkpoint, rewind: its name
  std::vector<std::string> files;         // checkpoint
  bool force = false;
  bool pin = false;        // branch
  bool note = false;       // append
  bool queue = false;      // append
  bool repair = false;     // doctor
  bool dry_run = false;    // doctor, prune, relocate, rewind, trash
  bool yes = false;        // rm, prune, trash, export
  std::string durability;  // "synced" (also ""), "none"; mount too
  std::string cwd;         // new
  std::string moved_from;  // relocate
  std::string moved_to;
  std::string model;  // new; ls: a part of its name
  std::string provider;
  std::string parent_session;
  std::string trashed;                   // restore
  std::string operation;                 // undo: its id, "" for the last one
  std::string action;                    // trash: list (also ""), empty
  std::optional<std::size_t> days;       // trash
  std::optional<std::size_t> keep_days;  // prune
  std::optional<std::size_t> keep_count;
  bool labelled = false;

  std::string shell;  // completion
};

/// Reads a command line. Answers --help, --version, `help VERB` and wrong usage itself; sets `io.json_errors`. The
/// options of a verb may come before it. Two plain words without a verb mean `mount`, as mount(8) and fstab call it:
/// SOURCE MOUNTPOINT [-o OPTIONS].
CommandLine read_command_line(int argc, const char* const* argv, Terminal& io);

/// The grammar for tests: every verb with all spellings of its options ("--limit", "-n"). The program's own options are
/// under "".
struct VerbOptions {
  std::string verb;
  std::vector<std::string> options;
};
std::vector<VerbOptions> all_options();

}  // namespace arborfs::cli
