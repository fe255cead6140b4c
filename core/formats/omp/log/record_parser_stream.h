// Collects the fields of a record from the events of a ValueScanner, for values that are too long, too deep or too
// unusual for the fast parser. Memory is bounded by one text for each field. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/json/scan.h"
#include "core/log/log_window.h"
#include "core/log/record_fields.h"

namespace arborfs {

class StreamedRecord final : public json::FieldObserver {
 public:
  /// Fields that are arrays or objects are kept as JSON text up to this many bytes, longer ones as [] or {}.
  static constexpr std::uint64_t kMaxContainer = json::ValueScanner::kMaxObservedBytes;

  /// Forgets all observed fields.
  void reset();

  void on_scalar(std::string_view parent_key, std::string_view key, std::string_view raw, bool complete) override;
  void on_container(std::string_view key, char opener, std::uint64_t offset) override;
  void on_container_end(std::uint64_t offset) override;

  /// The record. Call it when the value has ended; the value is `length` bytes from `offset` on. The record's texts are
  /// valid until reset(). Reads the texts of containers from the window; errors: those of the window.
  Result<RecordFields> finish(LogWindow& window, std::uint64_t offset, std::uint64_t length);

 private:
  struct Container {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    char opener = 0;
  };
  void take(FieldValue& field, std::string_view raw, bool complete);
  Result<void> read_container(LogWindow& window, std::uint64_t base, const Container& container, FieldValue& field);

  RecordFields record_;
  std::map<FieldValue*, std::string> texts_;     // of fields of record_
  std::map<FieldValue*, Container> containers_;  // the last one of each field
  Container* open_ = nullptr;
};

}  // namespace arborfs
