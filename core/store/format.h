// Describes the sessions of one agent to arborfs: its name, and the parts that read and render its records. One
// constant object per format; a store (session_store.h) says which format its sessions have. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace arborfs {

class AgentFinder;     // core/session/agent_look.h
struct AgentPrograms;  // core/store/live_signs.h
struct ResumeCommand;  // core/store/resume.h
class LogReader;       // core/log/log_reader.h
class RecordRenderer;  // core/render/record_renderer.h
class SessionStore;    // core/store/session_store.h
struct Header;         // core/log/log_index.h

/// The text that a read of a verb's control file returns, where the common text (core/writer/verbs.cc) does not
/// apply.
struct OwnUsage {
  std::string_view verb;
  std::string_view text;  // its first line is that of the common text
};

struct Format {
  std::string_view agent;          // as users spell it in --store and -a: "omp", "opal"
  std::string_view name;           // of the files, for session.json: "omp-jsonl"
  const LogReader* reader;         // never null
  const RecordRenderer* renderer;  // never null
  /// The verbs that its sessions take: names of core/writer/verbs.h, `remove` and `move`. Empty: arborfs changes no
  /// session of this format.
  std::span<const std::string_view> verbs = {};
  /// True for the agents whose sessions are shown without the agent's name, and whose header is session.json itself.
  bool is_plain = false;
  /// Null: running agents are recognised by `programs` and SessionStore::live_signs.
  const AgentFinder* agents = nullptr;
  /// True if removing a session also removes the sessions whose Header::started_by is its id.
  bool removes_children = false;
  const AgentPrograms* programs = nullptr;  // null: the agent's programs cannot be distinguished from others
  /// The settings with which the agent starts a session, as the JSON of startup.json (CONTRACT.md 2.12). It reads the
  /// agent's settings. Null: there is no such file.
  std::string (*startup_json)(const SessionStore& store, const Header& header) = nullptr;
  const ResumeCommand* resume = nullptr;  // null: no program of the agent can resume a given session
  std::span<const OwnUsage> usages = {};
  bool has_cwd = true;  // false: its sessions do not record a working directory

  [[nodiscard]] bool is_writable() const { return !verbs.empty(); }
  [[nodiscard]] bool takes(std::string_view verb) const;
};

/// The refusal of a write to a session of this format.
Error only_reads(const Format& format);
/// Errors: only_reads() if arborfs changes no session of this format.
Result<void> check_writable(const Format& format);
/// The refusal of a verb that sessions of this format do not support: read_only if they support none, else unsupported.
Error does_not_take(const Format& format, std::string_view verb);

}  // namespace arborfs
