// The context: what the agent would send to the model from a given leaf (omp/FORMAT.md C9 to C20, C22, C23).
//
// Built in two steps, so that no lock is held while the log is read: context_path copies what is needed from the index
// under the session's read guard, then build_context reads the log. Its result refers to ranges of the log where the
// agent's text can be copied, so a context of any length takes little memory.
//
// Dialect omp18 means the rules of 18.3. Where the agents crash, the entry at fault is skipped or shown unchanged
// (CONTRACT.md 6.12). An entry over 64 MiB is never loaded: its message, or the members that make up its message, are
// copied verbatim from the log; other members count only if they are at most 1 MiB long.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_index.h"
#include "core/model/content.h"

namespace arborfs {

/// Provides the blobs for references (omp/FORMAT.md D5 to D7). Implemented by store/blob_store.h. Thread-safe.
class BlobSource {
 public:
  virtual ~BlobSource() = default;
  /// The bytes of a blob, checked against its name (64 lower-case hex digits). Nullopt if it is missing, truncated or
  /// does not match its name: the reference then stays as it is (CONTRACT.md 7.7).
  [[nodiscard]] virtual std::optional<std::string> read_blob(std::string_view hash) const = 0;
};

/// A path of the tree, copied from an index.
struct ContextPath {
  struct Step {
    /// From the role of a message; `custom` includes the role that older versions call hookMessage.
    enum class Speaker : std::uint8_t { other, user, assistant, custom, tool_result, system };
    Entry entry;
    std::uint64_t length = 0;
    Ordinal ordinal = kNoEntry;
    Speaker speaker = Speaker::other;
    [[nodiscard]] bool is_assistant() const { return speaker == Speaker::assistant; }
  };
  std::vector<Step> steps;  // root first
  /// Ids of the steps as the agents see them, after migration. Filled only if an entry of the path may name them: a
  /// compaction or a context_edit.
  std::vector<EntryId> ids;
  Dialect dialect = Dialect::omp13;
  bool version_below_3 = false;  // hookMessage is read as custom (omp/FORMAT.md E10)
  /// Used for logs below version 3: the place of the header, and, for the entries of this path, the value index (the
  /// header is 0) and the id, ascending. Compactions of version 1 name entries by that index (omp/FORMAT.md E9).
  std::uint64_t header_offset = 0;
  std::uint64_t header_length = 0;
  std::vector<std::pair<Ordinal, EntryId>> kept_by_index;
};
ContextPath context_path(const LogIndex& index, Ordinal leaf);

/// `{"messages":[` newline, each message on its own line, `],"thinkingLevel":...}` newline. Without the newlines it is
/// JSON.stringify of the context that the agent computes. Errors: stale (the log changed), io.
Result<std::shared_ptr<const Content>> build_context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                     std::shared_ptr<const BlobSource> blobs);

}  // namespace arborfs
