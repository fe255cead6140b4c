// What a folder lists: one snapshot, held by its directory handle from rewind to rewind, so that nothing is missed or
// doubled while the folder changes. Offsets are ordinals that stay what they are. Immutable; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/attr.h"
#include "fs/session_access.h"

namespace arborfs {

struct ListItem {
  std::string_view name;
  const Attr& attr;
  Life name_life = Life::moment;
  bool is_complete = true;  // false: the attributes beyond ino and type would take work; the kernel asks when it needs
  std::uint64_t next = 0;   // offset of what follows
};

class Listing {
 public:
  /// Returns false when it wants no more.
  using Emit = std::function<bool(const ListItem&)>;

  virtual ~Listing() = default;
  /// Another version: another list of names or another state behind them.
  [[nodiscard]] virtual std::uint64_t version() const = 0;
  /// Emits what stands at `from` and after. Items that vanished meanwhile are left out.
  virtual Result<void> walk(MountState& state, Call& call, std::uint64_t from, const Emit& emit) const = 0;
};
using ListingPtr = std::shared_ptr<const Listing>;

/// A list of names, each with its node.
class NameListing final : public Listing {
 public:
  struct Item {
    std::string name;
    Child child;
    std::optional<Attr> brief;  // set where the rest of the attributes would take work
  };
  /// The version is a hash of the items and of `state_version`.
  NameListing(std::vector<Item> items, std::uint64_t state_version);
  [[nodiscard]] std::uint64_t version() const override { return version_; }
  Result<void> walk(MountState& state, Call& call, std::uint64_t from, const Emit& emit) const override;

 private:
  std::vector<Item> items_;
  std::uint64_t version_;
};

/// Files that belong to one entry each, of one generation, named and described from the index as they are emitted.
class EntryListing final : public Listing {
 public:
  /// How one kind of such files is named and described. No locks, no I/O: called under a session's guard.
  struct Row {
    Kind kind;
    std::string (*name)(const LogIndex& index, Ordinal ordinal);
    Attr (*attr)(const Session::Guard& guard, std::uint64_t seed, NodeId node);
  };
  /// Entries 1 to `count`, or just those named.
  EntryListing(SessionRef ref, std::uint32_t slot, const Row& row, Ordinal count);
  EntryListing(SessionRef ref, std::uint32_t slot, const Row& row, std::vector<Ordinal> ordinals);
  [[nodiscard]] std::uint64_t version() const override { return version_; }
  Result<void> walk(MountState& state, Call& call, std::uint64_t from, const Emit& emit) const override;

 private:
  SessionRef ref_;
  std::uint32_t slot_;
  const Row& row_;
  std::vector<Ordinal> ordinals_;  // empty: all
  std::uint64_t count_;
  std::uint64_t version_;
};

/// A few names before many.
class JoinedListing final : public Listing {
 public:
  JoinedListing(ListingPtr head, std::uint64_t head_size, ListingPtr rest)
      : head_(std::move(head)), head_size_(head_size), rest_(std::move(rest)) {}
  [[nodiscard]] std::uint64_t version() const override { return head_->version() * 31 + rest_->version(); }
  Result<void> walk(MountState& state, Call& call, std::uint64_t from, const Emit& emit) const override;

 private:
  ListingPtr head_;
  std::uint64_t head_size_;
  ListingPtr rest_;
};

}  // namespace arborfs
