// The blobs that contexts lacked, so that the contexts are made anew when one of them comes back (CONTRACT.md 7.7).
// Both classes are thread-safe; their mutexes are leaves.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/blob_store.h"

namespace arborfs {

/// What sessions wait for, by their numbers. Bounded: of one session the first kMostOfOne are looked after.
class AwaitedBlobs {
 public:
  static constexpr std::size_t kMostOfOne = 1024;

  /// A blob that did not serve: how its file looked then, nothing when there was none.
  void add(std::uint32_t session, std::string_view hash, const std::optional<FileStat>& seen);
  [[nodiscard]] bool is_empty() const;
  /// The sessions of which a blob looks otherwise now; they wait no more. `folder` is how the folder of blobs looks,
  /// nothing when there is none: while it stays as it is no file is in it that was not.
  [[nodiscard]] std::vector<std::uint32_t> take_changed(const BlobStore& blobs, const std::optional<FileStat>& folder);

 private:
  using Wanted = std::map<std::string, std::optional<FileStat>, std::less<>>;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Wanted> wanted_;  // guarded by mutex_
  std::optional<FileStat> folder_;          // guarded by mutex_
  bool is_settled_ = false;                 // nothing happened to the folder lately; guarded by mutex_
};

/// The blobs that one context was made with: what could not be had at first stays missing, so that each part of the
/// context is rendered as it was measured. What is missing, and what vanishes, is awaited.
class NotedBlobs : public BlobSource {
 public:
  NotedBlobs(std::shared_ptr<const BlobStore> blobs, std::shared_ptr<AwaitedBlobs> awaited, std::uint32_t session)
      : blobs_(std::move(blobs)), awaited_(std::move(awaited)), session_(session) {}
  [[nodiscard]] std::optional<std::string> read_blob(std::string_view hash) const override;

 private:
  const std::shared_ptr<const BlobStore> blobs_;
  const std::shared_ptr<AwaitedBlobs> awaited_;
  const std::uint32_t session_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, bool, std::less<>> had_;  // by hash; guarded by mutex_
};

}  // namespace arborfs
