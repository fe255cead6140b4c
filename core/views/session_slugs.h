// A few words for each session, for names that people read: those of session_name(). What was read from a log is kept.
// Thread-safe; mutex_ is a leaf and is not held while a log is read.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/session/catalog.h"

namespace arborfs {

class SessionSlugs {
 public:
  /// True if read() would read the head of the session's log: it has no title, and its opening words are not known.
  [[nodiscard]] bool needs_log(const Session& session) const;
  /// Reads the opening words of the sessions that need it. Errors: interrupted (the
  /// thread's Cancellation).
  Result<void> read(const std::vector<SessionPtr>& sessions);
  /// names::slug of the session's name, as far as it is known; else of kNoConversation.
  [[nodiscard]] std::string of(const Session& session) const;
  /// Drops what is kept of sessions that the view does not have, unless a later view was used before.
  void keep_only(const CatalogView& view);

 private:
  struct FirstWords {
    FileStat stat;  // of the log when it was read
    std::string slug;
    bool is_final = false;  // OpeningWords::is_final
  };
  [[nodiscard]] std::optional<FirstWords> known(const Session& session, const FileStat& stat) const;
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, FirstWords> read_;  // by session number; guarded by mutex_
  std::uint64_t kept_version_ = 0;                      // of the view that keep_only() used last; guarded by mutex_
};

}  // namespace arborfs
