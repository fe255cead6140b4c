#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/opal/format.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/log/line_reader.h"
#include "core/log/log_index.h"
#include "core/log/record_reader.h"

namespace arborfs::opal {
namespace {

/// Reads Opal's session files (opal/FORMAT.md B, C). Thread-safe.
class Reader : public RecordReader {
 public:
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  /// Each change writes a whole log, and many readers look at it while it is young.
  [[nodiscard]] std::uint64_t most_compared() const override { return std::uint64_t{16} << 20U; }
  Result<void> read(const LogSource& log, RecordSink& sink, const std::stop_token& stop) const override;
  [[nodiscard]] std::string_view role_of(std::string_view word) const override {
    return word == "tool_result" ? "tool" : word == "tool_call" ? "assistant" : word;
  }
};

// The order of a session's messages. Opal writes its lines in the order of a hash table, so the order of the file has
// no meaning (opal/FORMAT.md B4). Pure; any thread.

/// The facts about one message that the order needs. Ids are unique.
struct MessageNode {
  std::string id;
  std::string parent;  // "" for a root
};

constexpr std::size_t kNone = SIZE_MAX;

class Forest {
 public:
  explicit Forest(const std::vector<MessageNode>& messages)
      : messages_(messages), children_(messages.size()), parents_(messages.size(), kNone) {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      places[messages[i].id] = i;
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const auto parent = messages[i].parent.empty() ? places.end() : places.find(messages[i].parent);
      if (parent == places.end()) {
        roots_.push_back(i);
      } else {
        parents_[i] = parent->second;
        children_[parent->second].push_back(i);
      }
    }
  }

  /// Moves the path to a message to the end of its siblings, level by level.
  void put_last(std::size_t current) {
    std::vector<bool> is_on_path(messages_.size());
    for (std::size_t at = current; at != kNone && !is_on_path[at]; at = parents_[at]) {
      is_on_path[at] = true;
    }
    is_last_ = std::move(is_on_path);
  }

  [[nodiscard]] std::vector<std::size_t> in_order() {
    sort(roots_);
    for (auto& children : children_) {
      sort(children);
    }
    std::vector<std::size_t> trees;
    for (const std::size_t root : roots_) {
      visit(root, trees);
    }
    std::vector<std::size_t> order = loops();
    order.insert(order.end(), trees.begin(), trees.end());
    return order;
  }

  /// The distance of each message from its root; 0 in loops.
  [[nodiscard]] std::vector<std::size_t> depths() {
    std::vector<std::size_t> order;
    for (const std::size_t root : roots_) {
      visit(root, order);
    }
    std::vector<std::size_t> depths(messages_.size());
    for (const std::size_t at : order) {
      depths[at] = parents_[at] == kNone ? 1 : depths[parents_[at]] + 1;
    }
    return depths;
  }

 private:
  void sort(std::vector<std::size_t>& siblings) const {
    std::sort(siblings.begin(), siblings.end(), [this](std::size_t one, std::size_t other) {
      const bool one_last = is_last(one);
      return one_last == is_last(other) ? messages_[one].id < messages_[other].id : !one_last;
    });
  }
  [[nodiscard]] bool is_last(std::size_t at) const { return !is_last_.empty() && is_last_[at]; }

  /// Appends a tree in pre-order, without the messages that were visited before.
  void visit(std::size_t root, std::vector<std::size_t>& order) {
    visited_.resize(messages_.size());
    std::vector<std::size_t> open{root};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (visited_[at]) {
        continue;
      }
      visited_[at] = true;
      order.push_back(at);
      open.insert(open.end(), children_[at].rbegin(), children_[at].rend());
    }
  }

  /// The messages that no root leads to.
  [[nodiscard]] std::vector<std::size_t> loops() {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (visited_.empty() || !visited_[i]) {
        left.push_back(i);
      }
    }
    sort(left);
    std::vector<std::size_t> order;
    for (const std::size_t at : left) {
      visit(at, order);
    }
    return order;
  }

  const std::vector<MessageNode>& messages_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> parents_;
  std::vector<std::size_t> roots_;
  std::vector<bool> is_last_;
  std::vector<bool> visited_;
};

/// Indexes of `messages`, each once: a parent before its children, siblings by id. The path to `current`, an index,
/// comes last at each level, so that a message appended there is the last one again. Messages in a loop of parents come
/// first.
std::vector<std::size_t> order_of(const std::vector<MessageNode>& messages, std::optional<std::size_t> current) {
  Forest forest(messages);
  if (current) {
    forest.put_last(*current);
  }
  return forest.in_order();
}

/// The last message, in the order of the file, of those that are farthest from a root; nothing if there is none.
std::optional<std::size_t> deepest(const std::vector<MessageNode>& messages) {
  const auto depths = Forest(messages).depths();
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < depths.size(); ++i) {
    if (!found || depths[i] >= depths[*found]) {
      found = i;
    }
  }
  return found;
}

constexpr std::uint64_t kLongestHeader = 1 << 20;

struct Record {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t hash = 0;
  bool has_parent = false;
  std::string role;
  std::string_view type;  // a literal
};

/// The members of a message that the index needs. They are found without parsing the line, which may be long.
struct Fields {
  std::optional<std::string> id;
  std::optional<std::string> parent;
  std::optional<std::string> role;
  std::string_view metadata;
};

