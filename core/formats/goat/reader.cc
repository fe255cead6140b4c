#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/formats/goat/format.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/metadata.h"
#include "core/json/places.h"
#include "core/json/scan.h"
#include "core/log/line_reader.h"
#include "core/log/record_fields.h"
#include "core/log/record_reader.h"

namespace arborfs::goat {
namespace {

/// Reads goat's messages (goat/FORMAT.md C). The header comes from the log's metadata. Thread-safe.
class Reader : public GrowingReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  [[nodiscard]] std::unique_ptr<LogScan> start_scan() const override;
};

constexpr std::string_view kMessage = "message";
/// Longer lines are read without an index of their places, which would be many times as long.
constexpr std::size_t kLongestPlaced = 256 * 1024;
static_assert(json::kEscapePadding <= json::Places::kPadding);
constexpr std::string_view kGoZeroTime = "0001-01-01T00:00:00Z";

/// The members of a line that the index needs. Texts point into the line or into those of its stretch.
struct Fields {
  bool is_left_out = false;  // goat skips the line, although it is JSON (goat/FORMAT.md C4)
  std::string_view uuid;
  std::string_view timestamp;  // "" if there is none
  std::string_view role;       // of a line that is left out, if it is a string
};

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
template <class Value>
Spelled members_of(const Value& object, Value& message) {
  Spelled found;
  object.each([&](std::string_view key, const Value& value) {
    const auto* const member = std::find_if(kMembers.begin(), kMembers.end(),
                                            [key](const Member& known) { return spells_key_of(key, known.key); });
    if (member != kMembers.end()) {
      const std::string_view before = found.*member->value;
      keep_go_value(found.*member->value, value.raw());
      const bool is_kept = (found.*member->value).data() != before.data();
      message = member->value == &Spelled::message && is_kept ? value : message;
    }
  });
  return found;
}

bool fits_message(const Spelled& message) {
  return go_string(message.name) && go_string(message.call_id) &&
         (message.calls.empty() || message.calls == "null" || message.calls.starts_with('['));
}

/// Reads one line.
class LineReading {
 public:
  explicit LineReading(std::deque<std::string>& texts) : texts_(texts) {}

  template <class Value>
  Fields read(const Value& line) {
    Value inner;
    const Spelled record = members_of(line, inner);
    const bool is_flat = record.message.empty() || record.message == "null";
    if (!is_flat && !record.message.starts_with('{')) {
      return left_out("");
    }
    Value ignored;
    const Spelled message = is_flat ? record : members_of(inner, ignored);
    const auto uuid = text_of(record.uuid);
    const auto timestamp = text_of(record.timestamp);
    const auto role = text_of(message.role);
    const bool fits = uuid && timestamp && role && fits_message(message);
    if (!fits || (!timestamp->empty() && !is_rfc3339(*timestamp))) {
      return left_out(role.value_or(""));
    }
    return {false, *uuid, *timestamp == kGoZeroTime ? std::string_view() : *timestamp, *role};
  }

 private:
  static Fields left_out(std::string_view role) { return {true, "", "", role}; }

  /// As go_string().
  std::optional<std::string_view> text_of(std::string_view value) {
    const bool is_plain = value.size() >= 2 && value.front() == '"' && value.find('\\') == std::string_view::npos;
    if (is_plain) {
      return value.substr(1, value.size() - 2);
    }
    auto text = go_string(value);
    return text ? std::optional<std::string_view>(texts_.emplace_back(*std::move(text))) : std::nullopt;
  }

  std::deque<std::string>& texts_;
};

class LineParser {
 public:
  /// Nothing if the line is not JSON.
  std::optional<Fields> parse(std::string_view line, std::deque<std::string>& texts) {
    LineReading reading(texts);
    const bool is_short = line.starts_with('{') && line.size() <= kLongestPlaced;
    if (is_short && places_.find(line) && json::has_valid_escapes(line)) {
      return reading.read(json::PlacedValue(places_, 0));
    }
    if (!json::is_one_value(line)) {
      return std::nullopt;
    }
    return line.starts_with('{') ? reading.read(json::TextValue(line)) : Fields{true, "", "", ""};
  }

 private:
  json::Places places_;
};

struct ReadMessage {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t hash = 0;
  Fields fields;
};

struct Messages : StretchRows<ReadMessage, LineParser> {
  void take(const LineReader::Line& line, LineParser& parser) {
    const auto fields = line.is_too_long ? std::nullopt : parser.parse(line.text, texts);
    if (fields && fields->is_left_out) {
      left_out.push_back(fields->role);
    } else if (fields) {
      rows.push_back({line.offset, line.length, record_hash(line.text), *fields});
    } else {
      damage.push_back(damage_of(line));
    }
  }
};

/// Makes each message the child of the previous one.
class Chain final : public StretchScan<Chain, Messages> {
 public:
  void finish(RecordSink& /*sink*/) const override {}

  Result<void> take(const ReadMessage& message, RecordSink& sink) {
    ++count_;
    std::string id = unique_id(message.fields.uuid, sink);
    RecordFields fields;
    fields.offset = message.offset;
    fields.length = message.length;
    fields.id = FieldValue::of(id);
    fields.parent.kind = FieldValue::Kind::null;
    if (count_ > 1) {
      fields.parent = FieldValue::of(last_);
    }
    fields.type = FieldValue::of(kMessage);
    fields.role = FieldValue::of(message.fields.role);
    if (!message.fields.timestamp.empty()) {
      fields.timestamp = FieldValue::of(message.fields.timestamp);
    }
    RETURN_IF_ERROR(sink.add(fields, message.hash));
    last_ = std::move(id);
    return {};
  }

 private:
  /// See goat/FORMAT.md C5.
  [[nodiscard]] std::string unique_id(std::string_view uuid, const RecordSink& sink) const {
    std::string id = uuid.empty() ? "#" + std::to_string(count_) : std::string(uuid);
    while (sink.find(id) != kNoEntry) {
      id += "#" + std::to_string(count_);
    }
    return id;
  }

  Ordinal count_ = 0;
  std::string last_;  // the id of the last message
};

}  // namespace

Result<Header> Reader::read_header(const LogSource& log) const {
  return header_of(log.metadata(), log.place());
}

std::unique_ptr<LogScan> Reader::start_scan() const {
  return std::make_unique<Chain>();
}

const LogReader& reader() {
  static const Reader reader;
  return reader;
}

}  // namespace arborfs::goat
