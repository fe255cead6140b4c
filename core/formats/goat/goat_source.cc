#include "core/formats/goat/goat_source.h"

#include <algorithm>
#include <utility>

#include "core/base/result_macros.h"
#include "core/log/log_age.h"

namespace arborfs::goat {

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
