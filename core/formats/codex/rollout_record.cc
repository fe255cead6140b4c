#include "core/formats/codex/rollout_record.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/hash.h"
#include "core/base/words.h"
#include "core/formats/codex/record.h"
#include "core/json/json_cursor.h"
#include "core/json/places.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"
#include "core/log/record_fields.h"

namespace arborfs::codex {
namespace {

/// Without the parts between such tags, which Codex does not show.
std::string without_hidden(std::string_view text) {
  std::string shown(text);
  for (const std::string_view tag : {"oai-mem-citation", "proposed_plan"}) {
    const std::string open = "<" + std::string(tag) + ">";
    const std::string close = "</" + std::string(tag) + ">";
    for (std::size_t at = shown.find(open); at != std::string::npos; at = shown.find(open, at)) {
      const std::size_t end = shown.find(close, at);
      shown.erase(at, end == std::string::npos ? std::string::npos : end + close.size() - at);
    }
  }
  return shown;
}

/// The hash of a text as Codex shows it: without the white space around it, and without parts that it hides.
std::uint64_t hash_of_words(std::string_view text) {
  const bool may_hide = text.find("<oai-mem-citation>") != std::string_view::npos ||
                        text.find("<proposed_plan>") != std::string_view::npos;
  return may_hide ? record_hash(stripped(without_hidden(text))) : record_hash(stripped(text));
}

/// Longer lines are read without an index of their places, which would be many times as long.
constexpr std::size_t kLongestPlaced = 256 * 1024;
static_assert(json::kEscapePadding <= json::Places::kPadding);

/// The texts of the members that count, found in one pass.
struct Payload {
  std::string_view type;
  std::string_view id;
  std::string_view role;
  std::string_view content;
  std::string_view kinds;
  std::string_view turns;
  std::string_view info;
  std::string_view message;  // of an event
  std::string_view text;     // of an event
  std::string_view summary;  // of reasoning
  std::string_view item;     // of an event
  std::string_view output;   // these three are of calls and their outputs
  std::string_view arguments;
  std::string_view input;
};

struct Member {
  std::string_view key;
  std::string_view Payload::*text;
};

constexpr std::array kMembers = {Member{"type", &Payload::type},           Member{"id", &Payload::id},
                                 Member{"role", &Payload::role},           Member{"content", &Payload::content},
                                 Member{kItemKinds, &Payload::kinds},      Member{"num_turns", &Payload::turns},
                                 Member{"info", &Payload::info},           Member{"message", &Payload::message},
                                 Member{"text", &Payload::text},           Member{"summary", &Payload::summary},
                                 Member{"item", &Payload::item},           Member{"output", &Payload::output},
                                 Member{"arguments", &Payload::arguments}, Member{"input", &Payload::input}};

template <class Value>
Payload members_of(const Value& object) {
  Payload payload;
  object.each([&payload](std::string_view key, const Value& value) {
    const auto* const member = std::find_if(kMembers.begin(), kMembers.end(),
                                            [key](const Member& each) { return skim::means(key, each.key); });
    if (member != kMembers.end()) {
      payload.*member->text = value.raw();
    }
  });
  return payload;
}

std::string_view role_of_user_message(const Payload& payload) {
  switch (origin_of_message(payload.content, payload.kinds)) {
    case Origin::harness:
      return "harness";
    case Origin::interruption:
      return "interruption";
    case Origin::shell:
      return "shell_command";
    case Origin::summary:
      return "summary";
    case Origin::typed:
      break;
  }
  return "user";
}

ItemShape shape_of(const Payload& payload) {
  return {!payload.role.empty(),      !payload.content.empty(), !payload.output.empty(),
          !payload.arguments.empty(), !payload.input.empty(),   !payload.summary.empty()};
}

/// Adds the hash of a JSON string, unless it is empty or something else.
void add_hash(std::string_view literal, std::vector<std::uint64_t>& hashes) {
  if (literal.size() <= 2 || literal.front() != '"') {
    return;
  }
  const bool is_plain = literal.find('\\') == std::string_view::npos;
  hashes.push_back(is_plain ? hash_of_words(literal.substr(1, literal.size() - 2))
                            : hash_of_words(skim::string_value(literal).value_or("")));
}

/// The hashes of texts: of strings in a list, or of the `text` of each object there.
std::vector<std::uint64_t> text_hashes(std::string_view list) {
  std::vector<std::uint64_t> hashes;
  for (skim::Cursor items(list); items.next();) {
    const bool is_text = items.value().starts_with('"');
    add_hash(is_text ? items.value() : skim::member(items.value(), "text"), hashes);
  }
  return hashes;
}

/// All texts of a list of items, one directly after the other.
std::string joined_texts(std::string_view list) {
  std::string all = skim::string_value(list).value_or("");
  for (skim::Cursor items(list); items.next();) {
    all += skim::text_member(items.value(), "text");
  }
  return all;
}

std::uint64_t mark_of(std::string_view kind, std::string_view text) {
  return xxh64(text, xxh64(kind));
}

/// Reads one record.
class RecordReading {
 public:
  explicit RecordReading(std::deque<std::string>& texts) : texts_(texts) {}

