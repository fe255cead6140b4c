// How each agent spells the sessions of a generated store (generated_store.h): the shapes of its files and rows, those
// of older versions too. A shape is text in which $words stand for values; several lines of it are several rows. A line
// `<path><tab><text>` goes to the end of that file of the store instead of the log.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace arborfs::testing {

enum class Kind {
  prompt,      // typed by a person
  queued,      // the same, while the agent worked
  answer,      // with usage, if the agent records any
  put_in,      // a text of the program in the user's name
  command,     // one that a person typed
  aside,       // settings and notices that are no part of the conversation
  compaction,  // the model has only a summary of what is above
  revert,      // takes back the last prompt and all that followed
};

using Shapes = std::vector<std::string>;  // alternatives

/// What the versions of one age write.
struct Generation {
  Shapes logs;   // paths below the store
  Shapes heads;  // the rows before the first
  std::map<Kind, Shapes> rows;
  std::string title_row = "";     // "" if the title is a member
  std::string title_member = "";  // the value of $title in the head
  std::string no_title = "";      // that of a session without a title
  std::string fork_member = "";   // the value of $family in the head of a fork of the session $source
  std::string child_member = "";  // and in that of a session which $source started
  Shapes child_logs = {};         // if they have paths of their own
};

struct AgentShapes {
  std::string agent;
  std::vector<Generation> generations;
  std::string (*id)(unsigned number);
  std::string (*child_id)(unsigned number) = nullptr;  // if it has another form
  Shapes put_in = {};                                  // texts
  std::string beside = "";                             // what a program may put before a prompt
  std::string command = "";                            // as it is recorded, and as it is shown
  std::string shown_command = "";
  bool is_named_by_file = true;     // the id follows the name of the file, whatever the records say
  bool has_row_ids = true;          // a row that stands there twice is known by its id
  bool copies_stay_in_log = false;  // a row means nothing in another log: running sums
  bool has_branches = false;        // a prompt can follow an earlier row than the last one
  bool has_gaps = false;            // rows can be lost, and the order of the others is that of the conversation
  bool keeps_ids = true;            // a fork has the ids of its source's rows
  bool forks_bare = false;          // a fork is a copy that nothing marks as one
};

inline void PrintTo(const AgentShapes& agent, std::ostream* out) {
  *out << agent.agent;
}

/// Of the seven agents.
const std::vector<AgentShapes>& agent_shapes();

using Values = std::map<std::string, std::string, std::less<>>;
/// The shape with the values in it: those of `own`, else those of `common`. A word without a value stays.
std::string filled(std::string_view shape, const Values& own, const Values& common = {});

}  // namespace arborfs::testing
