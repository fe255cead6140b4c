#include "core/formats/claude/claude_reader.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/claude/row.h"
#include "core/formats/claude/row_reader.h"
#include "core/formats/claude/session_head.h"
#include "core/log/line_pipeline.h"
#include "core/log/record_reader.h"

namespace arborfs::claude {
namespace {

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

FieldValue text_field(std::string_view text) {
  FieldValue value;
  value.kind = FieldValue::Kind::string;
  value.text = text;
  return value;
}

/// True for the names of rows that are messages: of the user or the assistant, or in their names.
bool is_said(std::string_view name) {
  constexpr std::array kSaid = {"user", "assistant", "tool", "command", "task", "notification", "interruption"};
  return std::find(kSaid.begin(), kSaid.end(), name) != kSaid.end();
}

/// Makes entries of rows.
class Transcript final : public LineScan {
 public:
  [[nodiscard]] std::unique_ptr<LogScan> copy() const override { return std::make_unique<Transcript>(*this); }

  Result<void> read_to(const LogSource& log, std::uint64_t end, RecordSink& sink,
                       const std::atomic<bool>* cancelled) override {
    LinePipeline<Stretch> rows(log, at_, end, cancelled);
    at_ = end;
    for (;;) {
      ASSIGN_OR_RETURN(const auto* stretch, rows.next());
      if (stretch == nullptr) {
        return {};
      }
      RETURN_IF_ERROR(take(*stretch, sink));
    }
  }

  void finish(RecordSink& sink) const override { sink.set_leaf(loose_.leaf(leaf_.leaf(sink), sink)); }

 private:
  Result<void> take(const Stretch& stretch, RecordSink& sink) {
    for (const Damage& run : stretch.damage) {
      sink.add(run);
    }
    for (const std::string_view type : stretch.left_out) {
      sink.leave_out(type);
    }
    for (const Row& row : stretch.rows) {
      if (row.kind == Row::Kind::pin) {
        leaf_.take_pin(row);
      } else if (row.kind == Row::Kind::progress) {
        bridges_.add(row);
      } else {
        RETURN_IF_ERROR(add(row, sink));
      }
    }
    return {};
  }

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
    fields.id = text_field(id);
    const bool names_parent = node.has_parent || node.kind == Row::Kind::loose;
    fields.parent.kind = names_parent ? FieldValue::Kind::null : FieldValue::Kind::missing;
    if (!parent.empty()) {
      fields.parent = text_field(parent);
    }
    fields.is_aside = has_main_ && node.is_sidechain;
    const std::string_view name = fields.is_aside && node.name == "user" ? "task" : node.name;
    fields.type = text_field(is_said(name) ? "message" : name);
    fields.role = text_field(name);
    if (!node.timestamp.empty()) {
      fields.timestamp = text_field(node.timestamp);
    }
    set_before(node, id, fields);
    return sink.add(fields, node.hash);
  }

  /// A compaction begins a new root: with a boundary, or with the summary alone (claude/FORMAT.md C4).
  void set_before(const Row& node, std::string_view id, RecordFields& fields) {
    if (node.is_boundary && !node.before.empty()) {
      fields.before = text_field(bridges_.node_above(node.before));
    } else if (node.name == "summary" && fields.parent.kind == FieldValue::Kind::null && !last_main_.empty()) {
      fields.before = text_field(before_ = last_main_);
    }
    if (!fields.is_aside) {
      last_main_ = id;
    }
  }

  std::uint64_t at_ = 0;
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

}  // namespace arborfs::claude
