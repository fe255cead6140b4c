// What all steps of building one context share, and how an entry is read for it. Internal to core/model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/json/document.h"
#include "core/model/context.h"

namespace arborfs::context {

/// Entries longer than this are never held in memory.
inline constexpr std::uint64_t kLongestLoaded = 64U * 1024 * 1024;

/// Lives as long as the context that was built from it: parts of it are rendered when they are read.
struct Source {
  std::shared_ptr<const LogFile> log;
  std::shared_ptr<const BlobSource> blobs;
  Dialect dialect = Dialect::omp13;
  bool version_below_3 = false;
};

/// Parses an entry and makes it what the agent holds in memory: migrated, blobs resolved, provider payloads dropped
/// (omp/FORMAT.md D5, E10, C22). Of an entry that is too long only the short members come. Errors: io, stale when the
/// bytes are no JSON any more.
Result<void> load_entry(const Source& source, std::uint64_t offset, std::uint64_t length, json::Document& out);

/// True when the message of a `message` entry can be copied as the log spells it. `message` is its JSON text.
bool can_copy(const Source& source, std::string_view message, bool is_assistant);

/// new Date(value).getTime() as JSON text (omp/FORMAT.md C15); null pointer for an absent value.
std::string date_json(const json::Value* timestamp);
/// The same as a number, nothing for NaN.
std::optional<double> date_ms(const json::Value* timestamp);

/// The members of an object being built, in order; a null pointer is `undefined` and leaves its key out.
void add_member(std::string& out, std::string_view key, const json::Value* value);
void add_member_json(std::string& out, std::string_view key, std::string_view json);

}  // namespace arborfs::context
