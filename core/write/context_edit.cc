#include "core/write/context_edit.h"

#include <utility>

namespace arborfs {

namespace {

constexpr const char* kLeftOut = "[The output of this tool was left out.]";

class PairedTurns {
 public:
  explicit PairedTurns(std::vector<SaidTurn>& said) : said_(said), pairs_(tool_pairs(said).pairs) {}

  Result<void> replace_outputs(const std::set<Ordinal>& entries) {
    std::set<Ordinal> left = entries;
    for (const ToolPairs::Pair& pair : pairs_) {
      if (left_out(entries, pair.call) || left_out(entries, pair.result)) {
        TurnPart& result = part(pair.result);
        result.text = kLeftOut;
        result.images.clear();
        left.erase(entry(pair.call));
        left.erase(entry(pair.result));
      }
    }
    return left.empty() ? Result<void>()
                        : Result<void>(Errc::invalid_argument, "entry #" + std::to_string(*left.begin()) +
                                                                   " has no output of a tool to leave out");
  }

  void remove(const std::set<Ordinal>& entries) {
    std::set<PartAt> gone;
    for (const ToolPairs::Pair& pair : pairs_) {
      if (left_out(entries, pair.call) || left_out(entries, pair.result)) {
        gone.insert(pair.call);
        gone.insert(pair.result);
      }
    }
    std::vector<SaidTurn> kept;
    for (std::size_t turn = 0; turn < said_.size(); ++turn) {
      std::vector<TurnPart> parts;
      for (std::size_t at = 0; at < said_[turn].turn.parts.size(); ++at) {
        if (!gone.contains({turn, at})) {
          parts.push_back(std::move(said_[turn].turn.parts[at]));
        }
      }
      if (!entries.contains(said_[turn].entry) && !parts.empty()) {
        said_[turn].turn.parts = std::move(parts);
        kept.push_back(std::move(said_[turn]));
      }
    }
    said_ = std::move(kept);
  }

 private:
  [[nodiscard]] Ordinal entry(const PartAt& at) const { return said_[at.first].entry; }
  [[nodiscard]] TurnPart& part(const PartAt& at) { return said_[at.first].turn.parts[at.second]; }
  [[nodiscard]] bool left_out(const std::set<Ordinal>& entries, const PartAt& at) const {
    return entries.contains(entry(at));
  }
  std::vector<SaidTurn>& said_;
  const std::vector<ToolPairs::Pair> pairs_;
};

}  // namespace

Result<void> edit_turns(const std::set<Ordinal>& without, const std::set<Ordinal>& without_output,
                        std::vector<SaidTurn>& said) {
  PairedTurns turns(said);
  if (auto replaced = turns.replace_outputs(without_output); !replaced) {
    return replaced;
  }
  turns.remove(without);
  return {};
}

}  // namespace arborfs
