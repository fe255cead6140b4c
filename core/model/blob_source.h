// Where the bytes are that entries refer to by their hash.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace arborfs {

/// Provides the blobs for references. Implemented by store/blob_store.h. Thread-safe.
class BlobSource {
 public:
  virtual ~BlobSource() = default;
  /// The bytes of a blob, checked against its name (64 lower-case hex digits). Nullopt if it is missing, truncated or
  /// does not match its name: the reference then stays as it is (CONTRACT.md 7.7).
  [[nodiscard]] virtual std::optional<std::string> read_blob(std::string_view hash) const = 0;
};

}  // namespace arborfs
