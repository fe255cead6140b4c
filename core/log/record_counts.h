// How many complete records of a log make no entry although the reader does not know them as bookkeeping, by type
// (CONTRACT.md 6.13). Small and bounded, whatever the log contains. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace arborfs {

class RecordCounts {
 public:
  using ByType = std::map<std::string, std::uint64_t, std::less<>>;
  /// After so many types, further ones are counted together as kOthers.
  static constexpr std::size_t kMostTypes = 64;
  static constexpr std::string_view kOthers = "other";
  /// The type of a record that names none.
  static constexpr std::string_view kNoType = "value";

  /// Counts records of a type: the words of the log that say what they are. A long one is cut.
  void add(std::string_view type, std::uint64_t count = 1);
  void add(const RecordCounts& more);
  [[nodiscard]] const ByType& by_type() const { return by_type_; }
  [[nodiscard]] bool empty() const { return by_type_.empty(); }
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  ByType by_type_;
};

}  // namespace arborfs