/// Nothing if the line is not a message: an object with an id and a role.
std::optional<Fields> read_fields(std::string_view line) {
  Fields fields;
  if (!line.starts_with('{') || !json::is_one_value(line)) {
    return std::nullopt;
  }
  for (skim::Cursor cursor(line); cursor.next();) {
    if (cursor.key_is("id")) {
      fields.id = skim::string_value(cursor.value());
    } else if (cursor.key_is("parent_id")) {
      fields.parent = skim::string_value(cursor.value());
    } else if (cursor.key_is("role")) {
      fields.role = skim::string_value(cursor.value());
    } else if (cursor.key_is("metadata")) {
      fields.metadata = cursor.value();
    }
  }
  return fields.id && fields.role ? std::optional(std::move(fields)) : std::nullopt;
}

/// A compaction or the summary of a branch is a user's message that its metadata marks (opal/FORMAT.md C4).
std::string_view type_of(const Fields& message) {
  const std::string_view kind = skim::member(message.metadata, "type");
  if (skim::is_string(kind, "compaction_summary")) {
    return "compaction";
  }
  return skim::is_string(kind, "branch_summary") ? "branch_summary" : "message";
}

/// The header in a log's first line (opal/FORMAT.md B2). `name` is that of the log, which is the session's id (A5).
Header header_of(const LineReader::Line& line, std::string_view name) {
  json::Document value;
  if (line.is_too_long || line.length > kLongestHeader || !json::parse(line.text, value) || !value.IsObject()) {
    return Header::invalid("the first line is not a session header, so Opal cannot load the session");
  }
  if (read_fields(line.text)) {
    return Header::invalid("the first line is a message, which Opal takes for the session's header");
  }
  Header header;
  header.valid = true;
  header.json = json::stringify(value);
  header.id = name.empty() ? json::string_member(value, "session_id").value_or("") : name;
  const json::Value* metadata = json::member(value, "metadata");
  header.title = metadata == nullptr ? "" : json::string_member(*metadata, "title").value_or("");
  header.offset = line.offset;
  header.length = line.length;
  return header;
}

/// Collects the data of one log's lines.
class SessionLines {
 public:
  explicit SessionLines(std::string_view name) : name_(name) {}

  /// Tells the sink of complete lines that are no message.
  void take(const LineReader::Line& line, RecordSink& sink) {
    if (is_first_) {
      is_first_ = false;
      header_ = header_of(line, name_);
      if (header_.valid) {
        note_current(line.text);
        return;
      }
    }
    if (auto message = line.is_too_long ? std::nullopt : read_fields(line.text)) {
      add(line, *std::move(message));
    } else if (!line.is_too_long && json::is_one_value(line.text)) {
      sink.leave_out(skim::text_member(line.text, "role"));
    } else {
      damage_.push_back(damage_of(line));
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
  void note_current(std::string_view header) {
    const std::string_view current = skim::member(header, "current_id");
    has_current_ = !current.empty();
    current_ = skim::string_value(current).value_or("");
  }

  /// If lines have the same id, the last one counts (opal/FORMAT.md B4).
  void add(const LineReader::Line& line, Fields message) {
    const auto [place, is_new] = places_.emplace(*message.id, nodes_.size());
    Record record{line.offset,   line.length,     xxh64(line.text), message.parent.has_value(),
                  *message.role, type_of(message)};
    MessageNode node{*std::move(message.id), message.parent.value_or("")};
    if (is_new) {
      nodes_.push_back(std::move(node));
      records_.push_back(std::move(record));
      return;
    }
    const Record& before = records_[place->second];
    const bool is_same = before.hash == record.hash && before.length == record.length;
    damage_.push_back(
        {before.offset, before.length, is_same ? Damage::Kind::repetition : Damage::Kind::duplicate, false});
    nodes_[place->second] = std::move(node);
    records_[place->second] = std::move(record);
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
    fields.id = FieldValue::of(nodes_[at].id);
    if (record.has_parent) {
      fields.parent = FieldValue::of(nodes_[at].parent);
    } else {
      fields.parent.kind = FieldValue::Kind::null;
    }
    fields.type = FieldValue::of(record.type);
    fields.role = FieldValue::of(record.role);
    return fields;
  }

  const std::string_view name_;
  bool is_first_ = true;
  Header header_ = Header::invalid(std::string(kNoRecords));
  bool has_current_ = false;
  std::string current_;
  std::vector<MessageNode> nodes_;
  std::vector<Record> records_;  // by index in nodes_
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<Damage> damage_;
};

}  // namespace

Result<Header> Reader::read_header(const LogSource& log) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  LineReader lines(log, std::min(size, kLongestHeader), {});
  ASSIGN_OR_RETURN(const auto* line, lines.next());
  return line == nullptr ? Header::invalid(std::string(kNoRecords)) : header_of(*line, stem_of_place(log.place()));
}

Result<void> Reader::read(const LogSource& log, RecordSink& sink, const std::stop_token& stop) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  LineReader lines(log, size, stop);
  SessionLines session(stem_of_place(log.place()));
  for (;;) {
    ASSIGN_OR_RETURN(const auto* line, lines.next());
    if (line == nullptr) {
      return session.hand_over(sink);
    }
    session.take(*line, sink);
  }
}

const LogReader& reader() {
  static const Reader reader;
  return reader;
}

}  // namespace arborfs::opal
