// The compaction that counts on a path, and its message (omp/FORMAT.md C14, C17, C18, C20, K2 to K4). Internal to
// core/model.
#pragma once

#include <optional>
#include <string>

#include "core/model/context_source.h"

namespace arborfs::context {

/// What a compaction says of the entries that stay beside its summary. Ids that can equal no other are absent.
struct Compaction {
  bool is_remote = false;  // the provider's own history stands for all that was before
  // 18 only:
  bool is_anthropic = false;  // a summary of the provider's, with the time of the rewrite beside it
  bool is_rollover = false;   // leaves the user's last request in sight
  std::optional<EntryId> first_kept;
  std::optional<EntryId> replay_through;  // 18 only
};
Compaction read_compaction(const json::Document& entry, const ContextPath& path, const Source& source,
                           bool names_by_index);

/// The compactionSummary message.
std::string compaction_message(const json::Document& entry, const Source& source,
                               std::optional<double> history_rewrite_at);

/// The blocks that bring an archive of history in images back (`preserveData.snapcompact`), as JSON: all blocks, and
/// the images among them. Both empty when there is none. 18 only. Two habits of 18 are left out: it takes data URLs
/// out of the archive's text, and hides frames of an early form that once crashed it.
struct ArchiveBlocks {
  std::string blocks;
  std::string images;
};
ArchiveBlocks archive_blocks(const json::Value* archive, const BlobSource* blobs);

}  // namespace arborfs::context
