#include "core/formats/claude/session_head.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/base/result_macros.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/number.h"
#include "core/json/scan.h"

namespace arborfs::claude {
namespace {

constexpr std::uint64_t kEnd = 64 * 1024;
/// Enough, as a rule, for the rows at the start, and for those that the program writes again at the end.
constexpr std::uint64_t kShortEnd = 4 * 1024;

Result<std::string> read_piece(const LogSource& log, std::uint64_t offset, std::uint64_t length) {
  std::string piece(static_cast<std::size_t>(length), '\0');
  ASSIGN_OR_RETURN(const auto got, log.read_at(offset, piece));
  piece.resize(got);
  return piece;
}

/// Calls visit(line) for each line of the piece that has `word`; the first and the last one may lack bytes.
template <class Visit>
void each_line_with(std::string_view text, std::string_view word, const Visit& visit) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at)) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    visit(text.substr(begin, end - begin));
    at = end;
  }
}

/// False also for a line that lacks bytes.
bool is_row(std::string_view line, std::string_view type) {
  return line.starts_with('{') && json::scan_value(line, 0).verdict == json::ValueScanner::Verdict::value &&
         skim::is_string(skim::member(line, "type"), type);
}

/// The string that the last row of a type has.
std::optional<std::string> last_of(std::string_view text, std::string_view type, std::string_view key) {
  std::optional<std::string> last;
  each_line_with(text, '"' + std::string(key) + '"', [&](std::string_view line) {
    if (is_row(line, type)) {
      auto found = skim::string_value(skim::member(line, key));
      last = found ? std::move(found) : last;
    }
  });
  return last;
}

/// What the rows at the start say.
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

/// The members of the first row of the tree that say how the session began.
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

/// Adds what is still missing.
void read_rows_of(std::string_view text, Start& start) {
  while (!text.empty() && !start.is_complete()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with('{')) {
      continue;
    }
    note(start.session, line, "sessionId");
    note(start.cwd, line, "cwd");
    if (skim::member(line, "uuid").empty()) {
      continue;
    }
    note(start.timestamp, line, "timestamp");
    if (start.native.empty()) {
      start.native = native_header(line);
      if (skim::is_truthy(skim::member(line, "isSidechain"))) {
        note(start.agent, line, "agentId");
      }
    }
  }
}

struct TitleSource {
  std::string_view type;
  std::string_view key;
};
constexpr std::array kTitleSources{TitleSource{"custom-title", "customTitle"}, TitleSource{"ai-title", "aiTitle"}};

std::string title_in(std::string_view text, const TitleSource& source) {
  return last_of(text, source.type, source.key).value_or("");
}

/// The cost in the last row that tells it; it is that of the whole session so far.
std::optional<double> cost_in(std::string_view text) {
  std::optional<double> cost;
  each_line_with(text, "\"totalCostUSD\"", [&](std::string_view line) {
    const std::string_view found = is_row(line, "cost-state") ? skim::member(line, "totalCostUSD") : "";
    if (!found.empty() && (found.front() == '0' || (found.front() >= '1' && found.front() <= '9'))) {
      cost = json::number_value(found);
    }
  });
  return cost;
}

Header header_of(const Start& start) {
  Header header;
  header.valid = start.session.has_value();
  header.problem = header.valid ? "" : "no row of the log names its session";
  header.json = !header.valid ? "" : start.native.empty() ? "{}" : start.native;
  header.id = start.session.value_or("");
  if (start.agent) {
    header.parent_session = header.id;
    header.id = "agent-" + *start.agent;
  }
  header.cwd = start.cwd.value_or("");
  header.timestamp = start.timestamp.value_or("");
  return header;
}

/// The two ends of a log, which overlap if it is short.
class Ends {
 public:
  Ends(const LogSource& log, std::uint64_t size) : log_(log), size_(size) {}

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

/// Of each kind of title the last one at the end of the log counts, else the last one at its start.
Result<std::string> find_title(Ends& ends, std::string_view tail) {
  for (const TitleSource& source : kTitleSources) {
    std::string title = title_in(tail, source);
    if (title.empty()) {
      ASSIGN_OR_RETURN(const auto head, ends.head(kEnd));
      title = title_in(head, source);
    }
    if (!title.empty()) {
      return title;
    }
  }
  return std::string();
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
  Header header = header_of(start);
  header.cwd = last_of(tail, "relocated", "relocatedCwd").value_or(header.cwd);
  header.cost = cost_in(tail);
  ASSIGN_OR_RETURN(header.title, find_title(ends, tail));
  return header;
}

}  // namespace arborfs::claude
