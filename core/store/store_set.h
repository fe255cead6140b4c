// The stores of one mount. Each has a number, its place in the list, which LogPlace and LogFolder carry. If names are
// equal, the first store has precedence. The list never changes. Thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/store.h"
#include "core/store/store_parts.h"

namespace arborfs {

class StoreSet {
 public:
  static constexpr std::size_t kMost = std::numeric_limits<std::uint8_t>::max();

  /// From 1 to kMost stores, no two of which are in the same place.
  explicit StoreSet(std::vector<std::shared_ptr<Store>> stores);
  explicit StoreSet(std::shared_ptr<Store> store);

  [[nodiscard]] std::size_t size() const { return stores_.size(); }
  [[nodiscard]] const std::shared_ptr<Store>& at(std::size_t number) const { return stores_[number]; }
  [[nodiscard]] auto begin() const { return stores_.begin(); }
  [[nodiscard]] auto end() const { return stores_.end(); }
  /// The first store that is present, else the first whose agent has a folder, else the first: for messages that name
  /// one folder. Stores in `silent`, by their numbers, are not asked and count as present.
  [[nodiscard]] const Store& main(const std::set<std::uint8_t>& silent = {}) const;
  /// Store::redaction() of all of them.
  [[nodiscard]] const LogRedaction* redaction() const {
    return stores_.empty() ? nullptr : stores_.front()->redaction();
  }
  /// The number of the first store of this agent.
  [[nodiscard]] std::optional<std::uint8_t> first_of(std::string_view agent) const;

  /// As Store::folders, for one store.
  [[nodiscard]] Result<std::vector<LogFolder>> folders(std::uint8_t number) const;
  /// The folders whose file systems a submount, or a whole store, needs.
  [[nodiscard]] std::vector<std::string> needed_by(const LogFolder& submount) const;
  /// As Store::logs.
  [[nodiscard]] Result<std::vector<FoundLog>> logs(const LogFolder& folder, const HeadWanted& wants_head) const;
  /// Those of all stores that are not in `silent`.
  [[nodiscard]] std::vector<Breadcrumb> breadcrumbs(const std::set<std::uint8_t>& silent) const;
  /// The blobs of all stores as one, for reading.
  [[nodiscard]] const std::shared_ptr<BlobStore>& blobs() const { return blobs_; }

 private:
  const std::vector<std::shared_ptr<Store>> stores_;
  const std::shared_ptr<BlobStore> blobs_;
};

/// Why the sessions of a store cannot be listed.
struct StoreProblem {
  bool is_absent = false;  // nothing exists yet, as opposed to something that cannot be read
  std::string words;
};
/// Nothing if they can be listed now.
std::optional<StoreProblem> problem_of(const Store& store);

enum class Access { look, write };

/// A store of another user may only be read, and only if the user named it: files written there would belong to the
/// wrong user, and HOME kept by `sudo -E` leads there by accident (FAILURES.md S14). `named` is false for an agent's
/// own store. Succeeds if there is no store yet. Errors: permission, with advice on what to do instead.
Result<void> check_owner(const StorePaths& paths, bool named, Access access);

}  // namespace arborfs
