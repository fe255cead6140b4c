// Stores of every agent, generated: sessions of all ages, with rows that stand there twice, forks with the history of
// their source, sub-agents, compactions, gaps, renamed and compressed logs, links, records of old and of unknown types,
// an empty log. Each knows by its making what must be found in it.
#pragma once

#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/log/log_index.h"
#include "core/session/catalog.h"
#include "tests/support/agent_shapes.h"

namespace arborfs::testing {

struct ExpectedSession {
  std::string id;                 // what the agent's own resume command looks up
  std::string name;               // of a session without any text: kNoConversation
  std::vector<std::string> said;  // on the way to its leaf: what was typed and answered
  std::size_t compactions = 0;    // on that way
  std::size_t gaps = 0;
  std::size_t ends = 0;  // of conversations
  bool is_child = false;
  std::vector<std::string> words;  // of the records of the census
  RecordCounts::ByType not_shown;  // among them
  bool has_damage = false;         // lines that are not JSON
};

struct ExpectedTotals {
  std::uint64_t messages = 0;
  double input = 0;
  double output = 0;
  double cache_read = 0;
  double cost = 0;
};

/// What a store has besides conversations, forks and sub-agents.
struct Additions {
  bool copies = false;   // rows that stand there again, anywhere
  bool repeats = false;  // the same, after the row itself and before the last one: they change no conversation
  bool gaps = false;
  bool names = false;   // renamed files, edited ids
  bool census = false;  // records of every kind that is known, of others, and lines that are none
  bool links = false;   // links, loops, other types of files, second names
};

inline constexpr std::int64_t kStart_ms = 1'777'629'600'000;  // 2026-05-01T10:00:00Z
/// True for a log that is one JSON object (codex/FORMAT.md B6).
inline bool is_document(const std::string& log) {
  return log.ends_with(".json") && log.find("rollout-") != std::string::npos;
}
inline std::string id_or_null(const std::string& id) {
  return id.empty() ? "null" : '"' + id + '"';
}

class GeneratedStore {
 public:
  /// Writes the store of this number below `scratch`, which it empties.
  GeneratedStore(const AgentShapes& agent, unsigned number, const std::filesystem::path& scratch, Additions additions);

  [[nodiscard]] std::unique_ptr<Catalog> open() const;
  [[nodiscard]] const std::vector<ExpectedSession>& sessions() const { return expected_; }
  [[nodiscard]] const ExpectedTotals& totals() const { return totals_; }
  /// Every name of a log.
  [[nodiscard]] const std::set<std::filesystem::path>& names() const { return names_; }

 private:
  struct Row {
    Kind kind;
    std::string shape;
    Values values;
  };
  struct Prompt {
    std::string parent;
    ExpectedSession before;
  };
  struct Session {
    unsigned number = 0;
    const Generation* ways = nullptr;
    Values values;
    std::string head;  // shapes
    std::string log_shape;
    std::vector<Row> rows;
    ExpectedSession expected;
    std::string last;                   // the id of the row that the next one follows
    std::map<Kind, std::string> first;  // the first words of each kind
    std::string title;
    double input = 0;  // the running sums
    double cached = 0;
    double output = 0;
    double cost = 0;
    std::vector<Prompt> prompts;  // on the way to `last`, and what was before each
  };
  using Lines = std::vector<std::string>;

  std::size_t below(std::size_t end) { return random_() % end; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  const auto& one_of(const List& list) {
    return *std::next(list.begin(), static_cast<std::ptrdiff_t>(below(list.size())));
  }

  Session& add_session();
  void choose_log(Session& session);
  void converse(Session& session, std::size_t steps);
  void open_conversation(Session& session);
  void add_step(Session& session);
  void add_row(Session& session, Kind kind, const std::string& text = "");
  void say(Session& session, Kind kind);
  void add_usage(Session& session, Row& row);
  void compact(Session& session);
  void take_back(Session& session);
  void lose_rows(Session& session);
  void add_census(Session& session);
  void set_title(Session& session);
  void add_fork(const Session& source);
  void add_child(const Session& source);
  void add_empty();
  void rename(Session& session);

  void expect(const Session& session);
  void write_session(const Session& session);
  void write_rows(const Session& session, const std::string& shape, const Values& own, Lines& log);
  void copy_lines(Lines& log, std::size_t head);
  void copy_anywhere();
  void write_files() const;
  void write_database() const;
  void add_links();
  void add_link(std::size_t kind);
  void add_linked_folder();
  std::filesystem::path new_name();
  std::filesystem::path new_name(const std::string& shape);
  std::filesystem::path outside_log();

  const AgentShapes& agent_;
  const Additions additions_;
  const std::filesystem::path scratch_;
  const std::filesystem::path dir_;
  const bool is_database_;  // OpenCode's
  std::mt19937 random_;
  unsigned serial_ = 0;  // of sessions, rows and files
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<ExpectedSession> expected_;
  ExpectedTotals totals_;
  std::map<std::string, Lines> files_;           // by their paths in the store
  std::map<std::string, std::size_t> heads_of_;  // how many lines of a log are no rows
  std::set<std::filesystem::path> names_;
};

}  // namespace arborfs::testing
