// Data that all steps of building a context share, and how they read entries. Internal to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/omp/context/context.h"
#include "core/json/document.h"

namespace arborfs::context {

/// Must live as long as the context that was built from it, because parts of that are rendered when they are read.
struct Source {
  std::shared_ptr<const LogSource> log;
  std::shared_ptr<const BlobSource> blobs;
  Dialect dialect = Dialect::omp13;
  bool version_below_3 = false;
};

inline Error log_changed_meanwhile() {
  return {Errc::stale, "the log changed while its context was computed; try again"};
}
/// The bytes of an entry. Errors: too_large (entry_too_long), stale, io.
Result<std::string> read_entry(const Source& source, const ContextPath::Step& step);
/// Parses an entry into the form that the agent holds in memory: migrated, blobs resolved, provider payloads dropped
/// (omp/FORMAT.md D5, E10, C22). Errors: too_large (entry_too_long), io; stale if the bytes are no longer JSON.
Result<void> load_entry(const Source& source, std::uint64_t offset, std::uint64_t length, json::Document& out);

/// True if the message of a `message` entry can be copied verbatim from the log. `message` is its JSON text.
bool can_copy(const Source& source, std::string_view message, bool is_assistant);

/// new Date(value).getTime() as JSON text (omp/FORMAT.md C15). A null pointer means an absent value.
std::string date_json(const json::Value* timestamp);
/// The same as a number, nullopt for NaN.
std::optional<double> date_ms(const json::Value* timestamp);

/// Append a member to the JSON object being built in `out`. A null pointer is `undefined`: nothing is added.
void add_member(std::string& out, std::string_view key, const json::Value* value);
void add_member_json(std::string& out, std::string_view key, std::string_view json);

}  // namespace arborfs::context
