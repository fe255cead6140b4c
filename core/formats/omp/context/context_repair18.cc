#include <numeric>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/formats/omp/context/context_messages.h"

namespace arborfs::context {
namespace {

class Repair {
 public:
  Repair(Drafts& drafts, const ContextPath& path) : drafts_(drafts), path_(path) {}
  void run();

 private:
  void drop_dangling_calls(Draft& draft);
  void drop_failed_turns();
  void drop_results_of(const Draft& turn, std::size_t place);
  std::size_t next_alive(std::size_t place);
  [[nodiscard]] bool is_paired(const Call& call) const { return results_.contains(call.id); }

  Drafts& drafts_;
  const ContextPath& path_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> results_;  // places of tool results by call id
  std::vector<std::size_t> next_;  // for a dropped draft, a later one that is not past the next draft kept
};

void Repair::drop_dangling_calls(Draft& draft) {
  std::vector<std::uint32_t> dangling;
  for (std::size_t i = draft.first_call; i < draft.first_call + std::size_t{draft.calls}; ++i) {
    if (!is_paired(drafts_.calls[i])) {
      dangling.push_back(drafts_.calls[i].block);
    }
  }
  if (dangling.empty()) {
    return;
  }
  if (dangling.size() + draft.redacted == draft.blocks) {
    draft.is_dropped = true;
    return;
  }
  const ContextPath::Step& step = path_.steps[draft.step];
  draft.piece = {Piece::Kind::message, step.entry.offset, step.length,
                 std::make_shared<Change>(Change{std::move(dangling), std::nullopt, std::nullopt})};
}

std::size_t Repair::next_alive(std::size_t place) {
  std::size_t found = place;
  while (found < drafts_.list.size() && drafts_.list[found].is_dropped) {
    found = next_[found];
  }
  while (place < found) {
    const std::size_t next = next_[place];
    next_[place] = found;
    place = next;
  }
  return found;
}

void Repair::drop_results_of(const Draft& turn, std::size_t place) {
  for (std::size_t i = turn.first_call; i < turn.first_call + std::size_t{turn.calls}; ++i) {
    const auto found = results_.find(drafts_.calls[i].id);
    if (found == results_.end()) {
      continue;
    }
    auto& places = found->second;
    while (!places.empty() && places.back() > place) {
      drafts_.list[places.back()].is_dropped = true;
      places.pop_back();
    }
  }
}

void Repair::drop_failed_turns() {
  next_.resize(drafts_.list.size());
  std::iota(next_.begin(), next_.end(), std::size_t{1});
  for (std::size_t place = drafts_.list.size(); place-- > 0;) {
    Draft& draft = drafts_.list[place];
    if (draft.is_dropped || draft.role != Draft::Role::assistant || !draft.has_failed) {
      continue;
    }
    const std::size_t next = next_alive(place + 1);
    if (next < drafts_.list.size() && drafts_.list[next].role == Draft::Role::interruption) {
      continue;
    }
    draft.is_dropped = true;
    drop_results_of(draft, place);
  }
}

void Repair::run() {
  for (std::size_t place = 0; place < drafts_.list.size(); ++place) {
    const Draft& draft = drafts_.list[place];
    if (draft.role == Draft::Role::tool_result && !drafts_.calls[draft.first_call].id.empty()) {
      results_[drafts_.calls[draft.first_call].id].push_back(place);
    }
  }
  for (Draft& draft : drafts_.list) {
    if (draft.role == Draft::Role::assistant) {
      drop_dangling_calls(draft);
    }
  }
  drop_failed_turns();
}

}  // namespace

void repair_as_18(Drafts& drafts, const ContextPath& path) {
  Repair(drafts, path).run();
}

}  // namespace arborfs::context
