// Takes secrets out of texts, each replaced by a label such as [redacted:github#2]. One Redactor serves an export, and
// one with its kin() a mount: within them a secret has one label, however it is spelled. Any thread.
//
// A secret is what a rule finds (rules.h), also behind escapes of JSON, JSON in JSON, percent-encoding and base64 of
// text; and every secret of twelve bytes or more that this Redactor has found, wherever else it stands. An export
// that redacts all of its texts twice also has those secrets that show what they are only later. In JSON, strings that
// are files in base64, such as images, become [redacted:image]: no rule can look through them.
//
// It fails closed: what cannot be scanned becomes [redacted:unscanned]. Redacting what is redacted changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/redact/rules.h"

namespace arborfs::redact {

class KnownSecrets;
class Ledger;
class Matcher;

/// What stands for what could not be scanned, and for files in base64.
inline constexpr std::string_view kUnscannedLabel = "[redacted:unscanned]";
inline constexpr std::string_view kImageLabel = "[redacted:image]";

/// What a Redactor took by one rule.
struct Taken {
  struct Place {
    std::string name;
    std::uint64_t count = 0;
  };
  std::string rule;           // "unscanned" for what could not be scanned
  std::uint64_t count = 0;    // labels written
  std::uint64_t secrets = 0;  // different ones; 0 for what could not be scanned
  std::vector<Place> places;  // the first Redactor::kMostPlaces of those that the callers named, by name
};

class Redactor {
 public:
  static constexpr std::size_t kMostPlaces = 1000;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20U;

  /// Texts of more than `most_bytes` are not scanned.
  explicit Redactor(const RulesPtr& rules, std::size_t most_bytes = kMostBytes);
  ~Redactor();
  Redactor(const Redactor&) = delete;
  Redactor& operator=(const Redactor&) = delete;

  /// The text without its secrets. `place` says in the report where it is from.
  std::string redact(std::string_view text, std::string_view place = "");
  /// The same for JSON values with white space around them. Strings and keys lose their secrets, and a number that is
  /// one becomes a string; all else keeps its bytes. What is no JSON becomes the string "[redacted:unscanned]".
  std::string redact_json(std::string_view json, std::string_view place = "");

  /// True if it would take some secret wherever it stands.
  [[nodiscard]] bool knows_secrets() const;

  /// One with the same rules and labels that knows no secret yet and counts nothing: what it makes of texts does not
  /// depend on what others read. May outlive this one.
  [[nodiscard]] std::unique_ptr<Redactor> kin() const;

  /// What was taken so far, by rule; of kin only how many different secrets.
  [[nodiscard]] std::vector<Taken> taken() const;

 private:
  Redactor(const Redactor& kin, std::nullptr_t);
  const std::shared_ptr<const Matcher> matcher_;
  const std::shared_ptr<Ledger> ledger_;
  const std::unique_ptr<KnownSecrets> known_;
  const std::size_t most_bytes_;
  const bool counts_ = true;
};

}  // namespace arborfs::redact
