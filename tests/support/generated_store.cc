#include "tests/support/generated_store.h"

#include <algorithm>

#include "core/json/date.h"
#include "core/session/session_name.h"
#include "tests/support/census.h"

namespace arborfs::testing {

namespace fs = std::filesystem;

namespace {

/// The records of an agent's census, and the types under which those that are not shown are counted.
struct Census {
  std::vector<tests::CensusInput> inputs;
  std::map<std::string, std::string> not_shown;
};

const Census& census_of(const std::string& agent) {
  static const std::map<std::string, Census> all = [] {
    std::map<std::string, Census> read;
    for (const tests::CensusAgent& row : tests::census_agents()) {
      Census& census = read[row.name];
      census.inputs = tests::inputs_of(row);
      // A first line stands at the start of a log only; the older omp drops a second header, the newer one lists it.
      std::erase_if(census.inputs, [](const auto& in) {
        return in.is_bare || in.row.starts_with("session, ") || in.row.starts_with("a row of ");
      });
      for (const auto& [name, verdict] : tests::census_of(row)) {
        if (const std::string type = tests::word_after(verdict, "not shown: "); !type.empty()) {
          census.not_shown.emplace(name, type);
        }
      }
    }
    return read;
  }();
  return all.at(agent);
}

bool has_word(const std::string& shape, const char* word) {
  return shape.find(word) != std::string::npos;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// `{"info":…,"parts":[…]}` as the files of a message.
std::string files_of_message(const std::string& record) {
  json::Document parsed;
  EXPECT_TRUE(json::parse(record, parsed));
  const json::Value* info = parsed.IsObject() ? json::member(parsed, "info") : nullptr;
  const std::string path = "storage/message/$session/$id.json\t";
  if (info == nullptr) {
    return path + json::stringify(parsed);
  }
  std::string lines = path + json::stringify(*info);
  std::size_t number = 0;
  for (const json::Value& part : json::member(parsed, "parts")->GetArray()) {
    const std::string name = "prt_" + std::to_string(++number);
    lines += "\nstorage/part/$id/" + name + ".json\t{\"id\":\"" + name +
             R"(","messageID":"$id","sessionID":"$session",)" + json::stringify(part).substr(1);
  }
  return lines;
}

}  // namespace

GeneratedStore::GeneratedStore(const AgentShapes& agent, unsigned number, const fs::path& scratch, Additions additions)
    : agent_(agent),
      additions_(additions),
      scratch_(scratch),
      dir_(scratch / agent.agent),
      is_database_(agent.agent == "opencode" && number % 3 == 0),
      random_(number) {
  for (std::size_t more = 1 + below(2); more > 0; --more) {
    Session& session = add_session();
    open_conversation(session);
    converse(session, below(8));
  }
  const Session& source = *sessions_.front();
  if (!source.ways->fork_member.empty() || agent.forks_bare) {
    add_fork(source);
  }
  if (!source.ways->child_member.empty() || !source.ways->child_logs.empty()) {
    add_child(source);
  }
  add_empty();
  for (const auto& session : sessions_) {
    expect(*session);
    write_session(*session);
  }
  if (additions.copies) {
    copy_anywhere();
  }
  write_files();
  std::erase_if(names_, [](const fs::path& name) { return !fs::exists(name); });  // moved to a database
  if (additions.links) {
    add_links();
  }
}

GeneratedStore::Session& GeneratedStore::add_session() {
  auto& session = *sessions_.emplace_back(std::make_unique<Session>());
  session.number = ++serial_;
  session.ways = &one_of(agent_.generations);
  const std::string id = agent_.id(session.number);
  session.values = {{"session", id}, {"inside", id},
                    {"family", ""},  {"title", session.ways->no_title},
                    {"source", ""},  {"title_text", "title " + std::to_string(session.number)}};
  choose_log(session);
  if (additions_.names) {
    rename(session);
  }
  return session;
}

void GeneratedStore::choose_log(Session& session) {
  session.head = one_of(session.ways->heads);
  do {
    session.log_shape = one_of(session.ways->logs);
  } while (additions_.census && is_document(session.log_shape));  // which has no room for other records
}

/// As the agent wrote it, renamed since, or edited since.
void GeneratedStore::rename(Session& session) {
  const std::size_t way = below(3);
  if (way > 0) {
    session.values[way == 1 ? "session" : "inside"] = agent_.id(session.number + 1000);
  }
}

void GeneratedStore::open_conversation(Session& session) {
  for (std::size_t more = agent_.put_in.empty() ? 0 : below(3); more > 0; --more) {
    add_row(session, Kind::put_in, one_of(agent_.put_in));
  }
  if (!agent_.command.empty() && one_in(4)) {
    add_row(session, Kind::command, agent_.command);
    session.first.emplace(Kind::command, agent_.shown_command);
  }
  if (one_in(6)) {
    say(session, Kind::answer);
  }
  if (!one_in(5)) {
    say(session, Kind::prompt);
  }
  if (one_in(3)) {
    set_title(session);
  }
}

void GeneratedStore::converse(Session& session, std::size_t steps) {
  for (; steps > 0; --steps) {
    add_step(session);
  }
  if (additions_.census) {
    add_census(session);
  }
  say(session, Kind::answer);
}

void GeneratedStore::add_step(Session& session) {
  switch (below(9)) {
    case 0:
      return compact(session);
    case 1:
      return lose_rows(session);
    case 2:
      return take_back(session);
    case 3:
      return say(session, session.ways->rows.contains(Kind::queued) ? Kind::queued : Kind::answer);
    case 4:
      return session.ways->rows.contains(Kind::aside) ? add_row(session, Kind::aside) : say(session, Kind::answer);
    case 5:
    case 6:
      return say(session, Kind::prompt);
    default:
      return say(session, Kind::answer);
  }
}

void GeneratedStore::add_row(Session& session, Kind kind, const std::string& text) {
  const unsigned number = ++serial_;
  const std::string id = "00000000" + std::to_string(number);
  Row row{kind, one_of(session.ways->rows.at(kind)), {}};
  row.values = {{"id", id.substr(id.size() - 8)},
                {"parent", id_or_null(session.last)},
                {"text", text},
                {"time", json::iso_time(kStart_ms + number * 1000)},
                {"at", std::to_string(kStart_ms + number * 1000)}};
  if (kind == Kind::answer) {
    add_usage(session, row);
  }
  // Claude Code's hooks are beside what follows, and rows without an id have no place in the tree.
  const bool is_followed = has_word(row.shape, "$id\"") && (kind != Kind::aside || one_in(2));
  if (is_followed || kind != Kind::aside || agent_.agent != "claude") {
    session.last = row.values["id"];
  }
  session.rows.push_back(std::move(row));
}

void GeneratedStore::add_usage(Session& session, Row& row) {
  const auto amount = [this](std::size_t least) { return static_cast<double>(least + below(500)); };
  const double input = amount(0);
  const double cached = amount(0);
  const double output = amount(1);
  const double cost = static_cast<double>(below(100)) / 128 + serial_ / 131072.0;  // each another one
  session.input += input + cached;
  session.cached += cached;
  session.output += output;
  session.cost += cost;
  for (const auto& [word, number] :
       std::initializer_list<std::pair<const char*, double>>{{"input", input},
                                                             {"cached", cached},
                                                             {"output", output},
                                                             {"cost", cost},
                                                             {"all_input", input + cached},
                                                             {"total", input + cached + output},
                                                             {"sum_input", session.input},
                                                             {"sum_cached", session.cached},
                                                             {"sum_output", session.output},
                                                             {"sum", session.input + session.output}}) {
    row.values[word] = json::number_text(number);
  }
  if (has_word(row.shape, "$output") || has_word(row.shape, "$sum_output")) {
    ++totals_.messages;
    totals_.input += input;
    totals_.output += output;
    totals_.cache_read += cached;
  }
  totals_.cost += has_word(row.shape, "$cost") || has_word(session.head, "$session_cost") ? cost : 0;
}

void GeneratedStore::say(Session& session, Kind kind) {
  const std::string text = "words " + std::to_string(++serial_) + ".";
  if (kind == Kind::prompt) {
    session.prompts.push_back({session.last, session.expected});
  }
  add_row(session, kind, (kind == Kind::prompt && one_in(4) ? agent_.beside : "") + text);
  session.first.emplace(kind == Kind::queued ? Kind::prompt : kind, text);
  session.expected.said.push_back(text);
  session.expected.ends = std::max<std::size_t>(session.expected.ends, 1);
}

void GeneratedStore::compact(Session& session) {
  const auto last =
      std::find_if(session.rows.rbegin(), session.rows.rend(), [](const Row& row) { return row.kind != Kind::aside; });
  if (!session.ways->rows.contains(Kind::compaction) || session.expected.said.empty() ||
      last->kind == Kind::compaction) {
    return say(session, Kind::prompt);
  }
  add_row(session, Kind::compaction);
  session.expected.compactions += 1;
  session.expected.ends = std::max<std::size_t>(session.expected.ends, 1);
  if (!agent_.has_branches) {
    session.prompts.clear();  // those above are not taken back any more
  }
}

/// The user edits an earlier prompt, or takes the last one back.
void GeneratedStore::take_back(Session& session) {
  const bool can_revert = session.ways->rows.contains(Kind::revert);
  if ((!agent_.has_branches && !can_revert) || session.prompts.empty()) {
    return say(session, Kind::prompt);
  }
  const std::size_t at = can_revert ? session.prompts.size() - 1 : below(session.prompts.size());
  const Prompt taken = session.prompts[at];
  const std::size_t ends = session.expected.ends + 1;
  session.prompts.resize(at);
  if (can_revert) {
    add_row(session, Kind::revert);
  }
  session.last = taken.parent;
  session.expected = taken.before;
  session.expected.ends = ends;
  say(session, Kind::prompt);
}

/// What came before a prompt was never written, or is gone.
void GeneratedStore::lose_rows(Session& session) {
  if (!additions_.gaps || !agent_.has_gaps) {
    return say(session, Kind::prompt);
  }
  session.last = "lost" + std::to_string(++serial_);
  session.expected.gaps += 1;
  say(session, Kind::prompt);
  session.prompts.clear();
}

void GeneratedStore::add_census(Session& session) {
  constexpr const char* kIds[] = {"msg_1", "a0000001", "u1", "0000000000000001", "g1", "ig"};
  const Census& census = census_of(agent_.agent);
  for (std::size_t more = 1 + below(8); more > 0; --more) {
    if (one_in(10) && agent_.agent != "opencode") {
      session.rows.push_back(
          {Kind::aside, one_of(Shapes{"not json at all", "torn {", R"({"type":"user",)", "<html>"}), {}});
      session.expected.has_damage = true;
      continue;
    }
    const tests::CensusInput& input = one_of(census.inputs);
    if (is_database_ && input.row == "a message without an id") {
      continue;  // each row has one
    }
    const std::string number = std::to_string(100000 + ++serial_);
    std::vector<std::string> words = input.says;
    Row row{Kind::aside, "", {{"id", "aa" + number}}};
    for (std::string record : input.log) {
      for (const char* id : kIds) {
        replace_all(record, '"' + std::string(id) + '"', "\"$id\"");
      }
      for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string before = record;
        const std::string own = input.says[i] + "-" + number;
        replace_all(record, '"' + input.says[i] + '"', '"' + own + '"');
        words[i] = record == before ? words[i] : own;
      }
      record.pop_back();
      row.shape += (row.shape.empty() ? "" : "\n") + (agent_.agent == "opencode" ? files_of_message(record) : record);
    }
    session.rows.push_back(std::move(row));
    session.expected.words.insert(session.expected.words.end(), words.begin(), words.end());
    if (const auto found = census.not_shown.find(input.row); found != census.not_shown.end()) {
      ++session.expected.not_shown[found->second];
    }
  }
}

