// The secrets that Redactors of one family have found, their labels, and what was taken where. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/redact/decoded_view.h"
#include "core/redact/redactor.h"

namespace arborfs::redact {

class Ledger {
 public:
  /// Secrets beyond so many have labels without a number and are not known elsewhere.
  static constexpr std::size_t kMostSecrets = 200'000;

  /// The secret as the ledger keeps it, for good; null if there are too many. It keeps the first rule that is told.
  const std::string* learn(std::string_view secret, std::string_view rule);
  /// The label of a secret that was learnt.
  std::string label(std::string_view secret);
  void count(std::string_view label, std::string_view place);
  void count_unscanned(std::string_view place);
  [[nodiscard]] std::vector<Taken> taken() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Secret {
    std::string rule;
    std::uint64_t number = 0;  // 0 until it has a label
  };
  struct Count {
    std::uint64_t count = 0;
    std::uint64_t secrets = 0;
    std::map<std::string, std::uint64_t, std::less<>> places;
  };
  void add_count(std::string_view rule, std::string_view place);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Secret, Hash, std::equal_to<>> secrets_;
  std::map<std::string, std::uint64_t, std::less<>> numbers_;  // the last one of each rule
  std::map<std::string, Count, std::less<>> counts_;
};

/// The secrets that are taken wherever they stand.
class KnownSecrets {
 public:
  static constexpr std::size_t kShortest = 12;

  /// Adds a secret that a ledger keeps, unless it is short or may be words.
  void add(const std::string& secret);
  [[nodiscard]] bool is_empty() const;
  /// Calls visit(span) for each of them in the text.
  void find(std::string_view text, const std::function<void(Span)>& visit) const;

 private:
  static constexpr std::size_t kStart = 8;  // bytes by which a secret is found
  static std::uint64_t start_of(const char* text) {
    std::uint64_t start = 0;
    std::memcpy(&start, text, kStart);
    return start;
  }
  static std::size_t bit_of(std::uint64_t start) { return start * 0x9E3779B97F4A7C15U >> 48U; }

  mutable std::shared_mutex mutex_;
  std::unordered_multimap<std::uint64_t, const std::string*> by_start_;
  std::array<std::uint64_t, 1024> starts_{};  // a bit for each start that may be one
};

}  // namespace arborfs::redact
