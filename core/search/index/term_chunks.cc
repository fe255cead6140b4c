#include "core/search/index/term_chunks.h"

#include <string>
#include <utility>

#include "core/base/result_macros.h"
#include "core/search/index/index_table.h"

namespace arborfs::search {

namespace {

/// Fewer rows are looked up in less time than a search takes anyway.
constexpr std::size_t kFrequent = 512;
constexpr std::size_t kMostKept = std::size_t{4} << 20U;

/// The term as a string of the full-text index's query language.
std::string match_of(TermId term) {
  std::string token;
  append_token(term, token);
  std::string match = "\"";
  for (const char c : token) {
    match += c == '"' ? "\"\"" : std::string(1, c);
  }
  return match + '"';
}

}  // namespace

Result<TermChunks> TermChunks::make(const sqlite::Connection& connection) {
  ASSIGN_OR_RETURN(auto rows, connection.prepare("SELECT rowid FROM words WHERE words MATCH ?1 AND rowid > ?2"));
  return TermChunks(std::move(rows));
}

Result<std::size_t> TermChunks::add(TermId term, std::uint64_t last_chunk, ChunkSet& chunks) {
  const auto found = known_.find(term);
  if (found != known_.end() && found->second.last_chunk == last_chunk) {
    chunks.add(found->second.chunks);
    return found->second.count;
  }
  Known known;
  if (found != known_.end()) {
    bytes_ -= found->second.chunks.bytes();
    known = std::move(found->second);
    known_.erase(found);
  }
  RETURN_IF_ERROR(look_up(term, last_chunk, known));
  known.last_chunk = last_chunk;
  chunks.add(known.chunks);
  const std::size_t count = known.count;
  if (count >= kFrequent) {
    keep(term, std::move(known));
  }
  return count;
}

/// Adds the chunks after `known.last_chunk`.
Result<void> TermChunks::look_up(TermId term, std::uint64_t last_chunk, Known& known) {
  const std::string match = match_of(term);
  rows_.reset();
  rows_.bind(1, match);
  rows_.bind(2, static_cast<std::int64_t>(known.last_chunk));
  for (;;) {
    auto has_row = rows_.step();
    if (!has_row || !*has_row) {
      rows_.reset();  // so that it holds no lock
      return has_row ? Result<void>() : has_row.error();
    }
    const auto chunk = static_cast<std::uint64_t>(rows_.integer(0));
    if (chunk > last_chunk) {
      rows_.reset();
      return index_is_damaged();
    }
    known.chunks.add(chunk);
    ++known.count;
  }
}

void TermChunks::keep(TermId term, Known known) {
  if (bytes_ + known.chunks.bytes() > kMostKept) {
    known_.clear();
    bytes_ = 0;
  }
  bytes_ += known.chunks.bytes();
  known_.emplace(term, std::move(known));
}

}  // namespace arborfs::search
