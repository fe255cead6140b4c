// What a context leaves out of its conversation, as the marks of its page. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/entry/turn.h"
#include "core/log/log_index.h"
#include "core/views/page_parts.h"

namespace arborfs {

/// A message of a context, or a mark between two.
struct SentMessage {
  Ordinal entry = kNoEntry;  // that it comes from; kNoEntry for none
  std::string before;        // HTML
  PageParts::Part article;   // none of a mark at the end
};

/// How many bytes of outputs a turn has not of those that its entry says: agents drop old ones.
std::size_t dropped_bytes(const std::vector<Turn>& said, const Turn& turn);

/// Puts a sentence before the message that follows entries of the conversation which are not sent. `talk`: those of the
/// path, ascending; `sent`: those that messages come from.
void mark_gaps(const std::vector<Ordinal>& talk, const std::set<Ordinal>& sent, std::vector<SentMessage>& messages);

}  // namespace arborfs
