#include "core/formats/goat/goat_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/metadata.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/log/line_reader.h"

namespace arborfs::goat {
namespace {

constexpr std::string_view kMessage = "message";
constexpr std::string_view kGoZeroTime = "0001-01-01T00:00:00Z";

/// The members of a line that the index needs.
struct Fields {
  std::string uuid;
  std::string timestamp;  // "" if there is none
  std::string role;
};

FieldValue string_field(std::string_view text) {
  FieldValue value;
  value.kind = FieldValue::Kind::string;
  value.text = text;
  return value;
}

bool is_json_object(std::string_view text) {
  if (!text.starts_with('{')) {
    return false;
  }
  const json::ValueEnd end = json::scan_value(text, 0);
  return end.verdict == json::ValueScanner::Verdict::value && end.end == text.size();
}

/// The values of the members that the index needs, as text; empty for those that are missing.
struct Spelled {
  std::string_view uuid;
  std::string_view timestamp;
  std::string_view message;
  std::string_view role;
  std::string_view name;
  std::string_view call_id;
  std::string_view calls;
};

struct Member {
  std::string_view key;
  std::string_view Spelled::*value;
};
constexpr std::array kMembers = {Member{"uuid", &Spelled::uuid},       Member{"timestamp", &Spelled::timestamp},
                                 Member{kMessage, &Spelled::message},  Member{"role", &Spelled::role},
                                 Member{"name", &Spelled::name},       Member{"tool_call_id", &Spelled::call_id},
                                 Member{"tool_calls", &Spelled::calls}};

/// In one pass, because the line may be long.
Spelled members_of(std::string_view object) {
  Spelled found;
  for (skim::Cursor members(object); members.next();) {
    const auto* const member = std::find_if(kMembers.begin(), kMembers.end(), [&members](const Member& known) {
      return spells_key_of(members.key(), known.key);
    });
    if (member != kMembers.end()) {
      keep_go_value(found.*member->value, members.value());
    }
  }
  return found;
}

bool fits_message(const Spelled& message) {
  return go_string(message.name) && go_string(message.call_id) &&
         (message.calls.empty() || message.calls == "null" || message.calls.starts_with('['));
}

/// Nothing if goat skips the line (goat/FORMAT.md C4).
std::optional<Fields> read_fields(std::string_view line) {
  if (!is_json_object(line)) {
    return std::nullopt;
  }
  const Spelled record = members_of(line);
  const bool is_flat = record.message.empty() || record.message == "null";
  if (!is_flat && !record.message.starts_with('{')) {
    return std::nullopt;
  }
  const Spelled message = is_flat ? record : members_of(record.message);
  auto uuid = go_string(record.uuid);
  auto timestamp = go_string(record.timestamp);
  auto role = go_string(message.role);
  const bool fits = uuid && timestamp && role && fits_message(message);
  if (!fits || (!timestamp->empty() && !is_rfc3339(*timestamp))) {
    return std::nullopt;
  }
  return Fields{*std::move(uuid), *timestamp == kGoZeroTime ? "" : *std::move(timestamp), *std::move(role)};
}

Damage damage_of(const LineReader::Line& line) {
  const Damage::Kind kind = line.is_too_long ? Damage::Kind::too_tangled
                            : line.is_ended  ? Damage::Kind::malformed
                                             : Damage::Kind::unfinished;
  return {line.offset, line.length, kind, !line.is_ended};
}

/// Makes each message the child of the one before it.
class Chain final : public LineScan {
 public:
  [[nodiscard]] std::unique_ptr<LineScan> copy() const override { return std::make_unique<Chain>(*this); }
  Result<void> read_to(const LogSource& log, std::uint64_t end, RecordSink& sink,
                       const std::atomic<bool>* cancelled) override {
    LineReader lines(log, at_, end, cancelled);
    at_ = end;
    for (;;) {
      ASSIGN_OR_RETURN(const auto* line, lines.next());
      if (line == nullptr) {
        return {};
      }
      auto message = line->is_too_long ? std::nullopt : read_fields(line->text);
      if (message) {
        RETURN_IF_ERROR(add(*line, *std::move(message), sink));
      } else {
        sink.add(damage_of(*line));
      }
    }
  }
  void finish(RecordSink& /*sink*/) const override {}

 private:
  Result<void> add(const LineReader::Line& line, Fields message, RecordSink& sink) {
    ++count_;
    const std::string id = unique_id(std::move(message.uuid), sink);
    RecordFields fields;
    fields.offset = line.offset;
    fields.length = line.length;
    fields.id = string_field(id);
    fields.parent.kind = FieldValue::Kind::null;
    if (count_ > 1) {
      fields.parent = string_field(last_);
    }
    fields.type = string_field(kMessage);
    fields.role = string_field(message.role);
    if (!message.timestamp.empty()) {
      fields.timestamp = string_field(message.timestamp);
    }
    RETURN_IF_ERROR(sink.add(fields, xxh64(line.text)));
    last_ = id;
    return {};
  }

  /// See goat/FORMAT.md C5.
  [[nodiscard]] std::string unique_id(std::string uuid, const RecordSink& sink) const {
    std::string id = uuid.empty() ? "#" + std::to_string(count_) : std::move(uuid);
    while (sink.find(id) != kNoEntry) {
      id += "#" + std::to_string(count_);
    }
    return id;
  }

  std::uint64_t at_ = 0;
  Ordinal count_ = 0;
  std::string last_;  // the id of the last message
};

}  // namespace

Result<Header> Reader::read_header(const LogSource& log) const {
  return header_of(log.metadata());
}

std::unique_ptr<LineScan> Reader::start_scan() const {
  return std::make_unique<Chain>();
}

}  // namespace arborfs::goat
