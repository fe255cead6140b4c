// The metadata of a session (goat/FORMAT.md B1). Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/log/log_index.h"
#include "core/log/log_source.h"
#include "core/os/disk.h"

namespace arborfs::goat {

/// The files of a session (goat/FORMAT.md A2).
inline constexpr const char* kMetadataFile = "metadata.json";
inline constexpr const char* kMessagesFile = "messages.jsonl";
inline constexpr const char* kTranscriptFile = "transcript.jsonl";

/// The header from the text of metadata.json; an invalid one with the reason if there is no such file or it is not a
/// JSON object. `folder` is the session's folder, whose name is its id (goat/FORMAT.md A2); "" for the id in the text.
Header header_of(std::optional<std::string_view> metadata, std::string_view folder = "");

// Changes to the metadata of a session (goat/FORMAT.md B1). Any thread.

/// `seen` is the file as it was opened. Errors: corrupt if it is not one JSON object; those of reading it.
Result<std::string> read_metadata(const Dir& folder, FileStat& seen);
/// The value of a field in the text of a metadata file; empty if there is none.
std::string_view metadata_value(std::string_view metadata, std::string_view key);
/// The metadata with a field set to a JSON text; every other byte stays, and a new field gets a line of its own at the
/// end. `metadata` must be one JSON object.
std::string with_metadata(std::string metadata, std::string_view key, std::string_view value);

struct Field {
  std::string_view key;
  std::string json;
};
/// A metadata file with these fields.
std::string new_metadata(const std::vector<Field>& fields);

/// Returns the new text; the same text if nothing is to be changed.
using MetadataChange = std::function<Result<std::string>(std::string text)>;
/// Replaces the metadata of the session in this folder, unless another program writes it meanwhile: then `change` is
/// called again. Errors: those of `change`; corrupt if it is not a JSON object; stale if others keep writing it; busy;
/// those of the disk.
Result<void> change_metadata(Disk& disk, const Dir& folder, bool sync, const MetadataChange& change);

// The bytes of one session of goat: those of messages.jsonl at their own offsets, and separately the text of
// metadata.json as it was when the session was opened (goat/FORMAT.md A2). Thread-safe.

/// The stats of the files of a session.
struct Parts {
  FileStat folder;  // only if there are no messages
  std::optional<FileStat> messages;
  std::optional<FileStat> metadata;
  /// The stat of the session as a whole: that of its messages, or of an empty file that is the folder; its time is the
  /// later one of the two files.
  [[nodiscard]] FileStat together() const;
};

/// The text of metadata.json.
struct Metadata {
  std::optional<std::string> text;  // nothing if there is no such file
  std::int64_t read_ns = 0;         // when reading began, ns since 1970
  /// The file's stat now, nothing if there is none; null if it never changes.
  std::function<std::optional<FileStat>()> stat;
};

class Source final : public LogSource {
 public:
  /// `messages` is null, and the text of `metadata` nothing, if there are no such files, as `parts` says too.
  /// `folder` is the session's, whose name is its id.
  Source(const Parts& parts, std::shared_ptr<const LogSource> messages, Metadata metadata, std::string folder = "");

  [[nodiscard]] Result<std::uint64_t> size() const override;
  /// With the time of metadata.json when it was opened.
  [[nodiscard]] Result<FileStat> stat() const override;
  [[nodiscard]] Result<std::size_t> read_at(std::uint64_t offset, std::span<char> into) const override;
  [[nodiscard]] Result<std::size_t> read_raw_at(std::uint64_t offset, std::span<char> into) const override;
  [[nodiscard]] std::optional<std::string_view> metadata() const override;
  [[nodiscard]] bool has_current_metadata() const override;
  [[nodiscard]] FileStat opened_bytes() const override { return parts_.messages.value_or(FileStat()); }
  [[nodiscard]] std::shared_ptr<const File> splice_file() const override;
  [[nodiscard]] std::string_view place() const override { return folder_; }
  [[nodiscard]] bool is_decoded() const override;

 private:
  const Parts parts_;
  const std::shared_ptr<const LogSource> messages_;  // may be null
  const Metadata metadata_;
  const std::string folder_;
};

}  // namespace arborfs::goat