  template <class Value>
  RolloutRecord read(const Value& root) {
    std::string_view type;
    std::string_view state;
    Value payload;
    root.each([&](std::string_view key, const Value& value) {
      if (skim::means(key, "timestamp")) {
        record_.timestamp = text_of(value.raw()).value_or("");
      } else if (skim::means(key, "ordinal")) {
        record_.ordinal = count_of(value.raw());
      } else if (skim::means(key, "type")) {
        type = value.raw();
      } else if (skim::means(key, "payload")) {
        payload = value;
      } else if (skim::means(key, "record_type")) {
        state = value.raw();
      }
    });
    if (payload.lead() == '{') {
      read_payload(text_of(type).value_or(""), payload);
    } else if (state.empty()) {
      read_bare(members_of(root));
    }
    return std::move(record_);
  }

 private:
  /// The text of a string; nothing for other values.
  std::optional<std::string_view> text_of(std::string_view literal) {
    if (literal.size() < 2 || literal.front() != '"') {
      return std::nullopt;
    }
    if (literal.find('\\') == std::string_view::npos) {
      return literal.substr(1, literal.size() - 2);
    }
    auto text = skim::string_value(literal);
    return text ? std::optional<std::string_view>(texts_.emplace_back(*std::move(text))) : std::nullopt;
  }

  template <class Value>
  void read_payload(std::string_view type, const Value& payload) {
    if (type == "response_item") {
      read_item(members_of(payload), type);
    } else if (type == "event_msg") {
      read_event(members_of(payload));
    } else if (type == "compacted") {
      note_entry("compaction");
    } else if (type == "token_usage_record") {
      note_entry("token_usage_record");
      payload.each([this](std::string_view key, const Value& value) {
        if (skim::means(key, "response_id")) {
          record_.mark = mark_of(record_.type, value.raw());
        }
      });
    } else if (type == "inter_agent_communication") {
      note_entry("agent_message");
    } else if (!is_bookkeeping_record(type)) {
      leave_out(type);
    }
  }

  void note_entry(std::string_view type) {
    record_.kind = RolloutRecord::Kind::entry;
    record_.type = type;
  }

  void leave_out(std::string_view type) {
    record_.kind = RolloutRecord::Kind::left_out;
    record_.type = type;
  }

  /// An item without a wrapper, or the header before such items (codex/FORMAT.md B6).
  void read_bare(const Payload& record) {
    const auto type = text_of(record.type);
    record_.is_header = !type && !record.id.empty() && item_type_of(shape_of(record)).empty();
    if (record_.is_header) {
      return;
    }
    if (!type || is_item_type(*type)) {
      read_item(record, "");
    } else if (!is_bookkeeping_record(*type)) {
      leave_out(*type);
    }
  }

  /// `what` is the type of its record.
  void read_item(const Payload& payload, std::string_view what) {
    const auto type = text_of(payload.type);
    const std::string_view meant = type.value_or(item_type_of(shape_of(payload)));
    if (meant.empty()) {
      return leave_out(what);
    }
    note_entry("message");
    record_.id = text_of(payload.id);
    record_.role = meant;
    if (record_.role == "message") {
      record_.role = text_of(payload.role).value_or("");
      note_message(payload);
    } else if (record_.role == "reasoning") {
      record_.speech = {Speech::Voice::thought, "", text_hashes(payload.summary)};
      const auto raw = text_hashes(payload.content);
      record_.speech.hashes.insert(record_.speech.hashes.end(), raw.begin(), raw.end());
    }
  }

  void note_message(const Payload& payload) {
    if (record_.role == "user") {
      record_.role = role_of_user_message(payload);
      record_.begins_turn = record_.role == "user";
      record_.mark = record_.begins_turn ? mark_of(record_.role, payload.content) : 0;
      record_.speech = {Speech::Voice::user, texts_.emplace_back(joined_texts(payload.content))};
    } else if (record_.role == "assistant") {
      record_.speech = {Speech::Voice::answer, "", text_hashes(payload.content)};
      if (record_.speech.hashes.size() > 1) {
        record_.speech.hashes.push_back(hash_of_words(joined_texts(payload.content)));
      }
    }
  }

  void read_event(const Payload& payload) {
    const std::string_view type = text_of(payload.type).value_or("");
    const bool is_item = type == "item_completed";
    const std::string_view item = is_item ? text_of(skim::member(payload.item, "type")).value_or("") : "";
    const EventKind kind = is_item ? turn_item_kind(item) : event_kind(type);
    switch (kind.use) {
      case EventUse::prompt:
        record_.kind = RolloutRecord::Kind::prompt;
        record_.type = "message";
        record_.role = "user";
        record_.speech = {Speech::Voice::user,
                          is_item ? texts_.emplace_back(joined_texts(skim::member(payload.item, "content")))
                                  : text_of(payload.message).value_or("")};
        return;
      case EventUse::answer:
        record_.speech = {Speech::Voice::answer, "", said_in(payload, payload.message, "content")};
        return;
      case EventUse::thought:
        record_.speech = {Speech::Voice::thought, "", said_in(payload, payload.text, "summary_text")};
        return;
      case EventUse::shown:
        return note_entry(kind.name);
      case EventUse::usage:
        return read_usage(payload);
      case EventUse::rollback:
        record_.kind = RolloutRecord::Kind::rollback;
        record_.turns = count_of(payload.turns).value_or(0);
        return;
      case EventUse::bookkeeping:
        return;
      case EventUse::unknown:
        leave_out(texts_.emplace_back("event_msg " + std::string(type) + (is_item ? " " + std::string(item) : "")));
    }
  }

