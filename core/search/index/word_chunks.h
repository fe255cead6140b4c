// Finds the chunks of the search index that have a word or phrase. A word is a part of terms; a phrase is terms that
// follow each other, of which it may begin within the first and end within the last. Used by one thread.
#pragma once

#include <string_view>
#include <vector>

#include "core/search/index/phrase_scan.h"
#include "core/search/index/term_chunks.h"

namespace arborfs::search {

/// What is read of an index.
struct WordIndex {
  IndexConnections connections;
  const IndexTable& table;
  TermChunks& terms;
};

/// `word` is folded. Unless `needs_all`, chunks of sessions that surely have the word elsewhere may be left out.
/// Errors: corrupt, busy, io; interrupted once it is over.
Result<WordChunks> find_word(const WordIndex& index, std::string_view word, bool needs_all, const IsOver& is_over);

}  // namespace arborfs::search
