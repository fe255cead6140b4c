#include "core/formats/opal/opal_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/opal/message_order.h"
#include "core/json/document.h"
#include "core/log/line_reader.h"

namespace arborfs::opal {
namespace {

constexpr std::uint64_t kLongestHeader = 1 << 20;

struct Record {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t hash = 0;
  bool has_parent = false;
  std::string role;
  std::string_view type;  // a literal
};

FieldValue text_field(std::string_view text) {
  FieldValue value;
  value.kind = FieldValue::Kind::string;
  value.text = text;
  return value;
}

/// A compaction or the summary of a branch is a user's message that its metadata marks (opal/FORMAT.md C4).
std::string_view type_of(const json::Value& message) {
  const json::Value* metadata = json::member(message, "metadata");
  const auto kind = metadata == nullptr ? std::nullopt : json::string_member(*metadata, "type");
  if (kind == "compaction_summary") {
    return "compaction";
  }
  return kind == "branch_summary" ? "branch_summary" : "message";
}

bool is_message(const json::Value& value) {
  return json::string_member(value, "id") && json::string_member(value, "role");
}

Header no_header(std::string problem) {
  Header header;
  header.problem = std::move(problem);
  header.writable_version = false;
  return header;
}

/// The header in a log's first line (opal/FORMAT.md B2).
Header header_of(const LineReader::Line& line, const json::Value& value) {
  if (!value.IsObject()) {
    return no_header("the first line is no session header, so Opal cannot load the session");
  }
  if (is_message(value)) {
    return no_header("the first line is a message, which Opal takes for the session's header");
  }
  Header header;
  header.valid = true;
  header.writable_version = false;
  header.problem = "arborfs only reads sessions of opal";
  header.json = json::stringify(value);
  header.id = json::string_member(value, "session_id").value_or("");
  const json::Value* metadata = json::member(value, "metadata");
  header.title = metadata == nullptr ? "" : json::string_member(*metadata, "title").value_or("");
  header.offset = line.offset;
  header.length = line.length;
  return header;
}

/// Collects what the lines of one log hold.
class Session {
 public:
  void take(const LineReader::Line& line) {
    json::Document value;
    const bool is_json = !line.is_too_long && json::parse(line.text, value);
    if (is_first_) {
      is_first_ = false;
      header_ =
          is_json ? header_of(line, value) : no_header("the first line is not JSON, so Opal cannot load the session");
      if (header_.valid) {
        note_current(value);
        return;
      }
    }
    if (is_json && is_message(value)) {
      add(line, value);
    } else {
      add_damage(line);
    }
  }

  Result<void> hand_over(RecordSink& sink) {
    sink.set_header(header_);
    std::sort(damage_.begin(), damage_.end(), [](const Damage& a, const Damage& b) { return a.offset < b.offset; });
    for (const Damage& run : damage_) {
      sink.add(run);
    }
    const auto current = this->current();
    Ordinal leaf = kNoEntry;
    Ordinal ordinal = kNoEntry;
    for (const std::size_t at : order_of(nodes_, current)) {
      RETURN_IF_ERROR(sink.add(fields_of(at), records_[at].hash));
      ++ordinal;
      leaf = at == current ? ordinal : leaf;
    }
    sink.set_leaf(leaf);
    return {};
  }

 private:
  void note_current(const json::Value& header) {
    has_current_ = json::member(header, "current_id") != nullptr;
    current_ = json::string_member(header, "current_id").value_or("");
  }

  /// Of lines with the same id the last one counts (opal/FORMAT.md B4).
  void add(const LineReader::Line& line, const json::Value& message) {
    const std::string id(*json::string_member(message, "id"));
    const auto [place, is_new] = places_.emplace(id, nodes_.size());
    const auto parent = json::string_member(message, "parent_id");
    MessageNode node{id, std::string(parent.value_or(""))};
    Record record{line.offset,
                  line.length,
                  xxh64(line.text),
                  parent.has_value(),
                  std::string(*json::string_member(message, "role")),
                  type_of(message)};
    if (is_new) {
      nodes_.push_back(std::move(node));
      records_.push_back(std::move(record));
      return;
    }
    const Record& before = records_[place->second];
    damage_.push_back({before.offset, before.length, Damage::Kind::duplicate, false});
    nodes_[place->second] = std::move(node);
    records_[place->second] = std::move(record);
  }

  void add_damage(const LineReader::Line& line) {
    const Damage::Kind kind = line.is_too_long ? Damage::Kind::too_tangled
                              : line.is_ended  ? Damage::Kind::malformed
                                               : Damage::Kind::unfinished;
    damage_.push_back({line.offset, line.length, kind, !line.is_ended});
  }

  /// Where Opal continues (opal/FORMAT.md C1).
  [[nodiscard]] std::optional<std::size_t> current() const {
    if (!has_current_) {
      return deepest(nodes_);
    }
    const auto found = places_.find(current_);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

  [[nodiscard]] RecordFields fields_of(std::size_t at) const {
    const Record& record = records_[at];
    RecordFields fields;
    fields.offset = record.offset;
    fields.length = record.length;
    fields.id = text_field(nodes_[at].id);
    if (record.has_parent) {
      fields.parent = text_field(nodes_[at].parent);
    } else {
      fields.parent.kind = FieldValue::Kind::null;
    }
    fields.type = text_field(record.type);
    fields.role = text_field(record.role);
    return fields;
  }

  bool is_first_ = true;
  Header header_ = no_header("the log has no records");
  bool has_current_ = false;
  std::string current_;
  std::vector<MessageNode> nodes_;
  std::vector<Record> records_;  // by index in nodes_
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<Damage> damage_;
};

}  // namespace

Result<Header> Reader::read_header(const LogFile& log) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  LineReader lines(log, std::min(size, kLongestHeader), nullptr);
  ASSIGN_OR_RETURN(const auto* line, lines.next());
  if (line == nullptr) {
    return no_header("the log has no records");
  }
  json::Document value;
  return json::parse(line->text, value) ? header_of(*line, value)
                                        : no_header("the first line is not JSON, so Opal cannot load the session");
}

Result<void> Reader::read(const LogFile& log, RecordSink& sink, const std::atomic<bool>* cancelled) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  LineReader lines(log, size, cancelled);
  Session session;
  for (;;) {
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    if (line == nullptr) {
      return session.hand_over(sink);
    }
    session.take(*line);
  }
}

}  // namespace arborfs::opal
