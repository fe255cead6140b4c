#include "core/formats/goat/metadata.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/formats/goat/go_json.h"
#include "core/formats/goat/locked_log.h"
#include "core/formats/goat/new_records.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/log/log_reader.h"
#include "core/os/temp_file.h"

namespace arborfs::goat {
namespace {

/// The first of two keys that gives a text.
std::string text_of(const json::Value& object, std::string_view key, std::string_view other_key) {
  std::string text = go_string(go_member(object, key));
  return text.empty() ? go_string(go_member(object, other_key)) : text;
}

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
  ASSIGN_OR_RETURN(auto lock, take_lock(disk, folder, kMessagesFile));
  ASSIGN_OR_RETURN(const bool is_done, file->replace(kMetadataFile, [&](const File& old) {
    const auto now = old.stat();
    const auto read =
        now && *now == as_read.stat ? old.read(0, std::min(now->size, kLongest)) : Result<std::string>(Errc::stale, "");
    return read && *read == as_read.text;
  }));
  lock = {};  // never held across a sync (CONTRACT.md 5.5)
  RETURN_IF_ERROR(is_done && sync ? disk.sync_folder(folder) : Result<void>());
  return is_done;
}

}  // namespace

Header header_of(std::optional<std::string_view> metadata, std::string_view folder) {
  Header header;
  json::Document object;
  if (!metadata) {
    header.problem = "there is no metadata.json, so goat does not list the session";
    return header;
  }
  if (!json::parse(*metadata, object) || !object.IsObject()) {
    header.problem = "metadata.json is not a JSON object, so goat does not list the session";
    return header;
  }
  header.valid = true;
  header.json = json::stringify(object);
  header.id = folder.empty() ? text_of(object, "id", "session_id") : std::string(folder);
  header.cwd = go_string(go_member(object, "cwd"));
  header.title = go_string(go_member(object, "leaf_title"));
  header.parent_session = go_string(go_member(object, "parent_session_id"));
  header.timestamp = go_string(go_member(object, "created_at"));
  const json::Value* cost = go_member(object, "total_cost_usd");
  if (cost != nullptr && cost->IsNumber() && cost->GetDouble() > 0) {  // 0 until goat knows it
    header.cost = cost->GetDouble();
  }
  return header;
}

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

FileStat Parts::together() const {
  FileStat st = messages ? *messages : folder;
  if (!messages) {
    st.size = 0;
    st.mtime_ns = metadata ? metadata->mtime_ns : st.mtime_ns;
  } else if (metadata) {
    st.mtime_ns = std::max(st.mtime_ns, metadata->mtime_ns);
  }
  return st;
}

Source::Source(const Parts& parts, std::shared_ptr<const LogSource> messages, Metadata metadata, std::string folder)
    : LogSource(parts.together()),
      parts_(parts),
      messages_(std::move(messages)),
      metadata_(std::move(metadata)),
      folder_(std::move(folder)) {}

Result<std::uint64_t> Source::size() const {
  return messages_ ? messages_->size() : Result<std::uint64_t>(std::uint64_t{0});
}

Result<FileStat> Source::stat() const {
  Parts now = parts_;
  if (messages_) {
    ASSIGN_OR_RETURN(now.messages, messages_->stat());
  }
  return now.together();
}

Result<std::size_t> Source::read_at(std::uint64_t offset, std::span<char> into) const {
  return messages_ ? messages_->read_at(offset, into) : Result<std::size_t>(std::size_t{0});
}

Result<std::size_t> Source::read_raw_at(std::uint64_t offset, std::span<char> into) const {
  return messages_ ? messages_->read_raw_at(offset, into) : Result<std::size_t>(std::size_t{0});
}

std::optional<std::string_view> Source::metadata() const {
  return metadata_.text ? std::optional<std::string_view>(*metadata_.text) : std::nullopt;
}

/// A write within a tick of the clock leaves a young file's times unchanged.
bool Source::has_current_metadata() const {
  const bool was_young = parts_.metadata && is_younger(parts_.metadata->mtime_ns, metadata_.read_ns, kRacyNanos);
  return !metadata_.stat || (!was_young && metadata_.stat() == parts_.metadata);
}

std::shared_ptr<const File> Source::splice_file() const {
  return messages_ ? messages_->splice_file() : nullptr;
}

bool Source::is_decoded() const {
  return messages_ && messages_->is_decoded();
}

}  // namespace arborfs::goat
