// The compaction that counts on a path, and its message (FACTS C14, C17, C18, C20). Internal to core/model.
#pragma once

#include <optional>
#include <string>

#include "core/model/context_source.h"

namespace arborfs::context {

/// What a compaction says of the entries that stay beside its summary. Ids that can equal no other are absent.
struct Compaction {
  bool is_remote = false;     // the provider's own history stands for all that was before
  bool is_anthropic = false;  // dated right before what follows it
  std::optional<EntryId> first_kept;
  std::optional<EntryId> replay_through;  // 18 only
};
Compaction read_compaction(const json::Document& entry, const ContextPath& path, const Source& source,
                           bool names_by_index);

/// The compactionSummary message. `time` takes the place of the entry's own.
std::string compaction_message(const json::Document& entry, const Source& source, std::optional<double> time);

/// The blocks that bring an archive of history in images back (`preserveData.snapcompact`), as JSON: all blocks, and
/// the images among them. Both empty when there is none. 18 only. Two habits of 18 are left out: it takes data URLs
/// out of the archive's text, and hides frames of an early form that once crashed it.
struct ArchiveBlocks {
  std::string blocks;
  std::string images;
};
ArchiveBlocks archive_blocks(const json::Value* archive, const BlobSource* blobs);

}  // namespace arborfs::context
