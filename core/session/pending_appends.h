// Appends that one write(2) may not make atomic: a fatal signal can end it between two pages of the log. A note in the
// state folder has the text until it is appended, so that a partial append of a killed process is cut off before
// anything is written after it (CONTRACT.md 7.2). `appending/` holds one file per log, private (FAILURES.md S12). It is
// not synced: it survives the process, but a power cut may lose it.
//
// Thread-safe; several processes may use the same folder. Callers of every function except all() hold the log's lock,
// if the log still exists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/os/disk.h"
#include "core/store/log_writer.h"
#include "core/store/session_store.h"

namespace arborfs {

class PendingAppends {
 public:
  /// An append up to this long is written by one write(2), whole or not at all, and needs no note.
  static constexpr std::size_t kAtomic = 4096;

  /// `folder` is created when the first append is noted; "" keeps nothing. `store_key` distinguishes stores. `disk`
  /// outlives it.
  PendingAppends(std::string folder, std::string store_key, Disk& disk);

  /// While it lives, the next process would cut off a part of the append.
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
  /// `text` is about to be appended to the log, whose stat is now `log`. The result is empty for a small text, and if
  /// the note cannot be kept: that goes to the daemon's log, and the append continues without it.
  [[nodiscard]] Note note(const LogPlace& place, const FileStat& log, std::string_view text);

  /// True if a process may have been killed during an append to this log. One system call.
  [[nodiscard]] bool has(const std::string& log_name) const;
  /// Cuts off the bytes of such an append, if they are only a part of it and nothing follows them; true if it did.
  /// Removes the note in any case.
  bool take_back(LogWriter& writer, const std::string& log_name);
  /// The logs of this store for which has() is true.
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
