// How the log of an agent other than omp and pi becomes entries. One constant object a format. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/log/record_fields.h"

namespace arborfs {

/// Receives what a reader finds, and makes the index of it. Texts need to live only during the call.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  /// Before the first entry; without it the index has an invalid header.
  virtual void set_header(Header header) = 0;
  /// The next entry, in the order of the tree: a parent before its children. `hash` is that of the entry's bytes: it
  /// tells which entries a rewritten log still has.
  virtual Result<void> add(const RecordFields& record, std::uint64_t hash) = 0;
  /// In the order of offsets.
  virtual void add(const Damage& damage) = 0;
  /// The leaf, if it is not the last entry that was added; kNoEntry for the root.
  virtual void set_leaf(Ordinal leaf) = 0;
};

class RecordReader {
 public:
  virtual ~RecordReader() = default;
  /// Reads what a listing of sessions needs, at most a few MiB. Errors: io.
  [[nodiscard]] virtual Result<Header> read_header(const LogSource& log) const = 0;
  /// Reads the whole log. Errors: io, those of the sink; interrupted once `cancelled`, which may be null, is true.
  virtual Result<void> read(const LogSource& log, RecordSink& sink, const std::atomic<bool>* cancelled) const = 0;
};

}  // namespace arborfs
