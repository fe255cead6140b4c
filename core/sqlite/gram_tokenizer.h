// A tokenizer for full-text indexes (FTS5) of texts that are lists of tokens of kGramBytes bytes each, none of them
// NUL.
#pragma once

#include <cstddef>

#include "core/sqlite/connection.h"

namespace arborfs::sqlite {

inline constexpr std::size_t kGramBytes = 3;

/// Makes the tokenizer `grams` known to a connection. Errors: unsupported if this SQLite has no FTS5.
Result<void> add_gram_tokenizer(const Connection& connection);

}  // namespace arborfs::sqlite
