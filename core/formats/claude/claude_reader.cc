#include "core/formats/claude/claude_reader.h"

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/formats/claude/leaf_finder.h"
#include "core/formats/claude/reply_chain.h"
#include "core/formats/claude/row_pipeline.h"
#include "core/formats/claude/session_head.h"
#include "core/model/tree.h"

namespace arborfs::claude {
namespace {

/// The nodes that rows of type progress stand for: the nearest one above (claude/FORMAT.md B4).
class Bridges {
 public:
  void add(const Row& progress) {
    const std::string_view above = node_above(progress.parent);
    if (parents_.empty() || parents_.back() != above) {
      parents_.emplace_back(above);
    }
    by_hash_[xxh64(progress.uuid)] = static_cast<std::uint32_t>(parents_.size() - 1);
  }
  [[nodiscard]] std::string_view node_above(std::string_view uuid) const {
    if (by_hash_.empty()) {
      return uuid;
    }
    const auto found = by_hash_.find(xxh64(uuid));
    return found == by_hash_.end() ? uuid : std::string_view(parents_[found->second]);
  }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
  std::deque<std::string> parents_;  // never move
};

FieldValue text_field(std::string_view text) {
  FieldValue value;
  value.kind = FieldValue::Kind::string;
  value.text = text;
  return value;
}

/// Makes entries of rows.
class Transcript {
 public:
  explicit Transcript(RecordSink& sink) : sink_(sink) {}

  Result<void> take(const Stretch& stretch) {
    for (const Damage& run : stretch.damage) {
      sink_.add(run);
    }
    for (const Row& row : stretch.rows) {
      if (row.kind == Row::Kind::pin) {
        leaf_.take_pin(row);
      } else if (row.kind == Row::Kind::progress) {
        bridges_.add(row);
      } else {
        RETURN_IF_ERROR(add(row));
      }
    }
    return {};
  }

  void finish() { sink_.set_leaf(leaf_.leaf(sink_)); }

 private:
  Result<void> add(const Row& node) {
    const std::string_view parent = replies_.parent_of(node, bridges_.node_above(node.parent));
    RecordFields fields;
    fields.offset = node.offset;
    fields.length = node.length;
    fields.id = text_field(node.uuid);
    fields.parent.kind = FieldValue::Kind::null;
    if (!parent.empty()) {
      fields.parent = text_field(parent);
    }
    const bool is_spoken =
        node.name == "user" || node.name == "assistant" || node.name == "tool" || node.name == "command";
    fields.type = text_field(is_spoken ? "message" : node.name);
    fields.role = text_field(node.name);
    if (!node.timestamp.empty()) {
      fields.timestamp = text_field(node.timestamp);
    }
    leaf_.take_node(node, ++entries_);
    return sink_.add(fields, node.hash);
  }

  RecordSink& sink_;
  Ordinal entries_ = 0;
  LeafFinder leaf_;
  ReplyChain replies_;
  Bridges bridges_;
};

}  // namespace

Result<Header> Reader::read_header(const LogSource& log) const {
  return read_session_head(log);
}

Result<std::optional<LogReader::FoundEntry>> Reader::find_first_user_message(const LogSource& log) const {
  constexpr std::uint64_t kFirstTry = 16 * 1024;
  constexpr std::uint64_t kLastTry = 256 * 1024;
  ASSIGN_OR_RETURN(const auto size, log.size());
  for (const std::uint64_t wanted : {kFirstTry, kLastTry}) {
    ASSIGN_OR_RETURN(auto bytes, log.read(0, std::min(size, wanted)));
    const auto head = log_from_bytes(std::move(bytes));
    ASSIGN_OR_RETURN(const auto index, this->index(*head, {}));
    if (const Ordinal first = first_user_message(*index); first != kNoEntry) {
      return std::optional(found_entry(*index, first));
    }
    if (size <= wanted) {
      break;
    }
  }
  return std::optional<FoundEntry>();
}

Result<void> Reader::read(const LogSource& log, RecordSink& sink, const std::atomic<bool>* cancelled) const {
  ASSIGN_OR_RETURN(const auto size, log.size());
  ASSIGN_OR_RETURN(auto header, read_session_head(log));
  sink.set_header(std::move(header));
  Transcript transcript(sink);
  RowPipeline rows(log, size, cancelled);
  for (;;) {
    ASSIGN_OR_RETURN(const auto* stretch, rows.next());
    if (stretch == nullptr) {
      break;
    }
    RETURN_IF_ERROR(transcript.take(*stretch));
  }
  transcript.finish();
  return {};
}

}  // namespace arborfs::claude
