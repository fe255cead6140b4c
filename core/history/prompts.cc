#include "core/history/prompts.h"

#include <algorithm>
#include <utility>

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

Prompts find_prompts(const std::vector<std::shared_ptr<SessionStore>>& stores, const PromptQuery& wanted) {
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

}  // namespace arborfs::history
