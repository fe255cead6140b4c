// The listing of a folder: one snapshot, held by its directory handle from rewind to rewind, so that no name is missed
// or repeated while the folder changes. Offsets are positions in the snapshot and never change. Immutable; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/attr.h"
#include "fs/tree/resolve_session.h"

namespace arborfs {

struct DirectoryItem {
  std::string_view name;
  const Attr& attr;
  CacheTtl name_life = CacheTtl::moment;
  bool is_complete = true;  // false: only ino and type are set; the kernel asks when it needs the rest
  std::uint64_t next = 0;   // offset of the next item
};

class DirectorySnapshot {
 public:
  /// Returns false to stop.
  using Emit = std::function<bool(const DirectoryItem&)>;

  virtual ~DirectorySnapshot() = default;
  /// Differs when the names, or the state that they show, differ.
  [[nodiscard]] virtual std::uint64_t version() const = 0;
  /// Emits the items from offset `from` on. Leaves out items that have vanished since the snapshot.
  virtual Result<void> walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const = 0;
};
using ListingPtr = std::shared_ptr<const DirectorySnapshot>;

/// A list of names, each with its node.
class NamesSnapshot final : public DirectorySnapshot {
 public:
  struct Item {
    std::string name;
    Child child;
    std::optional<Attr> brief;  // only ino and type; set if the other attributes would take work
  };
  /// The version is a hash of the items and of `state_version`.
  NamesSnapshot(std::vector<Item> items, std::uint64_t state_version);
  [[nodiscard]] std::uint64_t version() const override { return version_; }
  Result<void> walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const override;

 private:
  std::vector<Item> items_;
  std::uint64_t version_;
};

/// Files that belong to one entry each; names and attributes are read from the index as they are emitted.
class EntriesSnapshot final : public DirectorySnapshot {
 public:
  /// Name and attributes of one kind of such files. No locks, no I/O: called under a session's guard.
  struct Row {
    Kind kind;
    std::string (*name)(const LogIndex& index, Ordinal ordinal);
    Attr (*attr)(const Session::Guard& guard, std::uint64_t seed, NodeId node);
  };
  /// Entries 1 to `count`, or those in `ordinals`, in the state of `guard` or a later one.
  EntriesSnapshot(SessionRef ref, const Session::Guard& guard, const Row& row, Ordinal count);
  EntriesSnapshot(SessionRef ref, const Session::Guard& guard, const Row& row, std::vector<Ordinal> ordinals);
  [[nodiscard]] std::uint64_t version() const override { return version_; }
  Result<void> walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const override;

 private:
  SessionRef ref_;
  const Row& row_;
  std::vector<Ordinal> ordinals_;  // empty: all
  std::uint64_t count_;
  std::uint64_t version_;
};

/// A short listing followed by a long one.
class JoinedSnapshot final : public DirectorySnapshot {
 public:
  JoinedSnapshot(ListingPtr head, std::uint64_t head_size, ListingPtr rest)
      : head_(std::move(head)), head_size_(head_size), rest_(std::move(rest)) {}
  [[nodiscard]] std::uint64_t version() const override { return head_->version() * 31 + rest_->version(); }
  Result<void> walk(MountState& state, RequestContext& call, std::uint64_t from, const Emit& emit) const override;

 private:
  ListingPtr head_;
  std::uint64_t head_size_;
  ListingPtr rest_;
};

}  // namespace arborfs
