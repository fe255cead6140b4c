// The context: what the agent would send to the model from a given leaf (omp/FORMAT.md C9 to C20, C22, C23).
//
// Built from a path that was copied from the index (core/entry/context_path.h). The result refers to ranges of the log
// where the agent's text can be copied, so a context of any length takes little memory.
//
// Dialect omp18 means the rules of 18.3. Where the agents crash, the entry at fault is skipped or shown unchanged
// (CONTRACT.md 6.2).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/entry/content.h"
#include "core/entry/context_path.h"
#include "core/formats/omp/log/dialect.h"

namespace arborfs::omp {

/// The dialect of the log that the path is of.
inline Dialect dialect_of(const ContextPath& path) {
  return Dialect{path.dialect};
}

/// Entries longer than this are never held in memory: what needs the members of one is refused.
inline constexpr std::uint64_t kLongestHeld = std::uint64_t{64} << 20U;
/// That refusal: Errc::too_large, with the entry's length.
Error entry_too_long(std::uint64_t length);

/// What each_message() goes through.
enum class ContextScope : std::uint8_t {
  sent,   // the messages of build_context()
  whole,  // the message of every entry of the path, with pi's edits; each compaction is a message at its place
};

/// Calls `take` for each message: its step of the path, and its JSON text as build_context() has it. Errors: too_large
/// if it needs an entry longer than kLongestHeld, stale, io; those of `take`.
Result<void> each_message(const ContextPath& path, std::shared_ptr<const LogSource> log,
                          std::shared_ptr<const BlobSource> blobs, ContextScope scope,
                          const std::function<Result<void>(std::size_t step, const std::string& message)>& take);

/// `{"messages":[` newline, each message on its own line, `],"thinkingLevel":...}` newline. Without the newlines it is
/// JSON.stringify of the context that the agent computes. If it needs an entry longer than kLongestHeld, the content
/// has that entry's length, and reading any of it fails with entry_too_long(). Errors: stale (the log changed), io.
Result<std::shared_ptr<const Content>> build_context(const ContextPath& path, std::shared_ptr<const LogSource> log,
                                                     std::shared_ptr<const BlobSource> blobs);

}  // namespace arborfs::omp
