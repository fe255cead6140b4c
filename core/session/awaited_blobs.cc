#include "core/session/awaited_blobs.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/log/log_reader.h"

namespace arborfs {

namespace {

std::optional<FileStat> look_at(const BlobStore& blobs, std::string_view hash) {
  auto st = blobs.stat(hash);
  return st ? std::optional(*st) : std::nullopt;
}

}  // namespace

void AwaitedBlobs::add(std::uint32_t session, std::string_view hash, const std::optional<FileStat>& seen) {
  const std::lock_guard lock(mutex_);
  Wanted& wanted = wanted_[session];
  if (wanted.size() < kMostOfOne) {
    wanted.try_emplace(std::string(hash), seen);
  }
  is_settled_ = false;  // it may have arrived since
}

bool AwaitedBlobs::is_empty() const {
  const std::lock_guard lock(mutex_);
  return wanted_.empty();
}

std::vector<std::uint32_t> AwaitedBlobs::take_changed(const BlobStore& blobs, const std::optional<FileStat>& folder) {
  std::map<std::uint32_t, Wanted> wanted;
  bool has_new_files = false;
  {
    const std::lock_guard lock(mutex_);
    has_new_files = !is_settled_ || folder_ != folder;
    folder_ = folder;
    is_settled_ = !folder || now_ns() - folder->mtime_ns >= kRacyNanos;
    wanted = wanted_;
  }
  std::vector<std::uint32_t> changed;
  for (const auto& [session, of_one] : wanted) {
    const bool is_changed = std::any_of(of_one.begin(), of_one.end(), [&](const auto& row) {
      return (row.second || has_new_files) && look_at(blobs, row.first) != row.second;
    });
    if (is_changed) {
      changed.push_back(session);
    }
  }
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t session : changed) {
    wanted_.erase(session);
  }
  return changed;
}

std::optional<std::string> NotedBlobs::read_blob(std::string_view hash) const {
  {
    const std::lock_guard lock(mutex_);
    const auto known = had_.find(hash);
    if (known != had_.end() && !known->second) {
      return std::nullopt;
    }
  }
  const auto seen = look_at(*blobs_, hash);  // before the read: a later change is reported
  auto bytes = blobs_->read_blob(hash);
  bool is_gone = false;
  {
    const std::lock_guard lock(mutex_);
    const bool had = had_.try_emplace(std::string(hash), bytes.has_value()).first->second;
    is_gone = had && !bytes;
  }
  if (!bytes) {
    awaited_->add(session_, hash, is_gone ? FileStat{} : seen);
  }
  return bytes;
}

}  // namespace arborfs
