// A LogReader that passes the records of a whole log to a sink, which makes the index of them. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/log/log_reader.h"
#include "core/log/record_fields.h"

namespace arborfs {

/// Receives the records that a reader finds. Texts need to live only during the call.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Before the first entry; without it the index has an invalid header.
  virtual void set_header(Header header) = 0;
  /// The next entry, in the order of the tree: a parent before its children. `hash` is that of the entry's bytes: it
  /// shows which entries a rewritten log still has.
  virtual Result<void> add(const RecordFields& record, std::uint64_t hash) = 0;
  /// In the order of offsets.
  virtual void add(const Damage& damage) = 0;
  /// Complete records that make no entry and that the reader does not know as bookkeeping. `type` is what the log calls
  /// them, "" if it does not say.
  virtual void leave_out(std::string_view type, std::uint64_t count) = 0;
  void leave_out(std::string_view type) { leave_out(type, 1); }
  /// The leaf, if it is not the last entry that was added; kNoEntry for the root.
  virtual void set_leaf(Ordinal leaf) = 0;
  /// How many of the entries never change again; without a call, all of them. Agents may still be at work on later
  /// ones.
  virtual void set_settled(Ordinal /*entries*/) {}
  /// The last entry added with this id, kNoEntry if there is none. Ids must be strings.
  [[nodiscard]] virtual Ordinal find(std::string_view id) const = 0;
  /// The parent of an entry among those added so far; kNoEntry for a root and for an orphan.
  [[nodiscard]] virtual Ordinal parent(Ordinal ordinal) const = 0;
  /// The id of an entry among those added so far.
  [[nodiscard]] virtual std::string id(Ordinal ordinal) const = 0;
};

class RecordReader : public LogReader {
 public:
  /// Reads the whole log. Errors: io, those of the sink; interrupted once `cancelled`, which may be null, is true.
  virtual Result<void> read(const LogSource& log, RecordSink& sink, const std::atomic<bool>* cancelled) const = 0;
  [[nodiscard]] Result<std::unique_ptr<LogIndex>> index(const LogSource& log,
                                                        const IndexOptions& options) const override;
};

}  // namespace arborfs
