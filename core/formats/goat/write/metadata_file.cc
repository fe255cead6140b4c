#include "core/formats/goat/write/metadata_file.h"

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/metadata.h"
#include "core/formats/goat/write/new_records.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/os/temp_file.h"

namespace arborfs::goat {
namespace {

constexpr int kTries = 5;
constexpr std::uint64_t kLongest = std::uint64_t{1} << 20U;

/// The metadata as it was read.
struct AsRead {
  std::string text;
  FileStat stat;
};

/// False if the file has changed since it was read. The lock keeps other arborfs out; goat takes none for its metadata.
Result<bool> replace(Disk& disk, const Dir& folder, bool sync, const std::string& text, const AsRead& as_read) {
  ASSIGN_OR_RETURN(const auto file, TempFile::create(disk, folder, 0600));
  ASSIGN_OR_RETURN(const auto present, File::open_in(folder, kMetadataFile));
  RETURN_IF_ERROR(file->keep_attributes(present));
  RETURN_IF_ERROR(file->write(text));
  RETURN_IF_ERROR(file->finish(sync));
  ASSIGN_OR_RETURN(const auto lock, take_lock(disk, folder, kMessagesFile));
  ASSIGN_OR_RETURN(const bool is_done, file->replace(kMetadataFile, [&](const File& old) {
    const auto now = old.stat();
    const auto read =
        now && *now == as_read.stat ? old.read(0, std::min(now->size, kLongest)) : Result<std::string>(Errc::stale, "");
    return read && *read == as_read.text;
  }));
  RETURN_IF_ERROR(is_done && sync ? disk.sync_folder(folder) : Result<void>());
  return is_done;
}

}  // namespace

Result<std::string> read_metadata(const Dir& folder, FileStat& seen) {
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, kMetadataFile, &seen));
  ASSIGN_OR_RETURN(auto text, file.read(0, std::min(seen.size, kLongest)));
  json::Document object;
  if (!json::parse(text, object) || !object.IsObject()) {
    return Error{Errc::corrupt, "metadata.json is not a JSON object"};
  }
  return text;
}

std::string_view metadata_value(std::string_view metadata, std::string_view key) {
  return go_member(metadata, key);
}

std::string with_metadata(std::string metadata, std::string_view key, std::string_view value) {
  return skim::set_member(std::move(metadata), key, value, skim::Layout::lines, spells_key_of);
}

std::string new_metadata(const std::vector<Field>& fields) {
  std::string text = "{}";
  for (const Field& field : fields) {
    text = with_metadata(std::move(text), field.key, field.json);
  }
  return text;
}

Result<void> change_metadata(Disk& disk, const Dir& folder, bool sync, const MetadataChange& change) {
  for (int tries = 0; tries < kTries; ++tries) {
    AsRead seen;
    ASSIGN_OR_RETURN(seen.text, read_metadata(folder, seen.stat));
    ASSIGN_OR_RETURN(const auto changed, change(seen.text));
    if (changed == seen.text) {
      return {};
    }
    ASSIGN_OR_RETURN(const bool is_done, replace(disk, folder, sync, changed, seen));
    if (is_done) {
      return {};
    }
  }
  return Error{Errc::stale, "another program keeps writing metadata.json; try again"};
}

}  // namespace arborfs::goat
