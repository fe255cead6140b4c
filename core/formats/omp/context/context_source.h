// What all steps of building a context share: how they read entries, and resolve the references in them to blobs that
// are stored elsewhere (omp/FORMAT.md D5 to D7, CONTRACT.md 7.7). Internal to this folder, except the references.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/context/context.h"
#include "core/json/document.h"

namespace arborfs::omp {

/// Must live as long as the context that was built from it, because parts of that are rendered when they are read.
struct ContextSource {
  std::shared_ptr<const LogSource> log;
  std::shared_ptr<const BlobSource> blobs;
  Dialect dialect = Dialect::omp13;
  bool version_below_3 = false;
};

inline Error log_changed_meanwhile() {
  return {Errc::stale, "the log changed while its context was computed; try again"};
}
/// The bytes of an entry. Errors: too_large (entry_too_long), stale, io.
Result<std::string> read_entry(const ContextSource& source, const ContextPath::Step& step);
/// Parses an entry into the form that the agent holds in memory: migrated, blobs resolved, provider payloads dropped
/// (omp/FORMAT.md D5, E10, C22). Errors: too_large (entry_too_long), io; stale if the bytes are no longer JSON.
Result<void> load_entry(const ContextSource& source, std::uint64_t offset, std::uint64_t length, json::Document& out);
inline Result<void> load_entry(const ContextSource& source, const ContextPath::Step& step, json::Document& out) {
  return load_entry(source, step.entry.offset, step.length, out);
}

/// True if the message of a `message` entry can be copied verbatim from the log. `message` is its JSON text.
bool can_copy(const ContextSource& source, std::string_view message, bool is_assistant);

/// new Date(value).getTime() as JSON text (omp/FORMAT.md C15). A null pointer means an absent value.
std::string date_json(const json::Value* timestamp);

/// Append a member to the JSON object being built in `out`. A null pointer is `undefined`: nothing is added.
void add_member(std::string& out, std::string_view key, const json::Value* value);
void add_member_json(std::string& out, std::string_view key, std::string_view json);

inline constexpr std::string_view kBlobPrefix = "blob:sha256:";

/// The 64 hex digits of a well-formed reference; empty for any other text.
std::string_view blob_hash(std::string_view text);

/// True if its `mimeType` starts with "image/", in upper or lower case.
bool has_image_mime_type(const json::Value& object);

/// Replaces every reference that the dialect resolves in `entry`, which must be a whole entry. A reference stays as it
/// is if `blobs` is null or does not have the blob. Never recurses.
void resolve_blobs(json::Document& entry, Dialect dialect, const BlobSource* blobs);

/// The blob's bytes as base64 if `text` is a reference to a blob that can be read, else nullopt.
std::optional<std::string> blob_as_base64(std::string_view text, const BlobSource* blobs);

}  // namespace arborfs::omp
