#include <algorithm>
#include <charconv>
#include <optional>

#include "core/entry/tree.h"

namespace arborfs {
namespace {

constexpr std::size_t kEnoughMatches = 64;  // more than two, because several entries may have the same id

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

// A stem such as "000042-assistant-a1b2c3d4", with or without percent-encoding, or the same with the agent's own word.
std::optional<Ordinal> stem_target(std::string_view spelled, const LogIndex& index) {
  const std::size_t dash = spelled.find('-');
  if (dash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto ordinal = ordinal_from(spelled.substr(0, dash), index);
  if (!ordinal) {
    return std::nullopt;
  }
  const EntryId id = index.id(*ordinal);
  const std::string id_part = id.kind == EntryId::Kind::missing ? "" : '-' + id.text;
  const std::string_view given = spelled.substr(dash + 1);
  const std::string decoded = percent_decoded(given);
  for (const std::string_view word : {index.role(*ordinal), index.name(*ordinal)}) {
    const std::string rest = std::string(word) + id_part;
    if (given == rest || decoded == rest) {
      return ordinal;
    }
  }
  return std::nullopt;
}

// The entries that match; ambiguous if there are two different ones.
class Candidates {
 public:
  void add(std::optional<Ordinal> ordinal) {
    if (ordinal && *ordinal != kNoEntry) {
      is_ambiguous_ = is_ambiguous_ || (found_ != kNoEntry && found_ != *ordinal);
      found_ = *ordinal;
    }
  }
  [[nodiscard]] bool are_several() const { return is_ambiguous_; }
  [[nodiscard]] Ordinal result() const { return is_ambiguous_ ? kNoEntry : found_; }

 private:
  Ordinal found_ = kNoEntry;
  bool is_ambiguous_ = false;
};

Candidates candidates_for(const LogIndex& index, std::string_view spelled) {
  Candidates candidates;
  if (const Ordinal exact = index.find(spelled); exact != kNoEntry) {
    candidates.add(exact);
    return candidates;
  }
  if (const auto listed = stem_target(spelled, index)) {
    candidates.add(listed);
    return candidates;
  }
  if (const auto place = spelled.starts_with('#') ? ordinal_from(spelled.substr(1), index) : std::nullopt) {
    candidates.add(place);
    return candidates;
  }
  candidates.add(ordinal_from(spelled, index));
  for (const NamedLabel& label : named_labels(index)) {
    if (label.name == spelled) {
      candidates.add(label.target);
    }
  }
  if (spelled.size() >= kShortestIdPrefix) {
    for (const Ordinal match : index.find_prefix(spelled, kEnoughMatches)) {
      candidates.add(index.find(index.id(match)));
    }
  }
  return candidates;
}

}  // namespace

Ordinal resolve_entry(const LogIndex& index, std::string_view spelled) {
  return candidates_for(index, spelled).result();
}

bool is_ambiguous_entry(const LogIndex& index, std::string_view spelled) {
  return candidates_for(index, spelled).are_several();
}

Ordinal resolve_name(const LogIndex& index, std::string_view name) {
  const auto place = index.find(name) == kNoEntry ? ordinal_from(name, index) : std::nullopt;
  return place ? *place : resolve_entry(index, name);
}

}  // namespace arborfs
