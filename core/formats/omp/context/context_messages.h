// The messages of a context before they are laid out: the source of each, and the facts that omp18's repairs need.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/omp/context/context_plan.h"
#include "core/formats/omp/context/context_source.h"

namespace arborfs::context {

/// How a message differs from the one that its entry alone gives.
struct Change {
  std::vector<std::uint32_t> dropped_blocks;  // of an assistant's content, ascending; thinking loses its signature too
  std::optional<double> history_rewrite_at;   // for a compaction
  std::optional<ContextEdit> edit;            // for pi
};

/// One message: copied from the log, or rendered from an entry.
struct Piece {
  enum class Kind : std::uint8_t { copy, message, custom, branch_summary, compaction, notes, system_message };
  Kind kind = Kind::copy;
  std::uint64_t offset = 0;  // for `copy`, of the message's text; else of the entry
  std::uint64_t length = 0;
  std::shared_ptr<const Change> change;
};

struct Draft {
  enum class Role : std::uint8_t { other, assistant, tool_result, interruption };
  Piece piece;
  std::size_t step = 0;
  Role role = Role::other;
  bool has_failed = false;  // an assistant's turn that was aborted or ended in an error
  bool is_dropped = false;
  std::uint32_t blocks = 0;    // number of blocks in an assistant's content
  std::uint32_t redacted = 0;  // how many of these are redactedThinking
  std::uint32_t first_call = 0;
  std::uint32_t calls = 0;
};

/// A tool call of an assistant, or the one that a tool result answers.
struct Call {
  std::string id;  // JSON text; "" if it can equal no other id
  std::uint32_t block = 0;
};

struct Drafts {
  std::vector<Draft> list;
  std::vector<Call> calls;  // Draft::first_call is an index into it
};

/// Drafts the messages of a plan in portions, so that the caller decides how many are held at once.
class MessageReader {
 public:
  /// All three must outlive the reader.
  MessageReader(const ContextPath& path, const Plan& plan, const Source& source);
  ~MessageReader();
  /// The messages of about `steps` more steps of the plan; nullopt at its end. Errors: io, stale.
  Result<std::optional<Drafts>> next(std::size_t steps);

 private:
  class Drafter;
  [[nodiscard]] bool is_left_out(std::size_t place) const;
  const ContextPath& path_;
  const Plan& plan_;
  const Source& source_;
  std::unique_ptr<Drafter> drafter_;
  std::size_t range_ = 0;
  std::size_t step_ = 0;  // within that range of the plan
};

/// The JSON text of a piece; empty if the agent sees no message. Errors: io, stale.
Result<std::string> render_piece(const Piece& piece, const Source& source);

/// Applies omp18's repairs: drops tool calls without a result, and failed turns (omp/FORMAT.md C20).
void repair_as_18(Drafts& drafts, const ContextPath& path);

}  // namespace arborfs::context
