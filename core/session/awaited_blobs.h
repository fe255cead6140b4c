// Blobs that were missing when a context was made: the context is made again when one reappears (CONTRACT.md 7.7). Both
// classes are thread-safe; their mutexes are leaves.
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

/// The blobs that sessions wait for, by session number. Bounded: at most the first kMostOfOne of each session are
/// awaited.
class AwaitedBlobs {
 public:
  static constexpr std::size_t kMostOfOne = 1024;

  /// Adds a blob that could not be read. `seen` is its stat at that time, nothing if there was no file.
  void add(std::uint32_t session, std::string_view hash, const std::optional<FileStat>& seen);
  [[nodiscard]] bool is_empty() const;
  /// Removes and returns the sessions that wait for a blob that has changed since add(). `folder` is the stat of the
  /// blob folder, nothing if there is none: while it is unchanged, no new file is in the folder.
  [[nodiscard]] std::vector<std::uint32_t> take_changed(const BlobStore& blobs, const std::optional<FileStat>& folder);

 private:
  using Wanted = std::map<std::string, std::optional<FileStat>, std::less<>>;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Wanted> wanted_;  // guarded by mutex_
  std::optional<FileStat> folder_;          // guarded by mutex_
  bool is_settled_ = false;                 // the folder was not modified lately; guarded by mutex_
};

/// The blobs that one context was made with. A blob that could not be read at first stays missing, so that each part of
/// the context is rendered as it was measured. Blobs that are missing or vanish are added to AwaitedBlobs.
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
  mutable std::map<std::string, bool, std::less<>> had_;  // by hash, true if read at first; guarded by mutex_
};

}  // namespace arborfs
