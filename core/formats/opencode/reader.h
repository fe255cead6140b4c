// How the composed log of an OpenCode session becomes entries (opencode/FORMAT.md D). Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/log/record_reader.h"

namespace arborfs::opencode {

/// The versions that keep sessions in files, and those with a database. These can also revert a part of a message.
enum class Era : std::uint8_t { files, database };

/// The header in a session's metadata; invalid if that is not one. `id` is the session's, from the place of the
/// metadata (opencode/FORMAT.md A6); "" for the one in the metadata.
Header header_of(std::string_view metadata, std::string_view id = "");
/// True for "", and for the title that OpenCode gives a session until it has a better one (opencode/FORMAT.md G3).
bool is_default_title(std::string_view title);

/// A revert that the next prompt will carry out (D3).
struct PendingRevert {
  std::string message;
  std::string part;  // "" for the whole message
};
std::optional<PendingRevert> pending_revert(std::string_view metadata);

class Reader : public RecordReader {
 public:
  explicit Reader(Era era) : era_(era) {}

  [[nodiscard]] Result<Header> read_header(const LogSource& log) const override;
  Result<void> read(const LogSource& log, RecordSink& sink, const std::stop_token& stop) const override;

 private:
  const Era era_;
};

}  // namespace arborfs::opencode
