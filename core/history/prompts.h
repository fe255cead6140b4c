// The prompts that were typed to the agents of all stores, and those of them that have certain words. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/prompt_history.h"
#include "core/store/store_set.h"

namespace arborfs::history {

/// A prompt, and the agent that it was typed to.
struct Typed {
  std::string_view agent;
  Prompt prompt;
};

struct PromptQuery {
  std::vector<std::string> words;                                                  // all of them, folded (utf8.h)
  std::function<bool(const Prompt&)> passes = [](const Prompt&) { return true; };  // asked before the words
  std::size_t limit = 0;                                                           // 0 for all
};

/// What the histories say. A history that cannot be read does not hide the others.
struct Prompts {
  std::vector<Typed> found;   // newest first
  bool has_more = false;      // the limit left some out
  std::size_t histories = 0;  // how many were read
  std::vector<Error> unread;  // of the others; stores without a history are none
};
Prompts find_prompts(const std::vector<std::shared_ptr<SessionStore>>& stores, const PromptQuery& wanted);

/// The words of a query, folded. A word may be part of a word of the prompt.
std::vector<std::string> words_of(std::string_view query);

}  // namespace arborfs::history
