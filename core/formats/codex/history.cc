#include "core/formats/codex/history.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "core/formats/codex/record.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"

namespace arborfs::codex {
namespace {

/// Codex keeps this much of the user's messages, at four bytes a token (codex/FORMAT.md D3).
constexpr std::size_t kKeptBytes = std::size_t{20'000} * 4;

std::string user_message(std::string_view text) {
  return R"({"type":"message","role":"user","content":[{"type":"input_text","text":)" + json::stringify_string(text) +
         "}]}";
}

bool is_typed_message(std::string_view item) {
  return skim::is_string(skim::member(item, "type"), "message") &&
         skim::is_string(skim::member(item, "role"), "user") &&
         origin_of_message(skim::member(item, "content"), skim::member(item, kItemKinds)) == Origin::typed;
}

class History {
 public:
  explicit History(const LogSource& log) : log_(log) {}

  Result<void> take(const ContextPath::Step& step) {
    if (step.entry.type != EntryType::message && step.entry.type != EntryType::compaction) {
      return {};
    }
    step_ = &step;
    ASSIGN_OR_RETURN(const auto record, log_.read(step.entry.offset, step.length));
    const std::string_view payload = skim::member(record, "payload");
    if (step.entry.type == EntryType::compaction) {
      return compact(record, payload, step.entry.offset);
    }
    ASSIGN_OR_RETURN(const auto item, item_in(record, payload));
    const bool is_of_compaction =
        skim::is_truthy(skim::member(skim::member(record, "metadata"), "compaction_output"));  // not yet replaced
    if (!is_of_compaction && !skim::is_string(skim::member(item, "type"), "ghost_snapshot")) {
      add(record, item, step.entry.offset);
    }
    return {};
  }

  [[nodiscard]] std::vector<HistoryItem> take_items() && { return std::move(items_); }

 private:
  /// The item of a record; "" for one that Codex does not read as an item: an event, an item without a type, and, in
  /// logs other than those of the first formats, an item without a wrapper (codex/FORMAT.md B6).
  Result<std::string_view> item_in(std::string_view record, std::string_view payload) {
    const bool is_wrapped = payload.starts_with('{');
    if (!is_wrapped && !is_first_format_) {
      ASSIGN_OR_RETURN(is_first_format_, read_format());
    }
    const bool counts = is_wrapped ? skim::is_string(skim::member(record, "type"), "response_item") : *is_first_format_;
    const std::string_view item = is_wrapped ? payload : record;
    return counts && skim::string_value(skim::member(item, "type")) ? item : std::string_view();
  }

  /// True if the log begins with the header of the first formats, or is one object.
  Result<std::optional<bool>> read_format() const {
    constexpr std::uint64_t kEnough = 1024;  // a session_meta names its type before its payload
    ASSIGN_OR_RETURN(const auto size, log_.size());
    ASSIGN_OR_RETURN(const auto start, log_.read(0, std::min(size, kEnough)));
    return std::optional(skim::member(start, "type").empty());
  }

  /// `value` is a part of `record`, which is at `offset`.
  void add(std::string_view record, std::string_view value, std::uint64_t offset) {
    if (!value.empty()) {
      const auto at = offset + static_cast<std::uint64_t>(value.data() - record.data());
      items_.push_back({at, value.size(), "", is_typed_message(value), step_->ordinal, step_->entry.timestamp_ms});
    }
  }

  Result<void> compact(std::string_view record, std::string_view payload, std::uint64_t offset) {
    const std::string_view replacement = skim::member(payload, "replacement_history");
    if (!replacement.starts_with('[')) {
      return rebuild(skim::text_member(payload, "message"));
    }
    items_.clear();
    for (skim::Cursor items(replacement); items.next();) {
      add(record, items.value(), offset);
    }
    return {};
  }

  /// The newest user messages, as far as they fit, and the summary.
  Result<void> rebuild(const std::string& summary) {
    std::vector<HistoryItem> kept;
    std::size_t room = kKeptBytes;
    for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
      if (!item->is_typed) {
        continue;
      }
      ASSIGN_OR_RETURN(const auto text, text_of_item(*item));
      if (text.size() > room) {
        break;
      }
      room -= text.size();
      kept.push_back({0, 0, user_message(text), true, item->entry, item->time_ms});
    }
    std::reverse(kept.begin(), kept.end());
    kept.push_back({0, 0, user_message(summary.empty() ? "(no summary available)" : summary), false, step_->ordinal,
                    step_->entry.timestamp_ms});
    items_ = std::move(kept);
    return {};
  }

  [[nodiscard]] Result<std::string> text_of_item(const HistoryItem& item) const {
    if (!item.made.empty()) {
      return text_in(skim::member(item.made, "content"));
    }
    ASSIGN_OR_RETURN(const auto raw, log_.read(item.offset, item.length));
    return text_in(skim::member(raw, "content"));
  }

  const LogSource& log_;
  const ContextPath::Step* step_ = nullptr;  // the one that is taken
  std::vector<HistoryItem> items_;
  std::optional<bool> is_first_format_;  // once it is needed
};

}  // namespace

Result<std::vector<HistoryItem>> history_of(const ContextPath& path, const LogSource& log, Reach reach) {
  History history(log);
  for (const ContextPath::Step& step : path.steps) {
    if (reach == Reach::context || step.entry.type != EntryType::compaction) {
      RETURN_IF_ERROR(history.take(step));
    }
  }
  return std::move(history).take_items();
}

}  // namespace arborfs::codex
