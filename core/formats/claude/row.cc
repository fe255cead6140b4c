#include "core/formats/claude/row.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/json/places.h"
#include "core/json/scan.h"
#include "core/log/record_fields.h"

namespace arborfs::claude {
namespace {

// The types of rows that say nothing to people, or whose words are shown elsewhere (claude/FORMAT.md B5). Pure; any
// thread.

constexpr std::array<std::string_view, 41> kBookkeeping = {
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
    "atis-latch",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "context-collapse-commit",
    "context-collapse-snapshot",
    "continued-in",
    "cost-state",
    "custom-title",
    "ended-by-model",
    "file-history-delta",
    "file-history-snapshot",
    "fork-context-ref",
    "frame-link",
    "history-suppression",
    "isolation-latch",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-reset",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "speculation-accept",
    "summary",
    "tag",
    "task-summary",
    "tools-used",
    "worktree-state",
};

bool is_bookkeeping(std::string_view type) {
  return std::find(kBookkeeping.begin(), kBookkeeping.end(), type) != kBookkeeping.end();
}

/// Longer lines are read without an index of their places, which would be many times as long.
constexpr std::size_t kLongestPlaced = 256 * 1024;
static_assert(json::kEscapePadding <= RowParser::kPadding);

/// Dumps of requests may make up most of a log (claude/FORMAT.md B5); they are not checked.
constexpr std::string_view kRequestDump = R"({"type":"api-request)";

/// The text of a string, "" for other values.
template <class Value>
std::string_view text_of(const Value& value, std::deque<std::string>& texts) {
  if (value.lead() != '"') {
    return {};
  }
  const std::string_view literal = value.literal();
  if (literal.find('\\') == std::string_view::npos) {
    return literal.substr(1, literal.size() - 2);
  }
  return texts.emplace_back(skim::string_value(literal).value_or(""));
}

/// True if the raw text between quotes means a word, which is compared with a length that the compiler knows.
template <std::size_t N>
bool spells(std::string_view raw, const char (&word)[N]) {
  if (raw.size() == N - 1) {
    return std::memcmp(raw.data(), word, N - 1) == 0;
  }
  return raw.size() >= N && raw.find('\\') != std::string_view::npos && skim::means(raw, word);
}

template <class Value, std::size_t N>
bool means(const Value& value, const char (&word)[N]) {
  if (value.lead() != '"') {
    return false;
  }
  const std::string_view literal = value.literal();
  return spells(literal.substr(1, literal.size() - 2), word);
}

template <class Value, std::size_t N>
Value member(const Value& object, const char (&name)[N]) {
  Value found;
  if (object.lead() == '{') {
    object.each([&](std::string_view key, const Value& value) {
      if (spells(key, name)) {
        found = value;
      }
    });
  }
  return found;
}

enum class Key : std::uint8_t {
  none,
  type,
  uuid,
  parent,
  before,
  timestamp,
  sidechain,
  meta,
  origin,
  summary,
  subtype,
  message,
  attachment,
  leaf,
  is_explicit,
};

/// Compares with a length that the compiler knows.
template <std::size_t N>
bool is(std::string_view text, const char (&word)[N]) {
  return std::memcmp(text.data(), word, N - 1) == 0;
}

Key key_of(std::string_view key) {
  switch (key.size()) {
    case 4:
      return is(key, "type") ? Key::type : is(key, "uuid") ? Key::uuid : Key::none;
    case 6:
      return is(key, "isMeta") ? Key::meta : is(key, "origin") ? Key::origin : Key::none;
    case 7:
      return is(key, "message") ? Key::message : is(key, "subtype") ? Key::subtype : Key::none;
    case 8:
      return is(key, "leafUuid") ? Key::leaf : is(key, "explicit") ? Key::is_explicit : Key::none;
    case 9:
      return is(key, "timestamp") ? Key::timestamp : Key::none;
    case 10:
      return is(key, "parentUuid") ? Key::parent : is(key, "attachment") ? Key::attachment : Key::none;
    case 11:
      return is(key, "isSidechain") ? Key::sidechain : Key::none;
    case 16:
      return is(key, "isCompactSummary") ? Key::summary : Key::none;
    case 17:
      return is(key, "logicalParentUuid") ? Key::before : Key::none;
    default:
      return Key::none;
  }
}

/// The same for a key that may be spelled with escapes.
Key meant_key(std::string_view spelled) {
  const Key key = key_of(spelled);
  if (key != Key::none || spelled.find('\\') == std::string_view::npos) {
    return key;
  }
  return key_of(skim::string_value('"' + std::string(spelled) + '"').value_or(""));
}

/// What the program says in the user's name, by the words with which it begins (claude/FORMAT.md B3).
struct ProgramWords {
  std::string_view begin;
  std::string_view name;  // of a row that says nothing else
};
constexpr std::string_view kNotification = "<task-notification>";
constexpr std::array kProgramWords = {
    ProgramWords{"<command-name>", "command"},
    ProgramWords{"<command-message>", "command"},
    ProgramWords{"<local-command-", "command"},
    ProgramWords{"<bash-", "command"},
    ProgramWords{"<user-memory-input>", "command"},
    ProgramWords{"<system-reminder>", "meta"},
    ProgramWords{"Caveat: The messages below were generated by the user while running local commands", "meta"},
    ProgramWords{"[Request interrupted by user", "interruption"},
    ProgramWords{"This session is being continued from a previous conversation that ran out of context", "summary"},
};

/// "user" for words that a person typed.
std::string_view name_of_words(std::string_view literal) {
  const std::string_view said = literal.substr(1);
  for (const ProgramWords& words : kProgramWords) {
    if (said.starts_with(words.begin)) {
      return words.name;
    }
  }
  return "user";
}

/// The name of what is said in the user's name: a string, or blocks. The program's words beside a person's do not
/// count.
template <class Value>
std::string_view name_of_said(const Value& content) {
  if (content.lead() == '"') {
    return name_of_words(content.literal());
  }
  std::string_view name;
  content.each([&name](std::string_view /*key*/, const Value& block) {
    const Value text = member(block, "text");
    const bool is_text = means(member(block, "type"), "text") && text.lead() == '"';
    const std::string_view found = is_text ? name_of_words(text.literal()) : "user";
    name = name.empty() || found == "user" ? found : name;
  });
  return name.empty() ? "user" : name;
}

/// True for the notice that a task in the background has ended. `origin` may be missing.
template <class Value>
bool is_notification(const Value& origin, const Value& said) {
  if (means(member(origin, "kind"), "task-notification")) {
    return true;
  }
  Value first = said;
  if (said.lead() == '[') {
    bool is_first = true;
    said.each([&](std::string_view /*key*/, const Value& block) {
      first = std::exchange(is_first, false) ? member(block, "text") : first;
    });
  }
  return first.lead() == '"' && first.literal().substr(1).starts_with(kNotification);
}

template <class Value>
class RowReader {
 public:
  RowReader(Row& row, std::deque<std::string>& texts) : row_(row), texts_(texts) {}

