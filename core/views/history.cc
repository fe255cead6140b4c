#include "core/views/history.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/wanted.h"
#include "core/entry/text.h"
#include "core/json/js_text.h"
#include "core/json/utf8.h"

namespace arborfs::history {

namespace {

bool has_words(const std::string& text, const std::vector<std::string>& words) {
  if (words.empty()) {
    return true;
  }
  const std::string plain = folded(text);
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return plain.find(word) != std::string::npos; });
}

/// One more than the limit, so that it is known whether there are more.
Result<std::vector<Prompt>> prompts_of(const PromptHistory& history, const PromptQuery& wanted) {
  std::vector<Prompt> found;
  PromptHistory::Reading reading;
  reading.restart = [&] { found.clear(); };
  reading.take = [&](Prompt prompt) {
    if (wanted.passes(prompt) && has_words(prompt.text, wanted.words)) {
      found.push_back(std::move(prompt));
    }
    return wanted.limit == 0 || found.size() <= wanted.limit;
  };
  const auto done = history.read({}, reading);
  return done ? Result<std::vector<Prompt>>(std::move(found)) : Result<std::vector<Prompt>>(done.error());
}

}  // namespace

Prompts find_prompts(const std::vector<std::shared_ptr<Store>>& stores, const PromptQuery& wanted) {
  Prompts all;
  for (const auto& store : stores) {
    const PromptHistory* history = store->prompt_history();
    if (history == nullptr) {
      continue;
    }
    auto found = prompts_of(*history, wanted);
    if (!found) {
      if (found.error().code != Errc::not_found) {
        all.unread.push_back(found.error());
      }
      continue;
    }
    ++all.histories;
    for (Prompt& prompt : *found) {
      all.found.push_back({store->format().agent, std::move(prompt)});
    }
  }
  std::stable_sort(all.found.begin(), all.found.end(),
                   [](const Typed& one, const Typed& other) { return one.prompt.time_s > other.prompt.time_s; });
  all.has_more = wanted.limit != 0 && all.found.size() > wanted.limit;
  if (all.has_more) {
    all.found.resize(wanted.limit);
  }
  return all;
}

std::vector<std::string> words_of(std::string_view query) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) {
      words.push_back(folded(word));
      word.clear();
    }
  };
  for_each_character(query, [&](std::string_view character) {
    is_blank(character) ? end_word() : static_cast<void>(word += character);
  });
  end_word();
  return words;
}

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