void GeneratedStore::set_title(Session& session) {
  session.title = session.values["title_text"];
  if (!session.ways->title_member.empty()) {
    session.values["title"] = filled(session.ways->title_member, session.values);
  }
}

void GeneratedStore::add_fork(const Session& source) {
  Session& fork = add_session();
  const Values own = fork.values;
  const unsigned number = fork.number;
  fork = source;
  fork.number = number;
  fork.values = own;
  fork.values["title"] = source.ways->no_title;
  choose_log(fork);
  fork.values["source"] = source.values.at(agent_.is_named_by_file ? "session" : "inside");
  fork.values["family"] = filled(source.ways->fork_member, fork.values);
  // An old title names a row, which the copy has too.
  fork.values["title_text"] = source.values.at("title_text");
  fork.title = source.ways->title_row.find("$last") == std::string::npos ? "" : source.title;
  fork.prompts.clear();
  for (Row& row : fork.rows) {
    if (!agent_.keeps_ids) {
      row.values["id"] = std::to_string(number) + "f" + row.values["id"];
    } else if (agent_.agent == "codex") {
      row.values["time"] = json::iso_time(kStart_ms + ++serial_ * 1000);  // of the copy
    }
  }
  if (!agent_.keeps_ids) {
    fork.last = fork.rows.empty() ? "" : fork.rows.back().values["id"];
  }
  converse(fork, below(3));
}

