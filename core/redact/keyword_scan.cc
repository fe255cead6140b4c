#include "core/redact/keyword_scan.h"

#include <algorithm>
#include <bit>

#include "core/base/ascii.h"

namespace arborfs::redact {
namespace {

constexpr std::uint32_t kNone = ~0U;

}  // namespace

KeywordScan::KeywordScan(const std::vector<std::string>& keywords) {
  std::uint32_t used = 1;
  for (const std::string& keyword : keywords) {
    length_.push_back(keyword.size());
    longest_ = std::max(longest_, keyword.size());
    for (const char c : keyword) {
      std::uint8_t& kind = class_[static_cast<unsigned char>(in_lower_case(c))];
      kind = kind != 0 ? kind : static_cast<std::uint8_t>(used++);
    }
  }
  for (unsigned c = 'A'; c <= 'Z'; ++c) {
    class_[c] = class_[c - 'A' + 'a'];
  }
  classes_ = std::bit_ceil(used);
  const auto add_state = [this] {
    next_.resize(next_.size() + classes_, kNone);
    found_.emplace_back();
    return static_cast<std::uint32_t>(found_.size() - 1);
  };
  add_state();
  for (std::uint32_t index = 0; index < keywords.size(); ++index) {
    std::uint32_t state = 0;
    for (const char c : keywords[index]) {
      const std::size_t cell = std::size_t{state} * classes_ + class_[static_cast<unsigned char>(c)];
      if (next_[cell] == kNone) {
        const std::uint32_t added = add_state();
        next_[cell] = added;
      }
      state = next_[cell];
    }
    found_[state].push_back(index);
  }
  // A missing step leads where the longest proper end of the state that is also a state leads.
  std::vector<std::uint32_t> fallback(found_.size(), 0);
  std::vector<std::uint32_t> queue{0};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::uint32_t state = queue[at];
    for (std::uint32_t kind = 0; kind < classes_; ++kind) {
      std::uint32_t& step = next_[std::size_t{state} * classes_ + kind];
      const std::uint32_t other = state == 0 ? 0 : next_[std::size_t{fallback[state]} * classes_ + kind];
      if (step == kNone) {
        step = other;
        continue;
      }
      fallback[step] = other;
      found_[step].insert(found_[step].end(), found_[other].begin(), found_[other].end());
      queue.push_back(step);
    }
  }
  for (std::uint32_t& step : next_) {
    step = step * classes_ | (found_[step].empty() ? 0 : kFound);
  }
}

std::uint32_t KeywordScan::state_at(std::string_view text, std::size_t at) const {
  std::uint32_t state = 0;
  for (const char c : text.substr(at - std::min(at, longest_), std::min(at, longest_))) {
    state = step(state, c);
  }
  return state;
}

std::size_t KeywordScan::scan(std::string_view text, std::size_t begin,
                              std::array<std::vector<Hit>, kLanes>& hits) const {
  const std::size_t lane_size = std::min(kMostInLane, (text.size() - begin) / kLanes);
  if (lane_size < kLeastInLane) {
    std::uint32_t state = state_at(text, begin);
    for (std::size_t at = begin; at < text.size(); ++at) {
      state = step(state, text[at]);
      if ((state & kFound) != 0) [[unlikely]] {
        hits[0].push_back({at + 1, (state & kRow) / classes_});
      }
    }
    return text.size();
  }
  std::array<std::uint32_t, kLanes> states{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    states[lane] = state_at(text, begin + lane * lane_size);
  }
  const char* const bytes = text.data() + begin;
  for (std::size_t at = 0; at < lane_size; ++at) {
    std::uint32_t found = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      states[lane] = step(states[lane], bytes[lane * lane_size + at]);
      found |= states[lane];
    }
    if ((found & kFound) != 0) [[unlikely]] {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if ((states[lane] & kFound) != 0) {
          hits[lane].push_back({begin + lane * lane_size + at + 1, (states[lane] & kRow) / classes_});
        }
      }
    }
  }
  return begin + kLanes * lane_size;
}

}  // namespace arborfs::redact