  void read(const Value& root) {
    root.each([this](std::string_view key, const Value& value) { take(meant_key(key), value); });
    if (means(type_, "last-prompt")) {
      row_.kind = Row::Kind::pin;
      return;
    }
    classify();
    if (row_.kind == Row::Kind::node && row_.uuid.empty()) {
      row_.kind = Row::Kind::loose;
      row_.name = row_.is_boundary ? "system" : row_.name;
    }
  }

 private:
  void take(Key key, const Value& value) {
    switch (key) {
      case Key::type:
        type_ = value;
        return;
      case Key::uuid:
        row_.uuid = text_of(value, texts_);
        return;
      case Key::parent:
        row_.parent = text_of(value, texts_);
        row_.has_parent = true;
        return;
      case Key::before:
        row_.before = text_of(value, texts_);
        return;
      case Key::timestamp:
        row_.timestamp = text_of(value, texts_);
        return;
      case Key::sidechain:
        row_.is_sidechain = value.lead() == 't';
        return;
      case Key::meta:
        is_meta_ = value.lead() == 't';
        return;
      case Key::origin:
        origin_ = value;
        return;
      case Key::summary:
        is_summary_ = value.lead() == 't';
        return;
      case Key::subtype:
        subtype_ = value;
        return;
      case Key::message:
        message_ = value;
        return;
      case Key::attachment:
        attachment_ = value;
        return;
      case Key::leaf:
        row_.leaf = text_of(value, texts_);
        return;
      case Key::is_explicit:
        row_.is_explicit = value.lead() == 't';
        return;
      case Key::none:
        return;
    }
  }

  void classify() {
    if (means(type_, "user")) {
      note_message(user_name());
    } else if (means(type_, "assistant")) {
      note_message("assistant");
      row_.part = Row::Part::block;
      row_.reply = text_of(member(message_, "id"), texts_);
    } else if (means(type_, "attachment")) {
      note_node(attachment_name());
    } else if (means(type_, "system")) {
      row_.is_boundary = means(subtype_, "compact_boundary");
      note_node(row_.is_boundary ? "compaction" : "system");
    } else if (means(type_, "progress")) {
      row_.kind = row_.uuid.empty() ? Row::Kind::aside : Row::Kind::progress;
    } else if (const std::string_view type = text_of(type_, texts_); !is_bookkeeping(type)) {
      row_.kind = Row::Kind::left_out;
      row_.name = type;
    }
  }

