#include "core/formats/claude/session_head.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"

namespace arborfs::claude {
namespace {

constexpr std::uint64_t kEnd = 64 * 1024;
constexpr std::string_view kAgentPrefix = "agent-";       // begins the name of a sub-agent's transcript
constexpr std::string_view kOfSubAgents = "/subagents/";  // in a place: between the session and its sub-agents
/// Usually enough for the first rows of the tree.
constexpr std::uint64_t kShortEnd = 4 * 1024;

Result<std::string> read_piece(const LogSource& log, std::uint64_t offset, std::uint64_t length) {
  std::string piece(static_cast<std::size_t>(length), '\0');
  ASSIGN_OR_RETURN(const auto got, log.read_at(offset, piece));
  piece.resize(got);
  return piece;
}

/// Rows of bookkeeping are short, and usually begin with their type; others are skipped.
bool may_be_note(std::string_view line) {
  constexpr std::size_t kLongestOdd = 512;
  return line.starts_with(R"({"type":")") ? !line.starts_with(R"({"type":"api-)") : line.size() <= kLongestOdd;
}

/// The facts from the bookkeeping in a piece of the log (claude/FORMAT.md D). The last row of a kind counts.
struct Notes {
  std::optional<std::string> custom_title;
  std::optional<std::string> made_title;
  std::optional<std::string> cwd;
  std::map<std::string, double> costs;  // of whole sessions so far, by the id of the session

  void take(std::string_view line) {
    if (!may_be_note(line) || json::scan_value(line, 0).verdict != json::ValueScanner::Verdict::value) {
      return;
    }
    const std::string_view type = skim::member(line, "type");
    if (skim::is_string(type, "custom-title")) {
      replace(custom_title, line, "customTitle");
    } else if (skim::is_string(type, "ai-title")) {
      replace(made_title, line, "aiTitle");
    } else if (skim::is_string(type, "relocated")) {
      replace(cwd, line, "relocatedCwd");
    } else if (skim::is_string(type, "cost-state")) {
      const std::string_view told = skim::member(line, "totalCostUSD");
      const bool is_number = !told.empty() && told.front() >= '0' && told.front() <= '9';
      if (is_number) {
        double& cost = costs[skim::string_value(skim::member(line, "sessionId")).value_or("")];
        cost = std::max(cost, json::number_value(told));
      }
    }
  }

 private:
  static void replace(std::optional<std::string>& field, std::string_view line, std::string_view key) {
    if (auto found = skim::string_value(skim::member(line, key))) {
      field = std::move(found);
    }
  }
};

/// Calls visit(line) for each line that begins an object; the last one may lack bytes.
template <class Visit>
void each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (text.front() == '{') {
      visit(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Notes notes_in(std::string_view text) {
  Notes notes;
  each_line(text, [&notes](std::string_view line) { notes.take(line); });
  return notes;
}

/// The facts from the rows at the start.
struct Start {
  std::optional<std::string> session;
  std::optional<std::string> agent;  // the id of a sub-agent
  std::optional<std::string> cwd;
  std::optional<std::string> timestamp;
  std::string native;

  [[nodiscard]] bool is_complete() const { return session && cwd && timestamp; }
};

void note(std::optional<std::string>& field, std::string_view object, std::string_view key) {
  if (!field) {
    field = skim::string_value(skim::member(object, key));
  }
}

/// The members of the first row of the tree that describe the start of the session.
std::string native_header(std::string_view row) {
  json::Document value;
  json::Document native(rapidjson::kObjectType);
  if (json::parse(row, value) && value.IsObject()) {
    for (const char* key :
         {"sessionId", "agentId", "cwd", "version", "gitBranch", "entrypoint", "userType", "timestamp"}) {
      if (const json::Value* member = json::member(value, key)) {
        json::set(native, key, json::copy(*member, native), native);
      }
    }
  }
  return json::stringify(native);
}

/// Adds the facts of a row that no earlier row had.
void note_row(std::string_view line, Start& start) {
  note(start.session, line, "sessionId");
  note(start.cwd, line, "cwd");
  if (skim::member(line, "uuid").empty()) {
    return;
  }
  note(start.timestamp, line, "timestamp");
  if (start.native.empty()) {
    start.native = native_header(line);
    if (skim::is_truthy(skim::member(line, "isSidechain"))) {
      note(start.agent, line, "agentId");
    }
  }
}

void read_rows_of(std::string_view text, Start& start) {
  each_line(text, [&start](std::string_view line) {
    if (!start.is_complete()) {
      note_row(line, start);
    }
  });
}

/// What the names of the file and of its folders tell (claude/FORMAT.md A3, A6).
struct Named {
  std::string id;
  std::string starter;  // of a sub-agent
  bool is_sub_agent = false;
};

Named named_by(std::string_view place, const Start& start) {
  Named named{std::string(stem_of_place(place)), "", false};
  if (place.empty()) {
    named.is_sub_agent = start.agent.has_value();
    named.id = named.is_sub_agent ? std::string(kAgentPrefix) + *start.agent : start.session.value_or("");
  } else {
    named.is_sub_agent = named.id.starts_with(kAgentPrefix);
  }
  if (const std::size_t folder = place.find(kOfSubAgents); folder != std::string_view::npos) {
    named.is_sub_agent = true;
    named.starter = place.substr(0, folder);
    named.starter.erase(0, named.starter.rfind('/') + 1);
  } else if (named.is_sub_agent) {
    named.starter = start.session.value_or("");
  }
  return named;
}

Header header_of(const Start& start, std::string_view place) {
  Header header;
  header.valid = true;  // a log without rows of its own is normal (D4)
  header.json = start.native.empty() ? "{}" : start.native;
  Named named = named_by(place, start);
  header.id = std::move(named.id);
  header.parent_session = named.starter;
  header.started_by = std::move(named.starter);
  header.cwd = start.cwd.value_or("");
  header.timestamp = start.timestamp.value_or("");
  return header;
}

/// The two ends of a log, which overlap if it is short.
class Ends {
 public:
  Ends(const LogSource& log, std::uint64_t size) : log_(log), size_(size) {}

  /// True if the end has all lines.
  [[nodiscard]] bool is_short() const { return size_ <= kEnd; }
  /// The start, at least `wanted` bytes of it if the log has them.
  Result<std::string_view> head(std::uint64_t wanted) {
    wanted = std::min(wanted, size_);
    if (head_.size() < wanted) {
      ASSIGN_OR_RETURN(head_, read_piece(log_, 0, wanted));
    }
    return std::string_view(head_);
  }
  /// The whole lines at the end.
  Result<std::string_view> tail() {
    const std::uint64_t from = size_ > kEnd ? size_ - kEnd : 0;
    ASSIGN_OR_RETURN(tail_, read_piece(log_, from, size_ - from));
    std::string_view lines = tail_;
    if (from != 0) {
      lines.remove_prefix(std::min(lines.find('\n'), lines.size()));
    }
    return lines;
  }

 private:
  const LogSource& log_;
  const std::uint64_t size_;
  std::string head_;
  std::string tail_;
};

/// For each kind of title, the one at the end of the log counts, else the one at its start.
Result<std::string> find_title(Ends& ends, const Notes& tail) {
  for (const auto title : {&Notes::custom_title, &Notes::made_title}) {
    const auto& at_end = tail.*title;
    if (at_end && !at_end->empty()) {
      return *at_end;
    }
    if (ends.is_short()) {
      continue;
    }
    ASSIGN_OR_RETURN(const auto head, ends.head(kEnd));
    auto at_start = notes_in(head).*title;
    if (at_start && !at_start->empty()) {
      return *std::move(at_start);
    }
  }
  return std::string();
}

/// The cost of the session. Rows of a session that this one continues name that one; those of a renamed log do, too,
/// but there no row names the session as its file is called now.
std::optional<double> cost_in(const Notes& notes, const std::string& id, const std::string& first_id,
                              std::string_view tail) {
  const bool is_named = tail.find("\"" + id + "\"") != std::string_view::npos;
  const auto cost = notes.costs.find(is_named ? id : first_id);
  return cost == notes.costs.end() ? std::nullopt : std::optional(cost->second);
}

}  // namespace

Result<Header> read_session_head(const LogSource& log) {
  ASSIGN_OR_RETURN(const auto size, log.size());
  Ends ends(log, size);
  Start start;
  for (const std::uint64_t wanted : {kShortEnd, kEnd}) {
    if (!start.is_complete()) {
      ASSIGN_OR_RETURN(const auto head, ends.head(wanted));
      start = Start();
      read_rows_of(head, start);
    }
  }
  ASSIGN_OR_RETURN(const auto tail, ends.tail());
  read_rows_of(tail, start);
  Header header = header_of(start, log.place());
  const Notes notes = notes_in(tail);
  header.cwd = notes.cwd.value_or(header.cwd);
  header.cost = cost_in(notes, header.id, start.session.value_or(""), tail);
  ASSIGN_OR_RETURN(header.title, find_title(ends, notes));
  if (header.title.empty()) {
    header.title = log.metadata().value_or("");
  }
  return header;
}

}  // namespace arborfs::claude
