#include "fs/nodes/open_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/result_macros.h"
#include "fs/nodes/node_families.h"

namespace arborfs {

namespace {

/// Rendered content longer than this is read in the worker pool: a single part of it can be that long.
constexpr std::uint64_t kQuickContent = 4U << 20U;
/// A log written less than this ago may be written again without a change of its mtime.
constexpr auto kRacy = std::chrono::milliseconds(50);

Result<std::size_t> read_stretch(const Content::Stretch& stretch, std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(stretch.fd, into.data() + done, into.size() - done, static_cast<off_t>(stretch.offset + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return error_from_errno(errno, "cannot read the session log");
    }
    if (got == 0) {
      return Error{Errc::stale, "the log changed during the read; open the file again"};
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool is_racy(const FileStat& st) {
  const auto age = std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(st.mtime_ns);
  return age < kRacy;
}

/// Bytes that are in the log as they are come directly from it, all others through Content::read.
Result<std::size_t> read_content(const Content& content, RequestContext& call, std::uint64_t offset,
                                 std::span<char> into) {
  std::size_t done = 0;
  while (done < into.size() && offset + done < content.size()) {
    const std::span<char> rest = into.subspan(done);
    const auto stretch = content.stretch_at(offset + done, rest.size());
    if (stretch.fd >= 0) {
      ASSIGN_OR_RETURN(const auto got, read_stretch(stretch, rest.first(stretch.length)));
      done += got;
      continue;
    }
    if (!call.may_take_long() && content.size() > kQuickContent) {
      return call.defer();
    }
    ASSIGN_OR_RETURN(auto bytes, content.read(offset + done, std::max<std::uint64_t>(stretch.length, 1)));
    if (bytes.empty()) {
      break;
    }
    const std::size_t size = std::min(bytes.size(), rest.size());
    std::memcpy(rest.data(), bytes.data(), size);
    done += size;
  }
  return done;
}

}  // namespace

SnapshotFile::SnapshotFile(SnapshotPtr document) : document_(std::move(document)) {
  if (!is_racy(document_->log_stat)) {
    checked_ = document_->log_stat;
  }
}

SnapshotPtr SnapshotFile::current() const {
  const std::lock_guard lock(mutex_);
  return document_;
}

void SnapshotFile::take(SnapshotPtr longer) {
  const std::lock_guard lock(mutex_);
  if (longer->attr.size > document_->attr.size) {
    document_ = std::move(longer);
  }
}

/// Cheap while the log's stat is unchanged; otherwise checks with the session whether the document's bytes are still
/// there. If the log was replaced, the old bytes are still in the open file. No document reads the title slot from the
/// log.
Result<void> SnapshotFile::check_log(const Snapshot& document, RequestContext& call) {
  ASSIGN_OR_RETURN(const auto st, document.log->stat());
  {
    const std::lock_guard lock(mutex_);
    if (st == checked_) {
      return {};
    }
  }
  if (!call.may_take_long() && !document.session->is_quick(Depth::raw)) {
    return call.defer();
  }
  if (auto done = document.session->refresh(Depth::raw, call.cancelled()); !done) {
    return {};  // the name is gone or unreadable: no writer reaches the open file
  }
  const auto raw = document.session->raw();
  const bool same_file = raw && raw->log->opened().same_file(document.log->opened());
  const bool holds =
      raw && (raw->bytes == document.bytes || (document.entries != 0 && raw->entries == document.entries));
  if (same_file && !holds) {
    return {Errc::stale, "the log was changed in place; open the file again"};
  }
  if (!is_racy(st)) {
    const std::lock_guard lock(mutex_);
    checked_ = st;
  }
  return {};
}

Result<std::size_t> SnapshotFile::read_of(const Snapshot& document, RequestContext& call, std::uint64_t offset,
                                          std::span<char> into) {
  auto got = read_content(*document.content, call, offset, into);
  if (got && document.log && !document.is_apart) {
    RETURN_IF_ERROR(check_log(document, call));
  }
  return got;
}

Result<std::size_t> SnapshotFile::read(MountState& /*state*/, RequestContext& call, std::uint64_t offset,
                                       std::span<char> into) {
  return read_of(*current(), call, offset, into);
}

Result<std::size_t> GrowingFile::read(MountState& state, RequestContext& call, std::uint64_t offset,
                                      std::span<char> into) {
  if (const auto document = current(); offset + into.size() > document->attr.size) {
    if (auto longer = document_of_node(state, call, document->attr.node)) {
      take(std::move(longer).value());
    } else if (call.is_deferred()) {
      return longer.error();
    }
  }
  return read_of(*current(), call, offset, into);
}

Result<std::size_t> DiskFile::read(MountState& /*state*/, RequestContext& /*call*/, std::uint64_t offset,
                                   std::span<char> into) {
  return file_->read_at(offset, into);
}

}  // namespace arborfs