  void note_node(std::string_view name) {
    row_.kind = Row::Kind::node;
    row_.name = name;
  }
  void note_message(std::string_view name) {
    note_node(name);
    row_.is_message = true;
  }

  [[nodiscard]] std::string_view user_name() {
    const bool has_only_results = note_results();
    if (is_summary_) {
      return "summary";
    }
    const Value content = member(message_, "content");
    if (is_notification(origin_, content)) {
      return "notification";
    }
    return is_meta_ ? "meta" : has_only_results ? "tool" : name_of_said(content);
  }

  /// True if the message has nothing but results of tools.
  bool note_results() {
    const Value content = member(message_, "content");
    bool has_others = content.lead() != '[';
    if (has_others) {
      return false;
    }
    content.each([&](std::string_view /*key*/, const Value& block) {
      const bool is_result = means(member(block, "type"), "tool_result");
      row_.part = is_result ? Row::Part::result : row_.part;
      has_others = has_others || !is_result;
    });
    return row_.part == Row::Part::result && !has_others;
  }

  /// A prompt that the user typed while the program was working, or the end of a task (claude/FORMAT.md B3).
  [[nodiscard]] std::string_view attachment_name() const {
    if (!means(member(attachment_, "type"), "queued_command")) {
      return "attachment";
    }
    const Value origin = member(attachment_, "origin");
    const Value mode = member(attachment_, "commandMode");
    if (means(mode, "task-notification") || is_notification(origin, member(attachment_, "prompt"))) {
      return "notification";
    }
    const bool is_typed = origin.lead() == '{' ? means(member(origin, "kind"), "human") : means(mode, "prompt");
    return is_typed ? "user" : "attachment";
  }

  Row& row_;
  std::deque<std::string>& texts_;
  Value type_;
  Value subtype_;
  Value message_;
  Value attachment_;
  Value origin_;
  bool is_meta_ = false;
  bool is_summary_ = false;
};

/// A line that does not begin an object: another JSON value, which the program skips, or no JSON at all.
Row other_row(std::string_view line) {
  Row row;
  row.kind = json::is_one_value(line) ? Row::Kind::left_out : Row::Kind::bad;
  row.length = line.size();
  return row;
}

Damage damage_in(const LineReader::Line& line) {
  Damage damage = damage_of(line);
  damage.kind = !line.is_too_long && line.text.front() == '\0' ? Damage::Kind::nul : damage.kind;
  return damage;
}

}  // namespace

bool is_command_text(std::string_view text) {
  return std::any_of(kProgramWords.begin(), kProgramWords.end(), [text](const ProgramWords& words) {
    return words.name == "command" && text.starts_with(words.begin);
  });
}

Row RowParser::parse(std::string_view line, std::deque<std::string>& texts) {
  Row row;
  row.length = line.size();
  if (line.starts_with(kRequestDump) && line.back() == '}') {
    return row;
  }
  if (!line.starts_with('{')) {
    return other_row(line);
  }
  if (line.size() <= kLongestPlaced && places_.find(line) && json::has_valid_escapes(line)) {
    RowReader<json::PlacedValue>(row, texts).read(json::PlacedValue(places_, 0));
  } else {
    const json::ValueEnd end = json::scan_value(line, 0);
    if (end.verdict != json::ValueScanner::Verdict::value) {
      row.kind = Row::Kind::bad;
      return row;
    }
    row.length = end.end;
    row.rest = line.size() - end.end;
    RowReader<json::TextValue>(row, texts).read(json::TextValue(line.substr(0, end.end)));
  }
  if (row.kind == Row::Kind::node || row.kind == Row::Kind::loose) {
    row.hash = record_hash(line.substr(0, row.length));
  }
  return row;
}

void Stretch::take(const LineReader::Line& line, RowParser& parser) {
  if (line.is_too_long) {
    damage.push_back(damage_in(line));
    return;
  }
  Row row = parser.parse(line.text, texts);
  row.offset = line.offset;
  if (row.kind == Row::Kind::bad) {
    damage.push_back(damage_in(line));
    return;
  }
  if (row.rest != 0) {
    damage.push_back({row.offset + row.length, row.rest, Damage::Kind::fused, !line.is_ended});
  }
  if (row.kind == Row::Kind::left_out) {
    left_out.push_back(row.name);
  } else if (row.kind != Row::Kind::aside) {
    rows.push_back(row);
  }
}

}  // namespace arborfs::claude
