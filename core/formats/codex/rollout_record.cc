#include "core/formats/codex/rollout_record.h"

#include <array>

#include "core/formats/codex/record.h"
#include "core/json/json_cursor.h"

namespace arborfs::codex {
namespace {

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

Payload members_of(std::string_view object) {
  Payload payload;
  for (skim::Cursor cursor(object); cursor.next();) {
    for (const Member& member : kMembers) {
      if (cursor.key_is(member.key)) {
        payload.*member.text = cursor.value();
      }
    }
  }
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

void read_item(const Payload& payload, RolloutRecord& record) {
  auto type = skim::string_value(payload.type);
  if (!type) {
    return;
  }
  record.kind = RolloutRecord::Kind::entry;
  record.type = "message";
  record.id = skim::string_value(payload.id);
  record.role = *std::move(type);
  if (record.role == "message") {
    record.role = skim::string_value(payload.role).value_or("");
    if (record.role == "user") {
      record.role = role_of_user_message(payload);
      record.begins_turn = record.role == "user";
    }
  }
}

void read_event(const Payload& payload, RolloutRecord& record) {
  if (skim::is_string(payload.type, "thread_rolled_back")) {
    record.kind = RolloutRecord::Kind::rollback;
    record.turns = count_of(payload.turns).value_or(0);
  } else if (skim::is_string(payload.type, "token_count")) {
    const std::string_view total = skim::member(payload.info, "total_token_usage");
    record.is_legacy_usage = total.starts_with('{');
    record.total_usage = total;
    record.type = "token_count";
  }
}

void read_payload(std::string_view type, std::string_view payload, RolloutRecord& record) {
  if (skim::is_string(type, "response_item")) {
    read_item(members_of(payload), record);
  } else if (skim::is_string(type, "event_msg")) {
    read_event(members_of(payload), record);
  } else if (skim::is_string(type, "compacted")) {
    record.kind = RolloutRecord::Kind::entry;
    record.type = "compaction";
  } else if (skim::is_string(type, "token_usage_record")) {
    record.kind = RolloutRecord::Kind::entry;
    record.type = "token_usage_record";
  }
}

}  // namespace

std::optional<RolloutRecord> parse_rollout_record(std::string_view line) {
  if (!is_object(line)) {
    return std::nullopt;
  }
  RolloutRecord record;
  std::string_view type;
  std::string_view payload;
  for (skim::Cursor cursor(line); cursor.next();) {
    if (cursor.key_is("timestamp")) {
      record.timestamp = skim::string_value(cursor.value()).value_or("");
    } else if (cursor.key_is("ordinal")) {
      record.ordinal = count_of(cursor.value());
    } else if (cursor.key_is("type")) {
      type = cursor.value();
    } else if (cursor.key_is("payload")) {
      payload = cursor.value();
    }
  }
  if (!type.starts_with('"') || !payload.starts_with('{')) {
    return std::nullopt;
  }
  read_payload(type, payload, record);
  return record;
}

}  // namespace arborfs::codex
