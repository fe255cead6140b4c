#include "core/writer/verb_usage.h"

#include "core/writer/command_text.h"

namespace arborfs {
namespace {

constexpr std::string_view kComment = "# ";
constexpr std::string_view kInEditors =
    "In an editor, replace these lines by the new text: a command that contains one of them is refused.";

/// Calls f(line) for each line of the words of the usage text.
template <class Function>
void for_each_usage_line(const Verb& verb, const Subject& subject, const Function& f) {
  for (std::string_view left = subject.session ? verb.usage_for(subject.session->format()) : verb.usage;
       !left.empty();) {
    f(take_line(left));
  }
  if (!verb.usage.empty()) {
    f(kInEditors);
  }
}

}  // namespace

std::string_view Verb::usage_for(const Format& format) const {
  for (const OwnUsage& own : format.usages) {
    if (own.verb == name) {
      return own.text;
    }
  }
  return is_for_all && !format.takes(name) ? usage_for_others : usage;
}

std::string usage_text(const Verb& verb, const Subject& subject) {
  std::string text;
  for_each_usage_line(verb, subject, [&](std::string_view line) { text.append(kComment).append(line) += '\n'; });
  return text;
}

Result<void> refuse_usage(const Verb& verb, const Subject& subject, std::string_view text) {
  for (std::size_t at = text.find(kComment); at != std::string_view::npos; at = text.find(kComment, at + 1)) {
    const std::string_view rest = text.substr(at + kComment.size());
    bool is_usage = false;
    for_each_usage_line(verb, subject, [&](std::string_view line) { is_usage = is_usage || rest.starts_with(line); });
    if (is_usage) {
      return {Errc::invalid_argument, "the text contains a line of the usage text of " + std::string(verb.name) +
                                          ", which an editor reads from this file; write only the new text"};
    }
  }
  return {};
}

}  // namespace arborfs