  /// The hash of an event's text, or those of the list in its item.
  static std::vector<std::uint64_t> said_in(const Payload& payload, std::string_view text, std::string_view list) {
    if (!payload.item.empty()) {
      return text_hashes(skim::member(payload.item, list));
    }
    std::vector<std::uint64_t> hashes;
    add_hash(text, hashes);
    return hashes;
  }

  void read_usage(const Payload& payload) {
    const std::string_view total = skim::member(payload.info, "total_token_usage");
    record_.is_legacy_usage = total.starts_with('{');
    record_.mark = record_.is_legacy_usage ? mark_of("token_count", sums_text(total)) : 0;
    record_.type = "token_count";
  }

  std::deque<std::string>& texts_;
  RolloutRecord record_;
};

RolloutRecord left_out_value() {
  RolloutRecord record;
  record.kind = RolloutRecord::Kind::left_out;
  return record;
}

}  // namespace

std::optional<RolloutRecord> RolloutParser::parse(std::string_view line, std::deque<std::string>& texts) {
  RecordReading reading(texts);
  const bool is_short = line.starts_with('{') && line.size() <= kLongestPlaced;
  if (is_short && places_.find(line) && json::has_valid_escapes(line)) {
    return reading.read(json::PlacedValue(places_, 0));
  }
  if (is_object(line)) {
    return reading.read(json::TextValue(line));
  }
  return json::is_one_value(line) && json::is_valid_utf8(line) ? std::optional(left_out_value()) : std::nullopt;
}

void RolloutLines::clear() {
  lines.clear();
  texts.clear();
}

void RolloutLines::take(const LineReader::Line& line, RolloutParser& parser) {
  Line& made = lines.emplace_back();
  made.offset = line.offset;
  made.length = line.length;
  made.is_too_long = line.is_too_long;
  made.is_ended = line.is_ended;
  if (line.is_too_long) {
    return;
  }
  made.record = parser.parse(line.text, texts);
  const bool may_be_entry =
      made.record && (made.record->kind == RolloutRecord::Kind::entry ||
                      made.record->kind == RolloutRecord::Kind::prompt || made.record->is_legacy_usage);
  if (may_be_entry) {
    made.hash = record_hash(line.text);
  }
}

void Repetitions::take_item(const Speech& item) {
  if (item.voice == Speech::Voice::user) {
    if (was_repeated_) {
      prompts_.clear();
      was_repeated_ = false;
    } else if (prompts_.size() == kMostTexts) {
      prompts_.pop_front();
    }
    prompts_.emplace_back(item.text.substr(0, kMostKept));
  } else if (item.voice != Speech::Voice::none) {
    auto& items = item.voice == Speech::Voice::answer ? answers_.items : thoughts_.items;
    items.insert(items.end(), item.hashes.begin(), item.hashes.end());
  }
}

bool Repetitions::is_new_prompt(const Speech& event) {
  const std::string_view said = stripped(event.text.substr(0, kMostKept));
  if (said.empty()) {
    return false;
  }
  const bool is_known = std::any_of(prompts_.begin(), prompts_.end(),
                                    [said](const std::string& text) { return text.find(said) != std::string::npos; });
  was_repeated_ = was_repeated_ || is_known;
  return !is_known;
}

void Repetitions::take_event(const Speech& event, RecordSink& sink) {
  Spoken& spoken = event.voice == Speech::Voice::answer ? answers_ : thoughts_;
  spoken.events.insert(spoken.events.end(), event.hashes.begin(), event.hashes.end());
  if (spoken.events.size() + spoken.items.size() > kMostEvents) {
    end_turn(sink);
  }
}

std::size_t Repetitions::Spoken::lone_events() const {
  std::vector<std::uint64_t> said = items;
  std::sort(said.begin(), said.end());
  return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [&said](std::uint64_t event) {
    return !std::binary_search(said.begin(), said.end(), event);
  }));
}

void Repetitions::end_turn(RecordSink& sink) {
  report(sink);
  answers_ = {};
  thoughts_ = {};
}

void Repetitions::report(RecordSink& sink) const {
  for (std::size_t i = answers_.lone_events(); i > 0; --i) {
    sink.leave_out("event_msg agent_message");
  }
  for (std::size_t i = thoughts_.lone_events(); i > 0; --i) {
    sink.leave_out("event_msg agent_reasoning");
  }
}

}  // namespace arborfs::codex
