#include "core/formats/opencode/reader.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/opencode/session_archive.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/log/line_reader.h"

namespace arborfs::opencode {
namespace {

FieldValue text_value(std::string_view text) {
  FieldValue value;
  value.kind = FieldValue::Kind::string;
  value.text = text;
  return value;
}

std::optional<double> number_of(std::string_view literal) {
  json::Document value;
  return json::parse(literal, value) && value.IsNumber() ? std::optional(value.GetDouble()) : std::nullopt;
}

/// The facts about one message that the index needs.
struct MessageFields {
  std::string id;
  std::string role;
  std::optional<double> created;
  std::string_view type = "message";
};

/// A user message that asks for a compaction, or the assistant's summary (opencode/FORMAT.md D2).
bool is_compaction(std::string_view role, std::string_view info, std::string_view parts) {
  if (role == "assistant") {
    return skim::member(info, "summary") == "true";
  }
  skim::Cursor cursor(parts);
  while (cursor.next()) {
    if (skim::is_string(skim::member(cursor.value(), "type"), "compaction")) {
      return true;
    }
  }
  return false;
}

/// Nothing if the JSON value is not an entry.
std::optional<MessageFields> message_in(std::string_view line) {
  const std::string_view info = skim::member(line, "info");
  auto id = skim::string_value(skim::member(info, "id"));
  if (!id || id->empty()) {
    return std::nullopt;
  }
  MessageFields fields;
  fields.id = *std::move(id);
  fields.role = skim::text_member(info, "role");
  fields.created = number_of(skim::member(skim::member(info, "time"), "created"));
  fields.type = is_compaction(fields.role, info, skim::member(line, "parts")) ? "compaction" : "message";
  return fields;
}

/// Tells the sink of a value that is not an entry: a row that is not an object, the parts of such a message, or rows of
/// other tables (SqliteRows::rows_not_shown).
void leave_out(std::string_view line, RecordSink& sink) {
  if (const auto table = skim::string_value(skim::member(line, "table")); table && skim::member(line, "info").empty()) {
    const std::string type = skim::text_member(line, "type");
    const double rows = std::clamp(number_of(skim::member(line, "rows")).value_or(1), 1.0, 1e15);
    sink.leave_out(type.empty() ? *table : *table + " " + type, static_cast<std::uint64_t>(rows));
    return;
  }
  bool has_parts = false;
  for (skim::Cursor parts(line.starts_with('[') ? line : std::string_view()); parts.next();) {
    const auto type = skim::string_value(skim::member(parts.value(), "type"));
    has_parts = has_parts || type;
    if (type) {
      sink.leave_out("part " + *type);
    }
  }
  if (!has_parts) {
    sink.leave_out(line.starts_with('{') ? "message" : "");
  }
}

/// Makes a list of a session's messages: each is the child of the previous one.
class MessageList {
 public:
  explicit MessageList(RecordSink& sink) : sink_(sink) {}

  Result<void> take(const LineReader::Line& line) {
    const bool is_complete = !line.is_too_long && is_json(line.text);
    const auto message = is_complete ? message_in(line.text) : std::nullopt;
    if (is_complete && !message) {
      leave_out(line.text, sink_);
      return {};
    }
    if (!message) {
      return drop(line, line.is_too_long ? Damage::Kind::too_tangled : Damage::Kind::malformed);
    }
    const std::uint64_t hash = xxh64(line.text);
    const auto [first, is_new] = seen_.try_emplace(message->id, hash);
    if (!is_new) {
      return drop(line, first->second == hash ? Damage::Kind::repetition : Damage::Kind::duplicate);
    }
    return add(line, *message, hash);
  }

  /// The ordinal of a message; kNoEntry if there is none.
  [[nodiscard]] Ordinal ordinal_of_revert() const { return reverted_; }
  void watch_for(std::string id) { awaited_ = std::move(id); }
  /// The number of messages before the last turn, which the program changes while it is working (D1).
  [[nodiscard]] Ordinal before_last_turn() const { return before_last_turn_; }

 private:
  Result<void> drop(const LineReader::Line& line, Damage::Kind kind) {
    sink_.add({line.offset, line.length, kind, false});
    return {};
  }

