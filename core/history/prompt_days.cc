#include "core/history/prompt_days.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <utility>

#include "core/base/hash.h"
#include "core/base/result_macros.h"
#include "core/render/text.h"

namespace arborfs::history {

namespace {

constexpr std::int64_t kDaySeconds = 86'400;
constexpr std::int64_t kLastSecond = 253'402'214'400;  // in the year 9999, whatever the time zone
constexpr std::size_t kLongestPath = 4096;

/// The local time, of the nearest time that has a day in the years 1970 to 9999.
std::tm local_time(std::int64_t time_s) {
  const auto seconds = static_cast<std::time_t>(std::clamp(time_s, kDaySeconds, kLastSecond));
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

std::uint32_t day_of(const std::tm& local) {
  std::tm midnight{};
  midnight.tm_year = local.tm_year;
  midnight.tm_mon = local.tm_mon;
  midnight.tm_mday = local.tm_mday;
  return static_cast<std::uint32_t>(::timegm(&midnight) / kDaySeconds);
}

std::string formatted(const char* format, const std::tm& time) {
  std::array<char, 40> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &time)};
}

void add_prompt(const Prompt& prompt, const std::tm& local, std::string& text) {
  text += "\n## " + formatted("%H:%M:%S", local);
  text += prompt.cwd.empty() ? "" : "  " + visible_line(prompt.cwd, kLongestPath);
  text += prompt.session.empty() ? "" : "  " + visible_line(prompt.session, kLongestPath);
  text += "\n\n" + visible(prompt.text);
  text += prompt.text.ends_with('\n') ? "" : "\n";
}

/// Builds the texts of days from prompts, newest first.
class DayTexts {
 public:
  void restart() {
    days_.clear();
    text_.clear();
    kept_ = 0;
  }

  void take(const Prompt& prompt) {
    const std::tm local = local_time(prompt.time_s);
    const std::uint32_t number = day_of(local);
    if (days_.empty() || days_.back().number != number) {
      finish();
      Day day;
      day.number = number;
      day.span.last_s = prompt.time_s;
      day.mtime_s = std::clamp(prompt.time_s, kDaySeconds, kLastSecond);
      days_.push_back(std::move(day));
      text_ = "# " + name_of_day(number) + "\n";
    }
    days_.back().span.first_s = prompt.time_s;
    add_prompt(prompt, local, text_);
  }

  void finish() {
    if (!days_.empty()) {
      days_.back().size = text_.size();
      days_.back().hash = xxh64(text_);
      kept_ += text_.size();
      if (kept_ <= (days_.size() == 1 ? kMostNewestText : kMostKeptText)) {
        days_.back().text = std::make_shared<const std::string>(text_);
      }
    }
  }

  [[nodiscard]] std::vector<Day>& days() { return days_; }
  [[nodiscard]] std::string& text() { return text_; }

 private:
  std::vector<Day> days_;
  std::string text_;      // of the last day so far
  std::size_t kept_ = 0;  // the bytes of the texts of all finished days
};

/// The histories that exist or may appear.
std::vector<const PromptHistory*> histories_of(const StoreSet& stores) {
  std::vector<const PromptHistory*> all;
  for (const auto& store : stores) {
    if (const PromptHistory* history = store->prompt_history()) {
      all.push_back(history);
    }
  }
  return all;
}

Result<void> read_one(const PromptHistory& history, const PromptHistory::Span& span, DayTexts& into) {
  auto done = history.read(span, {[&] { into.restart(); },
                                  [&](const Prompt& prompt) {
                                    into.take(prompt);
                                    return true;
                                  }});
  return done || done.error().code == Errc::not_found ? Result<void>() : done;
}

/// Prompts of several histories have to be sorted, and so kept.
Result<void> read_all(const std::vector<const PromptHistory*>& histories, const PromptHistory::Span& span,
                      DayTexts& into) {
  std::vector<Prompt> all;
  std::optional<Error> failed;
  std::size_t count = 0;
  for (const PromptHistory* history : histories) {
    std::vector<Prompt> found;
    const auto done = history->read(span, {[&] { found.clear(); },
                                           [&](Prompt prompt) {
                                             found.push_back(std::move(prompt));
                                             return true;
                                           }});
    count += done ? 1 : 0;
    if (!done && done.error().code != Errc::not_found) {
      failed = done.error();
    }
    std::move(found.begin(), done ? found.end() : found.begin(), std::back_inserter(all));
  }
  if (count == 0 && failed) {
    return *failed;
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Prompt& one, const Prompt& other) { return one.time_s > other.time_s; });
  for (const Prompt& prompt : all) {
    into.take(prompt);
  }
  return {};
}

Result<void> read(const StoreSet& stores, const PromptHistory::Span& span, DayTexts& into) {
  const auto histories = histories_of(stores);
  RETURN_IF_ERROR(histories.size() == 1 ? read_one(*histories.front(), span, into) : read_all(histories, span, into));
  into.finish();
  return {};
}

}  // namespace

std::string name_of_day(std::uint32_t number) {
  const auto seconds = static_cast<std::time_t>(number) * kDaySeconds;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return formatted("%Y-%m-%d", parts);
}

std::optional<std::uint32_t> day_named(std::string_view name) {
  std::tm parts{};
  const std::string word(name);
  const char* end = ::strptime(word.c_str(), "%Y-%m-%d", &parts);
  const std::time_t seconds = end == nullptr ? -1 : ::timegm(&parts);
  if (seconds < 0 || seconds > kLastSecond) {
    return std::nullopt;
  }
  const auto number = static_cast<std::uint32_t>(seconds / kDaySeconds);
  return name_of_day(number) == name ? std::optional(number) : std::nullopt;
}

Result<std::vector<Day>> prompt_days(const StoreSet& stores) {
  DayTexts texts;
  RETURN_IF_ERROR(read(stores, {}, texts));
  return std::move(texts.days());
}

Result<std::string> text_of(const StoreSet& stores, const Day& day) {
  DayTexts texts;
  RETURN_IF_ERROR(read(stores, day.span, texts));
  return std::move(texts.text());
}

}  // namespace arborfs::history
