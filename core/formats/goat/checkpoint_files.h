// The checkpoints of a session as the mount shows them: `<id>/manifest.json`, `<id>/diff`, and below `<id>/files/` the
// stored files by their paths below the session's working directory; a file from elsewhere has its whole path as its
// name. `<id>/files/<hash>` leads to a content too, unlisted. Thread-safe.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/formats/goat/checkpoints.h"
#include "core/store/shown_files.h"

namespace arborfs::goat {

/// The stored files of one checkpoint by their paths in `files/`.
struct CheckpointTree {
  struct Node {
    bool is_folder = false;
    std::string hash;
    std::uint64_t size = 0;
  };
  std::map<std::string, Node> nodes;  // without the top
};

/// The trees that were used last, because a listing asks for one many times.
class CheckpointTrees {
 public:
  /// `manifest` is its file's stat now. Errors: those of read_checkpoint.
  Result<std::shared_ptr<const CheckpointTree>> tree_of(const Dir& session, const std::string& id,
                                                        const FileStat& manifest, const std::string& cwd);

 private:
  struct Known {
    FileStat manifest;
    std::string cwd;
    std::shared_ptr<const CheckpointTree> tree;
  };
  std::mutex mutex_;            // leaf
  std::array<Known, 8> known_;  // guarded by mutex_
  std::size_t next_ = 0;        // guarded by mutex_
};

class CheckpointFiles final : public ShownFiles {
 public:
  /// `session` is the session's folder, `base` the stat of the folder of all sessions, `trees` outlives this.
  CheckpointFiles(Dir session, const FileStat& base, std::string cwd, CheckpointTrees& trees);

  [[nodiscard]] bool takes_long(const std::string& path) const override;
  [[nodiscard]] Result<Stat> stat(const std::string& path) const override;
  [[nodiscard]] Result<bool> is_folder(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<Item>> list(const std::string& path) const override;
  [[nodiscard]] Result<Content> open(const std::string& path) const override;

 private:
  struct Place;
  [[nodiscard]] Result<Place> place_of(const std::string& path) const;
  [[nodiscard]] Result<Dir> checkpoints() const;
  [[nodiscard]] Result<std::shared_ptr<const CheckpointTree>> tree_of(const Place& place) const;
  [[nodiscard]] Result<CheckpointTree::Node> node_of(const Place& place) const;
  [[nodiscard]] std::string diff(const std::string& id) const;

  const Dir session_;
  const FileStat base_;
  const std::string cwd_;
  CheckpointTrees& trees_;
};

}  // namespace arborfs::goat
