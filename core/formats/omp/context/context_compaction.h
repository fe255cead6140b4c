// The compaction in effect on a path, and its message (omp/FORMAT.md C14, C17, C18, C20, K2 to K4); the notebook that
// the model of omp18 keeps in `custom` entries of the type experimental_context_notes (M1 to M3). Internal to this
// folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/context/context_source.h"

namespace arborfs::omp {

/// Which entries a compaction keeps besides its summary. An id that can equal no other id is nullopt.
struct Compaction {
  bool is_remote = false;  // the provider's own history replaces everything before the compaction
  // omp18 only:
  bool is_anthropic = false;  // the summary is the provider's, and is shown with the time of the history rewrite
  bool is_rollover = false;   // keeps the user's last request visible
  std::optional<EntryId> first_kept;
  std::optional<EntryId> replay_through;  // omp18 only
};
Compaction read_compaction(const json::Document& entry, const ContextPath& path, const ContextSource& source,
                           bool names_by_index);

/// The compactionSummary message.
std::string compaction_message(const json::Document& entry, const ContextSource& source,
                               std::optional<double> history_rewrite_at);

/// The blocks that restore an archive of history as images (`preserveData.snapcompact`), as JSON: all blocks, and only
/// the images. Both are empty if there is no archive. omp18 only. Two things that omp18 does are not done here: it
/// removes data URLs from the archive's text, and hides frames of an early form that once crashed it.
struct ArchiveBlocks {
  std::string blocks;
  std::string images;
};
ArchiveBlocks archive_blocks(const json::Value* archive, const BlobSource* blobs);

/// A prompt as omp18 formats it after filling in the template (omp/FORMAT.md M3). Pure, any thread. Removes white space
/// at the ends of lines, runs of blank lines and blank lines before a closing tag, and trims the cells of tables. In
/// fenced code, removes only white space at the ends of lines. The result ends without a line feed.
std::string formatted_prompt(std::string_view wtf8);

/// The step with the revision in effect at the end of the path; nullopt if there is none or its text is empty. Errors:
/// io, stale.
Result<std::optional<std::size_t>> find_notes(const ContextPath& path, const ContextSource& source);

/// The message that shows the notebook in `entry`, which must be such a custom entry.
std::string notes_message(const json::Document& entry);

}  // namespace arborfs::omp
