#include "core/formats/codex/rollout_record.h"

#include <array>

#include "core/formats/codex/record.h"
#include "core/json/escapes.h"
#include "core/json/json_cursor.h"
#include "core/json/value_view.h"
#include "core/log/record_hash.h"

namespace arborfs::codex {
namespace {

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
};

struct Member {
  std::string_view key;
  std::string_view Payload::*text;
};

constexpr std::array kMembers = {Member{"type", &Payload::type},      Member{"id", &Payload::id},
                                 Member{"role", &Payload::role},      Member{"content", &Payload::content},
                                 Member{kItemKinds, &Payload::kinds}, Member{"num_turns", &Payload::turns},
                                 Member{"info", &Payload::info}};

template <class Value>
Payload members_of(const Value& object) {
  Payload payload;
  object.each([&payload](std::string_view key, const Value& value) {
    for (const Member& member : kMembers) {
      if (skim::means(key, member.key)) {
        payload.*member.text = value.raw();
      }
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
    case Origin::typed:
      break;
  }
  return "user";
}

/// Reads one record.
class RecordReading {
 public:
  explicit RecordReading(std::deque<std::string>& texts) : texts_(texts) {}

  /// Nothing if the object is not a record.
  template <class Value>
  std::optional<RolloutRecord> read(const Value& root) {
    std::string_view type;
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
      }
    });
    if (!type.starts_with('"') || payload.lead() != '{') {
      return std::nullopt;
    }
    read_payload(type, payload);
    return record_;
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
    if (skim::is_string(type, "response_item")) {
      read_item(members_of(payload));
    } else if (skim::is_string(type, "event_msg")) {
      read_event(members_of(payload));
    } else if (skim::is_string(type, "compacted")) {
      record_.kind = RolloutRecord::Kind::entry;
      record_.type = "compaction";
    } else if (skim::is_string(type, "token_usage_record")) {
      record_.kind = RolloutRecord::Kind::entry;
      record_.type = "token_usage_record";
    }
  }

  void read_item(const Payload& payload) {
    const auto type = text_of(payload.type);
    if (!type) {
      return;
    }
    record_.kind = RolloutRecord::Kind::entry;
    record_.type = "message";
    record_.id = text_of(payload.id);
    record_.role = *type;
    if (record_.role == "message") {
      record_.role = text_of(payload.role).value_or("");
      if (record_.role == "user") {
        record_.role = role_of_user_message(payload);
        record_.begins_turn = record_.role == "user";
      }
    }
  }

  void read_event(const Payload& payload) {
    if (skim::is_string(payload.type, "thread_rolled_back")) {
      record_.kind = RolloutRecord::Kind::rollback;
      record_.turns = count_of(payload.turns).value_or(0);
    } else if (skim::is_string(payload.type, "token_count")) {
      const std::string_view total = skim::member(payload.info, "total_token_usage");
      record_.is_legacy_usage = total.starts_with('{');
      record_.total_usage = total;
      record_.type = "token_count";
    }
  }

  std::deque<std::string>& texts_;
  RolloutRecord record_;
};

}  // namespace

std::optional<RolloutRecord> RolloutParser::parse(std::string_view line, std::deque<std::string>& texts) {
  RecordReading reading(texts);
  const bool is_short = line.starts_with('{') && line.size() <= kLongestPlaced;
  if (is_short && places_.find(line) && json::has_valid_escapes(line)) {
    return reading.read(json::PlacedValue(places_, 0));
  }
  return is_object(line) ? reading.read(json::TextValue(line)) : std::nullopt;
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
  if (made.record && (made.record->kind == RolloutRecord::Kind::entry || made.record->is_legacy_usage)) {
    made.hash = record_hash(line.text);
  }
}

}  // namespace arborfs::codex
