#include <algorithm>
#include <charconv>
#include <optional>

#include "core/model/tree.h"

namespace arborfs {
namespace {

constexpr std::size_t kShortestPrefix = 4;
constexpr std::size_t kEnoughMatches = 64;  // of which several may be lines of one id

std::optional<Ordinal> ordinal_from(std::string_view digits, const LogIndex& index) {
  Ordinal ordinal = kNoEntry;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, ordinal);
  if (error != std::errc() || stopped != end || ordinal == kNoEntry || ordinal > index.size()) {
    return std::nullopt;
  }
  return ordinal;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const char* const end = text.data() + i + 3;
      if (std::from_chars(text.data() + i + 1, end, byte, 16).ptr == end) {
        out.push_back(static_cast<char>(byte));
        i += 2;
        continue;
      }
    }
    out.push_back(text[i]);
  }
  return out;
}

// "000042-assistant-a1b2c3d4", as it is listed, with or without percent-encoding.
std::optional<Ordinal> stem_target(std::string_view spelled, const LogIndex& index) {
  const std::size_t dash = spelled.find('-');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto ordinal = ordinal_from(spelled.substr(0, dash), index);
  if (!ordinal) {
    return std::nullopt;
  }
  std::string rest(index.name(*ordinal));
  if (const EntryId id = index.id(*ordinal); id.kind != EntryId::Kind::missing) {
    rest += '-' + id.text;
  }
  const std::string_view given = spelled.substr(dash + 1);
  return given == rest || percent_decoded(given) == rest ? ordinal : std::nullopt;
}

// What fits, until two different things do.
class Candidates {
 public:
  void add(std::optional<Ordinal> ordinal) {
    if (ordinal && *ordinal != kNoEntry) {
      is_ambiguous_ = is_ambiguous_ || (found_ != kNoEntry && found_ != *ordinal);
      found_ = *ordinal;
    }
  }
  [[nodiscard]] Ordinal result() const { return is_ambiguous_ ? kNoEntry : found_; }

 private:
  Ordinal found_ = kNoEntry;
  bool is_ambiguous_ = false;
};

}  // namespace

Ordinal resolve_entry(const LogIndex& index, std::string_view spelled) {
  if (const Ordinal exact = index.find(spelled); exact != kNoEntry) {
    return exact;
  }
  if (const auto listed = stem_target(spelled, index)) {
    return *listed;
  }
  Candidates candidates;
  const bool has_mark = !spelled.empty() && spelled[0] == '#';
  candidates.add(ordinal_from(has_mark ? spelled.substr(1) : spelled, index));
  for (const NamedLabel& label : named_labels(index)) {
    if (label.name == spelled) {
      candidates.add(label.target);
    }
  }
  if (spelled.size() >= kShortestPrefix) {
    for (const Ordinal match : index.find_prefix(spelled, kEnoughMatches)) {
      candidates.add(index.find(index.id(match)));
    }
  }
  return candidates.result();
}

}  // namespace arborfs
