// Lets another component extract data from each record of a log while the index is built: the record has just been
// parsed, so the data is cheap to get, on the thread that parsed it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "core/json/places.h"
#include "core/log/log_index.h"

namespace arborfs {

/// The data found in one record; only its ScanObserver knows the concrete type.
class ScanNotes {
 public:
  virtual ~ScanNotes() = default;
};

class ScanObserver {
 public:
  static constexpr std::size_t kPadding = 64;  // bytes
  virtual ~ScanObserver() = default;

  /// Extracts the data of a record from its text and its places. kPadding bytes after `text` are
  /// readable. The escapes in its strings have not been checked: must return null if one of them is not valid JSON; may
  /// return null at any time. Also called for records that become no entries. Called from any thread, concurrently.
  [[nodiscard]] virtual std::unique_ptr<ScanNotes> read(EntryType type, std::string_view text,
                                                        const json::Places& places) const = 0;

  /// The thread that builds the index calls begin() and take().
  /// The scan starts with the first entry; called again if the scan restarts.
  virtual void begin() = 0;
  /// Receives the next entry, `length` bytes long. `notes` is the result of read(), or null if read() was not called
  /// for the record. An error aborts the build of the index.
  virtual Result<void> take(const Entry& entry, std::uint64_t length, const ScanNotes* notes) = 0;
};

}  // namespace arborfs