  Result<void> add(const LineReader::Line& line, const MessageFields& message, std::uint64_t hash) {
    RecordFields fields;
    fields.offset = line.offset;
    fields.length = line.length;
    fields.id = text_value(message.id);
    fields.parent.kind = FieldValue::Kind::null;
    if (count_ > 0) {
      fields.parent = text_value(before_);
    }
    fields.type = text_value(message.type);
    fields.role = text_value(message.role);
    if (message.created) {
      fields.timestamp.kind = FieldValue::Kind::number;
      fields.timestamp.number = *message.created;
    }
    RETURN_IF_ERROR(sink_.add(fields, hash));
    before_last_turn_ = message.role == "user" ? count_ : before_last_turn_;
    before_ = message.id;
    ++count_;
    reverted_ = message.id == awaited_ ? count_ : reverted_;
    return {};
  }

  RecordSink& sink_;
  std::unordered_map<std::string, std::uint64_t> seen_;  // hashes of the lines, by message
  std::string before_;
  Ordinal count_ = 0;
  Ordinal before_last_turn_ = 0;
  std::string awaited_;
  Ordinal reverted_ = kNoEntry;
};

/// "" for a time that a JavaScript date cannot represent.
std::string iso_date(double milliseconds) {
  constexpr double kLast = 8.64e15;
  const bool is_date = milliseconds >= -kLast && milliseconds <= kLast;
  return is_date ? json::iso_time(static_cast<std::int64_t>(milliseconds)) : "";
}

}  // namespace

Header header_of(std::string_view metadata, std::string_view id) {
  json::Document value;
  const json::Value* info = json::parse(metadata, value) ? json::member(value, "info") : nullptr;
  if (info == nullptr || !info->IsObject()) {
    return Header::invalid("the session's own data is not valid JSON, so OpenCode cannot load the session");
  }
  Header header;
  header.valid = true;
  header.json = json::stringify(value);
  header.id = id.empty() ? json::text_member(*info, "id") : std::string(id);
  header.cwd = json::text_member(*info, "directory");
  header.title = json::text_member(*info, "title");
  if (is_default_title(header.title)) {
    header.title.clear();
  }
  header.parent_session = json::text_member(*info, "parentID");
  header.started_by = header.parent_session;
  const json::Value* time = json::member(*info, "time");
  const json::Value* created = time == nullptr ? nullptr : json::member(*time, "created");
  if (created != nullptr && created->IsNumber()) {
    header.timestamp = iso_date(created->GetDouble());
  }
  return header;
}

bool is_default_title(std::string_view title) {
  for (const std::string_view prefix : {"New session - ", "Child session - "}) {
    if (title.starts_with(prefix) && json::parse_date(title.substr(prefix.size()))) {
      return true;
    }
  }
  return title.empty();
}

std::optional<PendingRevert> pending_revert(std::string_view metadata) {
  const std::string_view revert = skim::member(skim::member(metadata, "info"), "revert");
  auto message = skim::string_value(skim::member(revert, "messageID"));
  if (!message) {
    return std::nullopt;
  }
  return PendingRevert{*std::move(message), skim::text_member(revert, "partID")};
}

Result<Header> Reader::read_header(const LogSource& log) const {
  return header_of(log.metadata().value_or(""), log.place());
}

Result<void> Reader::read(const LogSource& log, RecordSink& sink, const std::stop_token& stop) const {
  const std::string_view metadata = log.metadata().value_or("");
  Header header = header_of(metadata, log.place());
  const auto revert = header.valid ? pending_revert(metadata) : std::nullopt;
  sink.set_header(std::move(header));
  MessageList messages(sink);
  if (revert) {
    messages.watch_for(revert->message);
  }
  ASSIGN_OR_RETURN(const auto size, log.size());
  LineReader lines(log, size, stop);
  for (;;) {
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    if (line == nullptr) {
      break;
    }
    RETURN_IF_ERROR(messages.take(*line));
  }
  sink.set_settled(messages.before_last_turn());
  if (const Ordinal reverted = messages.ordinal_of_revert(); reverted != kNoEntry) {
    const bool keeps_a_part = era_ == Era::database && !revert->part.empty();
    sink.set_leaf(keeps_a_part ? reverted : reverted - 1);
  }
  return {};
}

}  // namespace arborfs::opencode
