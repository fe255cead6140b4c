// What arborfs knows about the sessions of one agent: its name, and the parts that read and render its records. One
// constant object a format; a store (session_store.h) says which format its sessions have. Any thread.
#pragma once

#include <string_view>

#include "core/log/log_index.h"

namespace arborfs {

class RecordReader;    // core/log/record_reader.h
class RecordRenderer;  // core/render/record_renderer.h

struct Format {
  std::string_view agent;          // as users spell it in --store and -a: "omp", "opal"
  std::string_view name;           // of the files, for session.json: "omp-jsonl"
  const RecordReader* reader;      // null: LogIndex reads the logs itself, as omp and pi write them
  const RecordRenderer* renderer;  // never null
  bool is_writable = false;        // false: arborfs changes no session of this format
};

/// The header of a log of this format, without an index. Errors: io.
Result<Header> read_header(const Format& format, const LogSource& log);

/// The logs of omp.
const Format& omp_format();
/// The logs of pi, in a store that is surely its own: an agent dir that both may use counts as omp's.
const Format& pi_format();
/// True for both: arborfs reads their logs alike, and one folder may have logs of both.
bool is_of_omp_or_pi(const Format& format);

/// The refusal of a write to a session of this format.
Error only_reads(const Format& format);
/// Errors: only_reads() if arborfs changes no session of this format.
Result<void> check_writable(const Format& format);

}  // namespace arborfs
