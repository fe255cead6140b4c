// A tokenizer for full-text indexes (FTS5) of texts that are lists of tokens of kTokenBytes bytes each, none of them
// NUL.
#pragma once

#include <cstddef>

#include "core/sqlite/connection.h"

namespace arborfs::sqlite {

inline constexpr std::size_t kTokenBytes = 3;

/// Makes the tokenizer `fixed_width` known to a connection. Errors: unsupported if this SQLite has no FTS5.
Result<void> add_fixed_width_tokenizer(const Connection& connection);

}  // namespace arborfs::sqlite