/// The agent is named if prompts of others may be beside it; else it is "".
void add_prompt(const Prompt& prompt, std::string_view agent, const std::tm& local, std::string& text) {
  text += "\n## " + formatted("%H:%M:%S", local);
  text.append(agent.empty() ? "" : "  ").append(agent);
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

  void take(const Prompt& prompt, std::string_view agent = "") {
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
    add_prompt(prompt, agent, local, text_);
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

/// The histories that exist, or cannot be looked at, with their agents.
std::vector<std::pair<std::string_view, const PromptHistory*>> histories_of(const StoreSet& stores) {
  std::vector<std::pair<std::string_view, const PromptHistory*>> all;
  for (const auto& store : stores) {
    const PromptHistory* history = store->prompt_history();
    const auto state = history != nullptr ? history->state() : Result<PromptHistory::State>(Errc::not_found, "");
    if (state || state.error().code != Errc::not_found) {
      all.emplace_back(store->format().agent, history);
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

/// Prompts of several histories have to be sorted, and so kept. `is_whole` is cleared if one could not be read.
Result<void> read_all(const std::vector<std::pair<std::string_view, const PromptHistory*>>& histories,
                      const PromptHistory::Span& span, DayTexts& into, bool& is_whole) {
  std::vector<Typed> all;
  std::optional<Error> failed;
  std::size_t count = 0;
  for (const auto& [agent, history] : histories) {
    std::vector<Typed> found;
    const auto done = history->read(span, {[&found] { found.clear(); },
                                           [&found, its = agent](Prompt prompt) {
                                             found.push_back({its, std::move(prompt)});
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
  is_whole = is_whole && !failed;
  std::stable_sort(all.begin(), all.end(),
                   [](const Typed& one, const Typed& other) { return one.prompt.time_s > other.prompt.time_s; });
  const bool are_of_one = std::all_of(histories.begin(), histories.end(),
                                      [&](const auto& one) { return one.first == histories.front().first; });
  for (const auto& [agent, prompt] : all) {
    into.take(prompt, are_of_one ? "" : agent);
  }
  return {};
}

Result<void> read(const StoreSet& stores, const PromptHistory::Span& span, DayTexts& into, bool& is_whole) {
  const auto histories = histories_of(stores);
  RETURN_IF_ERROR(histories.size() == 1 ? read_one(*histories.front().second, span, into)
                                        : read_all(histories, span, into, is_whole));
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

Result<Days> prompt_days(const StoreSet& stores) {
  DayTexts texts;
  Days days;
  RETURN_IF_ERROR(read(stores, {}, texts, days.are_whole));
  days.days = std::move(texts.days());
  return days;
}

Result<std::string> text_of(const StoreSet& stores, const Day& day) {
  DayTexts texts;
  bool is_whole = true;
  RETURN_IF_ERROR(read(stores, day.span, texts, is_whole));
  return std::move(texts.text());
}

namespace {

using Clock = std::chrono::steady_clock;
using States = std::vector<std::optional<PromptHistory::State>>;

States states_of(const StoreSet& stores) {
  States states;
  for (const auto& store : stores) {
    if (const PromptHistory* history = store->prompt_history()) {
      const auto state = history->state();
      states.push_back(state ? std::optional(*state) : std::nullopt);
    }
  }
  return states;
}

std::optional<std::int64_t> newest(const States& states) {
  std::optional<std::int64_t> time;
  for (const auto& state : states) {
    time = state ? std::optional(std::max(state->mtime_ns, time.value_or(state->mtime_ns))) : time;
  }
  return time;
}

bool are_settled(const States& states) {
  const std::int64_t settled_ns = std::chrono::nanoseconds(RecentHistory::kSettles).count();
  return newest(states).value_or(0) < now_ns() - settled_ns;
}

}  // namespace

const ShownDay* ShownDays::find(std::uint32_t number) const {
  const auto found =
      std::find_if(days.begin(), days.end(), [&](const ShownDay& shown) { return shown.day.number == number; });
  return found == days.end() ? nullptr : &*found;
}

ShownDaysPtr RecentHistory::known() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

ShownDaysPtr RecentHistory::fresh(const StoreSet& stores) const {
  auto made = known();
  const bool may_serve = made && (made->is_settled || Clock::now() - made->begun < kBriefly);
  return may_serve && made->states == states_of(stores) ? made : nullptr;
}

Result<ShownDaysPtr> RecentHistory::read(const StoreSet& stores) {
  const auto asked = Clock::now();
  const SingleFlight::Turn turn(readings_, 0, Wanted::here());
  if (!turn.has()) {
    return Error{Errc::interrupted, "the reading of the history was cancelled"};
  }
  if (auto made = known(); made && made->begun >= asked) {
    return made;
  }
  return run(stores);
}

Result<ShownDaysPtr> RecentHistory::run(const StoreSet& stores) {
  ShownDays made;
  made.begun = Clock::now();
  made.states = states_of(stores);
  made.is_settled = are_settled(made.states);
  ASSIGN_OR_RETURN(auto found, prompt_days(stores));
  made.is_settled = made.is_settled && found.are_whole;
  return keep(std::move(made), std::move(found.days));
}

ShownDaysPtr RecentHistory::keep(ShownDays made, std::vector<Day> days) {
  const std::lock_guard lock(mutex_);
  std::map<std::uint32_t, ShownDay> before;
  for (const ShownDay& shown : last_ ? last_->days : std::vector<ShownDay>()) {
    before[shown.day.number] = shown;
  }
  for (const Day& day : days) {
    const auto same = before.find(day.number);
    const bool is_same = same != before.end() && same->second.day.hash == day.hash && same->second.day.size == day.size;
    made.days.push_back({day, is_same ? same->second.version : ++last_version_});
  }
  last_ = std::make_shared<const ShownDays>(std::move(made));
  return last_;
}

std::optional<std::int64_t> written_ns(const StoreSet& stores) {
  return newest(states_of(stores));
}

}  // namespace arborfs::history
