#include "core/formats/claude/claude_reader.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/claude/leaf_finder.h"
#include "core/formats/claude/loose_rows.h"
#include "core/formats/claude/reply_chain.h"
#include "core/formats/claude/row_reader.h"
#include "core/formats/claude/session_head.h"
#include "core/log/line_pipeline.h"

namespace arborfs::claude {
namespace {

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
