// LogReaders that pass the records of a log to a sink, which makes the index of them. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/log/log_reader.h"
#include "core/log/log_source.h"
#include "core/log/record_fields.h"

namespace arborfs {

/// Receives the records that a reader finds. Texts need to live only during the call.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// The header, once it is known and whenever it has changed; without it the index has an invalid one. A valid header
  /// is the log's first value (LogIndex::entry_at_value).
  virtual void set_header(Header header) = 0;
  /// The next entry, in the order of the tree: a parent before its children. `hash` is that of the entry's bytes: it
  /// shows which entries a rewritten log still has.
  virtual Result<void> add(const RecordFields& record, std::uint64_t hash) = 0;
  /// The places of so many malformed records, in the order of offsets.
  virtual void add_damage(std::span<const Damage> places, std::uint64_t records) = 0;
  void add(const Damage& damage) { add_damage(std::span(&damage, 1), 1); }
  /// Complete records that make no entry and that the reader does not know as bookkeeping. `type` is what the log calls
  /// them, "" if it does not say.
  virtual void leave_out(std::string_view type, std::uint64_t count) = 0;
  void leave_out(std::string_view type) { leave_out(type, 1); }
  /// One such record that is a value of the log all the same (LogIndex::entry_at_value).
  virtual void drop_value(std::string_view type) = 0;
  /// The leaf, if it is not the last entry that was added; kNoEntry for the root.
  virtual void set_leaf(Ordinal leaf) = 0;
  /// How many of the entries never change again; without a call, all of them. Agents may still be at work on later
  /// ones.
  virtual void set_settled(Ordinal /*entries*/) {}
  /// LogIndex::dialect(), which only a reading of the whole log sets.
  virtual void set_dialect(DialectNumber /*dialect*/) {}
  /// What was passed on so far stands, whatever is appended to the log: a later reading goes on at `offset`. Called
  /// once in a reading.
  virtual void set_resume(std::uint64_t /*offset*/) {}
  /// The entries so far, those of earlier readings included.
  [[nodiscard]] virtual Ordinal size() const = 0;
  /// The last entry added with this id, kNoEntry if there is none. Ids must be strings.
  [[nodiscard]] virtual Ordinal find(std::string_view id) const = 0;
  /// The parent of an entry among those added so far; kNoEntry for a root and for an orphan.
  [[nodiscard]] virtual Ordinal parent(Ordinal ordinal) const = 0;
  /// The id of an entry among those added so far.
  [[nodiscard]] virtual std::string id(Ordinal ordinal) const = 0;
};

/// For logs that may be rewritten: reads the whole log each time.
class RecordReader : public LogReader {
 public:
  /// Reads the whole log. Errors: io, those of the sink; interrupted once a stop is requested.
  virtual Result<void> read(const LogSource& log, RecordSink& sink, const std::stop_token& stop) const = 0;
  [[nodiscard]] Result<std::unique_ptr<LogIndex>> index(const LogSource& log,
                                                        const std::stop_token& stop) const override;
};

/// A reading of a log that has stopped at a place from which it can go on when the log has grown. Used by one thread.
class LogScan {
 public:
  virtual ~LogScan() = default;
  /// A copy of this scan in the same state. Reading with it does not change this one.
  [[nodiscard]] virtual std::unique_ptr<LogScan> copy() const = 0;
  /// Reads from where the scan stopped to `size`, where the log ends, and names the place where it can go on
  /// (RecordSink::set_resume). `sink` has all entries before. False if the log must be read again from the start, with
  /// restarted(). Errors: io, stale, those of the sink; interrupted once a stop is requested.
  virtual Result<bool> read(const LogSource& log, std::uint64_t size, RecordSink& sink,
                            const std::stop_token& stop) = 0;
  /// Called on a copy before it reads the rest of a log that has grown: false if the log must be read again from the
  /// start, whatever its new bytes are. `window` is over the log; `has_new_slot`: the bytes before slot_end() have
  /// changed. Errors: io, stale.
  virtual Result<bool> can_go_on(const LogSource& /*log*/, LogWindow& /*window*/, bool /*has_new_slot*/) {
    return true;
  }
  /// Where a first line ends that the agent overwrites in place; 0 if there is none (omp/FORMAT.md E4).
  [[nodiscard]] virtual std::uint64_t slot_end() const { return 0; }
  /// For another reading from the start, after read() has returned false.
  [[nodiscard]] virtual std::unique_ptr<LogScan> restarted() const { return nullptr; }
};

/// A scan of a log with one record per line: what a line says never depends on later ones.
class LineScan : public LogScan {
 public:
  Result<bool> read(const LogSource& log, std::uint64_t size, RecordSink& sink, const std::stop_token& stop) final;
  /// False also if the last line was an entry although no line feed ended it.
  Result<bool> can_go_on(const LogSource& log, LogWindow& window, bool has_new_slot) override;

 protected:
  /// Reads the lines from where the scan stopped to `end`, which is the end of a line or of the log. Errors: as read().
  virtual Result<void> read_to(const LogSource& log, std::uint64_t end, RecordSink& sink,
                               const std::stop_token& stop) = 0;
  /// Sets the leaf of the entries so far, if it is not the last one.
  virtual void finish(RecordSink& sink) const = 0;
  /// Where the part of the log starts that may grow: the last file, if there are several.
  [[nodiscard]] virtual std::uint64_t growing_part(const LogSource& /*log*/) const { return 0; }

 private:
  std::uint64_t end_ = 0;  // of the last whole line
  bool has_entries_after_ = false;
};

/// For logs that only grow. The index keeps the state of the scan, so that it grows by reading only the new part.
class GrowingReader : public LogReader {
 public:
  /// LogIndex::read_growth() of this index gives null also if known bytes changed, or if a new id is that of an earlier
  /// entry or its missing parent.
  [[nodiscard]] Result<std::unique_ptr<LogIndex>> index(const LogSource& log,
                                                        const std::stop_token& stop) const override;
  [[nodiscard]] bool only_grow() const override { return true; }

  /// At the start of a log.
  [[nodiscard]] virtual std::unique_ptr<LogScan> start_scan() const = 0;
  /// The header before a scan, which may find another one. Errors: io.
  [[nodiscard]] virtual Result<Header> first_header(const LogSource& log) const { return read_header(log); }
  /// The same for a log that has grown. `before` was its header when it had `settled` bytes that stand. Errors: io.
  [[nodiscard]] virtual Result<Header> grown_header(const LogSource& log, const Header& /*before*/,
                                                    std::uint64_t /*settled*/) const {
    return read_header(log);
  }
  /// True if the scan gives hashes of entries, by which a rewritten log is compared.
  [[nodiscard]] virtual bool hashes_entries() const { return true; }
};

}  // namespace arborfs
