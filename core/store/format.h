// What arborfs knows about the sessions of one agent: its name, and the parts that read and render its records. One
// constant object a format; a store (session_store.h) says which format its sessions have. Any thread.
#pragma once

#include <string_view>

#include "core/base/error.h"

namespace arborfs {

class AgentFinder;     // core/session/agent_look.h
class LogReader;       // core/log/log_reader.h
class RecordRenderer;  // core/render/record_renderer.h

struct Format {
  std::string_view agent;          // as users spell it in --store and -a: "omp", "opal"
  std::string_view name;           // of the files, for session.json: "omp-jsonl"
  const LogReader* reader;         // never null
  const RecordRenderer* renderer;  // never null
  bool is_writable = false;        // false: arborfs changes no session of this format
  /// True for the agents whose sessions are shown without the agent's name, and whose header is session.json itself.
  bool is_plain = false;
  const AgentFinder* agents = nullptr;  // null: running agents are not recognised
};

/// The refusal of a write to a session of this format.
Error only_reads(const Format& format);
/// Errors: only_reads() if arborfs changes no session of this format.
Result<void> check_writable(const Format& format);

}  // namespace arborfs
