// The context that Codex sends to the model when it resumes a thread (codex/FORMAT.md D). Pure but for reading the log;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/entry/context_path.h"
#include "core/entry/record_renderer.h"
#include "core/log/log_source.h"

namespace arborfs::codex {

/// An item of the history that Codex sends.
struct HistoryItem {
  std::uint64_t offset = 0;  // in the log, unless it was generated
  std::uint64_t length = 0;
  std::string made;       // the text of a generated item, else ""
  bool is_typed = false;  // a message that the user typed
  Ordinal entry = kNoEntry;
  std::int64_t time_ms = Entry::kNoTime;  // of that entry
};

/// With Reach::path the items of all turns, whatever compactions replaced. Errors: stale, io.
Result<std::vector<HistoryItem>> history_of(const ContextPath& path, const LogSource& log,
                                            Reach reach = Reach::context);

}  // namespace arborfs::codex