void GeneratedStore::add_child(const Session& source) {
  Session& child = add_session();
  child.ways = source.ways;
  child.values["source"] = source.values.at(agent_.is_named_by_file ? "session" : "inside");
  child.values["family"] = filled(source.ways->child_member, child.values);
  child.values["title"] = child.ways->no_title;
  choose_log(child);
  if (!child.ways->child_logs.empty()) {
    child.log_shape = one_of(child.ways->child_logs);
    child.values["session"] = agent_.child_id(child.number);
    child.values["inside"] = child.values["source"];
    child.head = "";
  }
  child.expected.is_child = true;
  say(child, Kind::prompt);
  say(child, Kind::answer);
}

void GeneratedStore::add_empty() {
  add_session().expected.ends = 0;
}

void GeneratedStore::expect(const Session& session) {
  ExpectedSession& expected = expected_.emplace_back(session.expected);
  expected.id = session.values.at(agent_.is_named_by_file ? "session" : "inside");
  expected.name = std::string(kNoConversation);
  for (const Kind kind : {Kind::answer, Kind::command, Kind::prompt}) {
    const auto found = session.first.find(kind);
    expected.name = found == session.first.end() ? expected.name : found->second;
  }
  expected.name = session.title.empty() ? expected.name : session.title;
}

}  // namespace arborfs::testing
