// What somebody else wants to know of each record of a log, found while its index is made: where a record has been
// taken apart anyway, by whichever thread does that.
#pragma once

#include <memory>
#include <string_view>

#include "core/json/places.h"
#include "core/log/log_index.h"

namespace arborfs {

/// What was found in one record; only its ScanObserver knows what it is.
class ScanNotes {
 public:
  virtual ~ScanNotes() = default;
};

class ScanObserver {
 public:
  virtual ~ScanObserver() = default;

  /// What there is to know of a record, found at `places`; its text is followed by DomRecordParser::kPadding readable
  /// bytes. The escapes in its strings have not been looked at: null when one is none of JSON's, and whenever there is
  /// no answer. Called for records that become no entries, too. Any thread, several at once.
  [[nodiscard]] virtual std::unique_ptr<ScanNotes> read(EntryType type, std::string_view text,
                                                        const json::Places& places) const = 0;

  /// The rest is called by the thread that makes the index.
  /// It begins with the first entry, perhaps not for the first time.
  virtual void begin() = 0;
  /// The next entry, `length` bytes long, of a log that is of that dialect as far as it was read. `notes` are what
  /// read() gave; null, too, where the record was not taken apart that way. An error ends the making of the index.
  virtual Result<void> take(const Entry& entry, std::uint64_t length, Dialect dialect, const ScanNotes* notes) = 0;
};

}  // namespace arborfs
