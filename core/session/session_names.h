// Names of sessions that people read (CONTRACT.md 2.15). Thread-safe; mutex_ is a leaf. Reads no log.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/session/session.h"

namespace arborfs {

/// Gives each session of a catalog one name that no other has or had: the time of its creation, in the time zone of
/// this process, and its words, `2026-02-16T09-12-fix-the-flaky-upload-test`; the name of its log while its words are
/// unknown. It stays until time or words change, and still leads to the session afterwards.
class SessionNames {
 public:
  /// How many former names lead to their sessions.
  static constexpr std::size_t kMostFormer = 65536;

  struct Named {
    SessionPtr session;
    std::optional<std::uint64_t> naming;  // Session::Identity::naming
    const std::string& log_name;          // the name that it has without words
  };
  /// The names of all sessions that there are, in this order; the names of others are free again. Of sessions that get
  /// equal names in one call, the one that was created first has the plain one; others end with `~2`, `~3`, ….
  std::vector<std::string> name(const std::vector<Named>& all);
  /// The number of the session that has or had this name; 0 if none did.
  [[nodiscard]] std::uint32_t find(std::string_view name) const;

 private:
  struct Wish;
  struct Owner {
    std::uint32_t session = 0;
    std::uint64_t former_since = 0;  // in `clock_`; 0 for the present name
  };
  struct Known {
    std::optional<std::uint64_t> naming;
    std::uint64_t wished = 0;  // hash of the name without a number
    std::string name;
    std::uint64_t round = 0;  // of the last call that named it
  };
  [[nodiscard]] bool is_of_another(const std::string& name, std::uint32_t session) const;
  [[nodiscard]] std::string free_name(const Wish& wish) const;
  void give(const Wish& wish);
  void retire(const std::string& name);
  void forget_all_but(std::uint64_t round);
  mutable std::mutex mutex_;                                  // guards everything below
  std::map<std::string, Owner, std::less<>> owners_;          // by name, present and former
  std::unordered_map<std::uint32_t, Known> known_;            // by session number
  std::deque<std::pair<std::uint64_t, std::string>> former_;  // with Owner::former_since, oldest first
  std::uint64_t clock_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace arborfs
