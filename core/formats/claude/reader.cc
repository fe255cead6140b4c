#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/formats/claude/format.h"
#include "core/formats/claude/row.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/log/line_reader.h"
#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/log/record_reader.h"

namespace arborfs::claude {
namespace {

/// Reads the transcripts of Claude Code (claude/FORMAT.md B, C). Thread-safe.
class Reader : public GrowingReader {
 public:
  /// As the program lists a session: from the first and the last 64 KiB (claude/FORMAT.md D1).
  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  [[nodiscard]] std::unique_ptr<LogScan> start_scan() const override;
  [[nodiscard]] std::string_view role_of(std::string_view word) const override {
    return word == "meta" ? "system" : word;
  }
};

// The facts about a session for a listing: its ids, title, working directory and time (claude/FORMAT.md D).
// Thread-safe.

constexpr std::uint64_t kEnd = 64 * 1024;
constexpr std::string_view kOfSubAgents = "/subagents/";  // in a place: between the session and its sub-agents
/// Usually enough for the first rows of the tree.
constexpr std::uint64_t kShortEnd = 4 * 1024;

Result<std::string> read_piece(const LogSource& log, std::uint64_t offset, std::uint64_t length) {
  std::string piece(static_cast<std::size_t>(length), '\0');
  ASSIGN_OR_RETURN(const auto got, log.read_at(offset, piece));
  piece.resize(got);
  return piece;
}

/// Rows of bookkeeping are short, and usually begin with their type; others are skipped.
bool may_be_note(std::string_view line) {
  constexpr std::size_t kLongestOdd = 512;
  return line.starts_with(R"({"type":")") ? !line.starts_with(R"({"type":"api-)") : line.size() <= kLongestOdd;
}

/// The facts from the bookkeeping in a piece of the log (claude/FORMAT.md D). The last row of a kind counts.
struct TailRows {
  std::optional<std::string> custom_title;
  std::optional<std::string> made_title;
  std::optional<std::string> tag;
  std::optional<std::string> cwd;
  std::map<std::string, double> costs;  // of whole sessions so far, by the id of the session

  void take(std::string_view line) {
    if (!may_be_note(line) || json::scan_value(line, 0).verdict != json::ValueScanner::Verdict::value) {
      return;
    }
    const std::string_view type = skim::member(line, "type");
    if (skim::is_string(type, "custom-title")) {
      replace(custom_title, line, "customTitle");
    } else if (skim::is_string(type, "ai-title")) {
      replace(made_title, line, "aiTitle");
    } else if (skim::is_string(type, "tag")) {
      replace(tag, line, "tag");
    } else if (skim::is_string(type, "relocated")) {
      replace(cwd, line, "relocatedCwd");
    } else if (skim::is_string(type, "cost-state")) {
      const std::string_view told = skim::member(line, "totalCostUSD");
      const bool is_number = !told.empty() && told.front() >= '0' && told.front() <= '9';
      if (is_number) {
        double& cost = costs[skim::text_member(line, "sessionId")];
        cost = std::max(cost, json::number_value(told));
      }
    }
  }

 private:
  static void replace(std::optional<std::string>& field, std::string_view line, std::string_view key) {
    if (auto found = skim::string_value(skim::member(line, key))) {
      field = std::move(found);
    }
  }
};

/// Calls visit(line) for each line that begins an object; the last one may lack bytes.
template <class Visit>
void each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (text.front() == '{') {
      visit(text.substr(0, end));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

TailRows notes_in(std::string_view text) {
  TailRows notes;
  each_line(text, [&notes](std::string_view line) { notes.take(line); });
  return notes;
}

/// The facts from the rows at the start.
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

/// The members of the first row of the tree that describe the start of the session.
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

/// Adds the facts of a row that no earlier row had.
void note_row(std::string_view line, Start& start) {
  note(start.session, line, "sessionId");
  note(start.cwd, line, "cwd");
  if (skim::member(line, "uuid").empty()) {
    return;
  }
  note(start.timestamp, line, "timestamp");
  if (start.native.empty()) {
    start.native = native_header(line);
    if (skim::is_truthy(skim::member(line, "isSidechain"))) {
      note(start.agent, line, "agentId");
    }
  }
}

void read_rows_of(std::string_view text, Start& start) {
  each_line(text, [&start](std::string_view line) {
    if (!start.is_complete()) {
      note_row(line, start);
    }
  });
}

/// What the names of the file and of its folders tell (claude/FORMAT.md A3, A6).
struct Named {
  std::string id;
  std::string starter;  // of a sub-agent
  bool is_sub_agent = false;
};

Named named_by(std::string_view place, const Start& start) {
  Named named{std::string(stem_of_place(place)), "", false};
  if (place.empty()) {
    named.is_sub_agent = start.agent.has_value();
    named.id = named.is_sub_agent ? std::string(kAgentPrefix) + *start.agent : start.session.value_or("");
  } else {
    named.is_sub_agent = named.id.starts_with(kAgentPrefix);
  }
  if (const std::size_t folder = place.find(kOfSubAgents); folder != std::string_view::npos) {
    named.is_sub_agent = true;
    named.starter = place.substr(0, folder);
    named.starter.erase(0, named.starter.rfind('/') + 1);
  } else if (named.is_sub_agent) {
    named.starter = start.session.value_or("");
  }
  return named;
}

Header header_of(const Start& start, std::string_view place) {
  Header header;
  header.valid = true;  // a log without rows of its own is normal (D4)
  header.json = start.native.empty() ? "{}" : start.native;
  Named named = named_by(place, start);
  header.id = std::move(named.id);
  header.parent_session = named.starter;
  header.started_by = std::move(named.starter);
  header.cwd = start.cwd.value_or("");
  header.timestamp = start.timestamp.value_or("");
  return header;
}

/// The two ends of a log, which overlap if it is short.
class Ends {
 public:
  Ends(const LogSource& log, std::uint64_t size) : log_(log), size_(size) {}

  /// True if the end has all lines.
  [[nodiscard]] bool is_short() const { return size_ <= kEnd; }
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

/// For each kind of title, the one at the end of the log counts, else the one at its start. A custom title that is
/// empty clears the ones before it.
Result<std::string> find_title(Ends& ends, const TailRows& tail) {
  for (const auto title : {&TailRows::custom_title, &TailRows::made_title}) {
    const auto& at_end = tail.*title;
    if (at_end && !at_end->empty()) {
      return *at_end;
    }
    if (ends.is_short() || (at_end && title == &TailRows::custom_title)) {
      continue;
    }
    ASSIGN_OR_RETURN(const auto head, ends.head(kEnd));
    auto at_start = notes_in(head).*title;
    if (at_start && !at_start->empty()) {
      return *std::move(at_start);
    }
  }
  return std::string();
}

/// The cost of the session. Rows of a session that this one continues name that one; those of a renamed log do, too,
/// but there no row names the session as its file is called now.
std::optional<double> cost_in(const TailRows& notes, const std::string& id, const std::string& first_id,
                              std::string_view tail) {
  const bool is_named = tail.find("\"" + id + "\"") != std::string_view::npos;
  const auto cost = notes.costs.find(is_named ? id : first_id);
  return cost == notes.costs.end() ? std::nullopt : std::optional(cost->second);
}

/// The working directory: the one that the bookkeeping names, else the first. Where the program would look for that one
/// in another folder, the transcript was moved since: then the last one that belongs to its folder counts.
std::string find_cwd(std::string_view place, std::string_view tail, std::string first) {
  const std::string_view folder = place.substr(0, place.find('/'));
  if (place.empty() || place.find(kOfSubAgents) != std::string_view::npos || project_folder_of(first) == folder) {
    return first;
  }
  std::string moved;
  each_line(tail, [&](std::string_view line) {
    std::string cwd = skim::text_member(line, "cwd");
    if (!cwd.empty() && project_folder_of(cwd) == folder) {
      moved = std::move(cwd);
    }
  });
  return moved.empty() ? first : moved;
}

/// Reads at most the first and the last 64 KiB. metadata() of the log is a title that stands elsewhere
///. Errors: io.
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
  Header header = header_of(start, log.place());
  const TailRows notes = notes_in(tail);
  const auto told = log.told_cwd();
  header.cwd = told ? *told : find_cwd(log.place(), tail, notes.cwd.value_or(header.cwd));
  header.tag = notes.tag.value_or("");
  header.cost = cost_in(notes, header.id, start.session.value_or(""), tail);
  ASSIGN_OR_RETURN(header.title, find_title(ends, notes));
  header.is_named = notes.custom_title.has_value();
  if (header.title.empty() && !header.is_named) {
    header.title = log.metadata().value_or("");
  }
  return header;
}

/// Finds the entry from which a transcript continues when its session is resumed (claude/FORMAT.md C1). Used by one
/// thread.
class LeafFinder {
 public:
  /// Call these for each row, in the order of the file.
  void take_node(const Row& node, Ordinal ordinal);
  void take_pin(const Row& pin);
  /// Call it when all entries are in the index.
  [[nodiscard]] Ordinal leaf(const RecordSink& index) const;

 private:
  std::string pin_;             // "" for none
  bool is_explicit_ = false;    // the pin counts even if the conversation continued below it
  bool is_rewound_ = false;     // to before the first prompt
  Ordinal row_ = kNoEntry;      // the last node that is of no sub-agent
  Ordinal any_row_ = kNoEntry;  // the last node
};

bool descends_from(const RecordSink& index, Ordinal from, Ordinal ancestor, Ordinal most) {
  Ordinal at = from;
  for (Ordinal steps = 0; at != kNoEntry && steps <= most; ++steps) {
    if (at == ancestor) {
      return true;
    }
    at = index.parent(at);
  }
  return false;
}

void LeafFinder::take_node(const Row& node, Ordinal ordinal) {
  any_row_ = ordinal;
  if (node.is_sidechain) {
    return;
  }
  row_ = ordinal;
  is_explicit_ = false;
  if (node.is_message) {
    is_rewound_ = false;
  }
  if (node.is_boundary) {
    pin_.clear();
  }
}

void LeafFinder::take_pin(const Row& pin) {
  if (!pin.leaf.empty()) {
    pin_ = pin.leaf;
    is_explicit_ = pin.is_explicit;
    is_rewound_ = false;
  } else if (pin.is_explicit) {
    pin_.clear();
    is_rewound_ = true;
  }
}

Ordinal LeafFinder::leaf(const RecordSink& index) const {
  if (is_rewound_) {
    return kNoEntry;
  }
  const Ordinal row = row_ == kNoEntry ? any_row_ : row_;
  const Ordinal pinned = pin_.empty() ? kNoEntry : index.find(pin_);
  if (pinned == kNoEntry || (!is_explicit_ && descends_from(index, row, pinned, any_row_))) {
    return row;
  }
  return pinned;
}

/// Chains the parts of one reply: its blocks, and the results of its tool calls (claude/FORMAT.md C3). Remembers only
/// the latest replies. Used by one thread.
class ReplyChain {
 public:
  /// The parent that a node has in the tree. Call it for each node, in the order of the file. `parent` is the one that
  /// the node names; the result is valid until the next call.
  std::string_view parent_of(const Row& node, std::string_view parent);

 private:
  /// A uuid, with a hash that makes comparing quick.
  struct Name {
    std::uint64_t hash = 0;
    std::string text;
    bool operator==(const Name&) const = default;
  };
  struct Reply {
    Name message_id;
    std::deque<Name> members;  // its blocks, the results, and the nodes between; never empty
  };
  static constexpr std::size_t kMostReplies = 4;
  static constexpr std::size_t kMostMembers = 128;

  static Name name_of(std::string_view text);
  static bool is(const Name& name, std::uint64_t hash, std::string_view text) {
    return name.hash == hash && name.text == text;
  }
  [[nodiscard]] Reply* reply_with(std::string_view member);
  [[nodiscard]] bool repeats(const Reply& reply, const Row& node);
  void append(Reply& reply, const Row& node);
  void begin(const Row& node);
  void follow(const Row& node, std::string_view parent);

  std::deque<Reply> replies_;  // the newest last
  Name last_;                  // the member that was appended last
  std::deque<Name> after_;     // nodes that follow it one by one and are not messages
  std::string parent_;
};

std::string_view ReplyChain::parent_of(const Row& node, std::string_view parent) {
  Reply* const reply = parent.empty() ? nullptr : reply_with(parent);
  parent_ = reply == nullptr ? parent : std::string_view(reply->members.back().text);
  const bool is_next_block = reply != nullptr && node.part == Row::Part::block && reply->message_id.text == node.reply;
  if (reply != nullptr && (node.part == Row::Part::result || is_next_block)) {
    if (!repeats(*reply, node)) {
      append(*reply, node);
    }
  } else if (node.part == Row::Part::block && !node.reply.empty()) {
    begin(node);
  } else {
    follow(node, parent_);
  }
  return parent_;
}

/// True for a member that is written again. It keeps the parent that it had.
bool ReplyChain::repeats(const Reply& reply, const Row& node) {
  const std::uint64_t hash = xxh64(node.uuid);
  const auto again = std::find_if(reply.members.begin(), reply.members.end(),
                                  [&](const Name& name) { return is(name, hash, node.uuid); });
  if (again != reply.members.end() && again != reply.members.begin()) {
    parent_ = std::prev(again)->text;
  }
  return again != reply.members.end();
}

/// Appends a block or a result after the nodes that follow the last one of the reply.
void ReplyChain::append(Reply& reply, const Row& node) {
  if (reply.members.back() == last_ && !after_.empty()) {
    std::move(after_.begin(), after_.end(), std::back_inserter(reply.members));
    parent_ = reply.members.back().text;
  }
  reply.members.push_back(name_of(node.uuid));
  while (reply.members.size() > kMostMembers) {
    reply.members.pop_front();
  }
  last_ = reply.members.back();
  after_.clear();
}

void ReplyChain::begin(const Row& node) {
  last_ = name_of(node.uuid);
  replies_.push_back({name_of(node.reply), {last_}});
  if (replies_.size() > kMostReplies) {
    replies_.pop_front();
  }
  after_.clear();
}

void ReplyChain::follow(const Row& node, std::string_view parent) {
  const bool is_next = !last_.text.empty() && parent == (after_.empty() ? last_ : after_.back()).text;
  if (is_next && !node.is_message && after_.size() < kMostMembers) {
    after_.push_back(name_of(node.uuid));
    return;
  }
  last_ = {};
  after_.clear();
}

ReplyChain::Name ReplyChain::name_of(std::string_view text) {
  return {xxh64(text), std::string(text)};
}

ReplyChain::Reply* ReplyChain::reply_with(std::string_view member) {
  const std::uint64_t hash = xxh64(member);
  for (auto reply = replies_.rbegin(); reply != replies_.rend(); ++reply) {
    const auto found = std::find_if(reply->members.rbegin(), reply->members.rend(),
                                    [&](const Name& name) { return is(name, hash, member); });
    if (found != reply->members.rend()) {
      return &*reply;
    }
  }
  return nullptr;
}

/// Places rows without a uuid in the tree: they follow what precedes them in the file, and the conversation goes on
/// below them (claude/FORMAT.md B7). A value; used by one thread.
class LooseRows {
 public:
  /// Call these for each row, in the order of the file. `ordinal` is that of its entry.
  /// The parent of a loose row; valid until the next call. `id` is the one that its entry gets.
  std::string_view add_loose(const Row& row, std::string_view id, Ordinal ordinal);
  /// The parent of a node that would have the parent `parent`; valid until the next call.
  std::string_view parent_of(const Row& node, std::string_view parent);

  /// The leaf of a log whose nodes have the leaf `leaf`: the loose rows that follow it at the end of the file.
  [[nodiscard]] Ordinal leaf(Ordinal leaf, const RecordSink& index) const;

 private:
  /// The end of the rows of a sub-agent, or of the others.
  struct End {
    std::string last;              // the id of the last row, "" for none
    std::string before;            // if that is loose: the id of the node before the loose rows, "" for none
    Ordinal loose_row = kNoEntry;  // if that is loose: its ordinal
  };
  [[nodiscard]] End& end_of(const Row& row) { return ends_[row.is_sidechain ? 1 : 0]; }

  std::array<End, 2> ends_;
  std::string parent_;
};

std::string_view LooseRows::add_loose(const Row& row, std::string_view id, Ordinal ordinal) {
  End& end = end_of(row);
  if (end.loose_row == kNoEntry) {
    end.before = end.last;
  }
  parent_ = std::exchange(end.last, std::string(id));
  end.loose_row = ordinal;
  return parent_;
}

std::string_view LooseRows::parent_of(const Row& node, std::string_view parent) {
  End& end = end_of(node);
  const bool follows = end.loose_row != kNoEntry && parent == end.before;
  parent_ = follows ? std::string_view(end.last) : parent;
  end = {std::string(node.uuid), "", kNoEntry};
  return parent_;
}

Ordinal LooseRows::leaf(Ordinal leaf, const RecordSink& index) const {
  const std::string id = leaf == kNoEntry ? "" : index.id(leaf);
  for (const End& end : ends_) {
    if (end.loose_row != kNoEntry && end.before == id) {
      return end.loose_row;
    }
  }
  return leaf;
}

/// The nodes that replace rows of type progress: the nearest one above each (claude/FORMAT.md B4). Copies share their
/// data until one of them changes.
class Bridges {
 public:
  void add(const Row& progress) {
    const std::string above(node_above(progress.parent));
    if (!known_ || known_.use_count() > 1) {
      known_ = known_ ? std::make_shared<Known>(*known_) : std::make_shared<Known>();
    }
    if (known_->parents.empty() || known_->parents.back() != above) {
      known_->parents.push_back(above);
    }
    known_->by_hash[xxh64(progress.uuid)] = static_cast<std::uint32_t>(known_->parents.size() - 1);
  }
  /// Valid until the next call of add().
  [[nodiscard]] std::string_view node_above(std::string_view uuid) const {
    if (!known_) {
      return uuid;
    }
    const auto found = known_->by_hash.find(xxh64(uuid));
    return found == known_->by_hash.end() ? uuid : std::string_view(known_->parents[found->second]);
  }

 private:
  struct Known {
    std::unordered_map<std::uint64_t, std::uint32_t> by_hash;
    std::vector<std::string> parents;
  };
  std::shared_ptr<Known> known_;  // null for none
};

/// True for the names of rows that are messages: of the user or the assistant, or in their names.
bool is_said(std::string_view name) {
  constexpr std::array kSaid = {"user", "assistant", "tool", "command", "task", "notification", "interruption"};
  return std::find(kSaid.begin(), kSaid.end(), name) != kSaid.end();
}

/// Makes entries of rows.
class Transcript final : public StretchScan<Transcript, Stretch> {
 public:
  void finish(RecordSink& sink) const override { sink.set_leaf(loose_.leaf(leaf_.leaf(sink), sink)); }

  Result<void> take(const Row& row, RecordSink& sink) {
    if (row.kind == Row::Kind::pin) {
      leaf_.take_pin(row);
    } else if (row.kind == Row::Kind::progress) {
      bridges_.add(row);
    } else {
      RETURN_IF_ERROR(add(row, sink));
    }
    return {};
  }

 private:
  Result<void> add(const Row& node, RecordSink& sink) {
    ++entries_;
    has_main_ = has_main_ || !node.is_sidechain;
    if (node.kind == Row::Kind::loose) {
      const std::string id = "row-" + std::to_string(node.offset);
      return add(node, id, loose_.add_loose(node, id, entries_), sink);
    }
    leaf_.take_node(node, entries_);
    const std::string_view parent = replies_.parent_of(node, bridges_.node_above(node.parent));
    return add(node, node.uuid, loose_.parent_of(node, parent), sink);
  }

  Result<void> add(const Row& node, std::string_view id, std::string_view parent, RecordSink& sink) {
    RecordFields fields;
    fields.offset = node.offset;
    fields.length = node.length;
    fields.id = FieldValue::of(id);
    const bool names_parent = node.has_parent || node.kind == Row::Kind::loose;
    fields.parent.kind = names_parent ? FieldValue::Kind::null : FieldValue::Kind::missing;
    if (!parent.empty()) {
      fields.parent = FieldValue::of(parent);
    }
    fields.is_aside = has_main_ && node.is_sidechain;
    const std::string_view name = fields.is_aside && node.name == "user" ? "task" : node.name;
    fields.type = FieldValue::of(is_said(name) ? "message" : name);
    fields.role = FieldValue::of(name);
    if (!node.timestamp.empty()) {
      fields.timestamp = FieldValue::of(node.timestamp);
    }
    set_before(node, id, fields);
    return sink.add(fields, node.hash);
  }

  /// A compaction begins a new root: with a boundary, or with the summary alone (claude/FORMAT.md C4).
  void set_before(const Row& node, std::string_view id, RecordFields& fields) {
    if (node.is_boundary && !node.before.empty()) {
      fields.before = FieldValue::of(bridges_.node_above(node.before));
    } else if (node.name == "summary" && fields.parent.kind == FieldValue::Kind::null && !last_main_.empty()) {
      fields.before = FieldValue::of(before_ = last_main_);
    }
    if (!fields.is_aside) {
      last_main_ = id;
    }
  }

  Ordinal entries_ = 0;
  bool has_main_ = false;  // a node that belongs to no sub-agent
  std::string last_main_;  // the id of the last node that is not an aside
  std::string before_;     // RecordFields::before of the node that is added
  LeafFinder leaf_;
  ReplyChain replies_;
  LooseRows loose_;
  Bridges bridges_;
};

}  // namespace

Result<Header> Reader::read_header(const LogSource& log) const {
  return read_session_head(log);
}

std::unique_ptr<LogScan> Reader::start_scan() const {
  return std::make_unique<Transcript>();
}

const LogReader& reader() {
  static const Reader reader;
  return reader;
}

}  // namespace arborfs::claude
