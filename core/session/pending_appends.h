// Appends that one write(2) may not make atomic: a deadly signal ends it between two pages of the log. What is to be
// appended is kept beside the log until it is there, so that a part of it that the process left behind is cut off again
// before anything stands behind it (CONTRACT.md 7.2). In the state folder `appending/` one file a log, private
// (FAILURES.md S12). It is not synced: it outlives the process, and a power cut may take it.
//
// Thread-safe; several processes may use the same folder. All but all() are for whoever has the log's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/disk.h"
#include "core/store/session_store.h"

namespace arborfs {

class PendingAppends {
 public:
  /// What one write(2) takes whole or not at all needs no note.
  static constexpr std::size_t kAtomic = 4096;

  /// `folder` is made when the first append is noted; "" keeps nothing. `store_key` tells stores apart. `disk` outlives
  /// it.
  PendingAppends(std::string folder, std::string store_key, Disk& disk);

  /// While it lives, a part of the append would be cut off by the next process.
  class Note {
   public:
    Note() = default;
    Note(PendingAppends& owner, std::string log_name) : owner_(&owner), log_name_(std::move(log_name)) {}
    ~Note();
    Note(Note&& other) noexcept;
    Note& operator=(Note&&) = delete;
    Note(const Note&) = delete;
    Note& operator=(const Note&) = delete;

   private:
    PendingAppends* owner_ = nullptr;
    std::string log_name_;
  };
  /// `text` is about to be appended to the log, which is now as `log` says. Empty for a small one, and when the note
  /// cannot be kept: that goes to the daemon's log, and the append goes on without.
  [[nodiscard]] Note note(const LogPlace& place, const FileStat& log, std::string_view text);

  /// A process may have been killed in an append to this log. One system call.
  [[nodiscard]] bool has(const std::string& log_name) const;
  /// Cuts off what such an append left, if it is a part of it and nothing else stands behind it; true when it did. The
  /// note goes, whatever it says.
  bool take_back(LogWriter& writer, const std::string& log_name);
  /// The logs of this store that has() is true for.
  [[nodiscard]] std::vector<LogPlace> all() const;
  void forget(const std::string& log_name);

 private:
  [[nodiscard]] std::string file_of(const std::string& log_name) const;
  Result<void> write(const LogPlace& place, const FileStat& log, std::string_view text);
  const std::string folder_;
  const std::string store_key_;
  Disk& disk_;
};

}  // namespace arborfs
