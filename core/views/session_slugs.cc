#include "core/views/session_slugs.h"

#include <utility>

#include "core/base/cancellation.h"
#include "core/base/parallel_for.h"
#include "core/render/names.h"
#include "core/session/session_name.h"

namespace arborfs {

namespace {

constexpr std::size_t kColumns = 80;  // of a first message; a slug has fewer

}  // namespace

/// What a person typed stays while the log only grows. Else the log is read again when it has changed.
std::optional<SessionSlugs::FirstWords> SessionSlugs::known(const Session& session, const FileStat& stat) const {
  const std::lock_guard lock(mutex_);
  const auto found = read_.find(session.number());
  if (found == read_.end()) {
    return std::nullopt;
  }
  const FirstWords& words = found->second;
  const bool is_valid =
      words.is_final ? words.stat.same_file(stat) && words.stat.size <= stat.size : words.stat == stat;
  return is_valid ? std::optional(words) : std::nullopt;
}

bool SessionSlugs::needs_log(const Session& session) const {
  const auto head = session.head();
  return head.header.title.empty() && head.problem.empty() && !known(session, head.stat);
}

Result<void> SessionSlugs::read(const std::vector<SessionPtr>& sessions) {
  const std::atomic<bool>* const cancelled = Cancellation::current();
  std::vector<SessionPtr> unknown;
  for (const auto& session : sessions) {
    if (needs_log(*session)) {
      unknown.push_back(session);
    }
  }
  parallel_for(unknown.size(), [&](std::size_t at) {
    if (cancelled != nullptr && cancelled->load()) {
      return;
    }
    const FileStat stat = unknown[at]->stat();
    const OpeningWords opening = opening_words(*unknown[at], kColumns);
    const std::string_view shown = opening.text.empty() ? kNoConversation : std::string_view(opening.text);
    FirstWords words{stat, names::slug(shown), opening.is_final};
    const std::lock_guard lock(mutex_);
    read_[unknown[at]->number()] = std::move(words);
  });
  return cancelled != nullptr && cancelled->load() ? Result<void>(Errc::interrupted, "the reader is gone")
                                                   : Result<void>();
}

std::string SessionSlugs::of(const Session& session) const {
  const auto head = session.head();
  if (!head.header.title.empty()) {
    return names::slug(head.header.title);
  }
  const auto words = known(session, head.stat);
  return words ? words->slug : names::slug(kNoConversation);
}

void SessionSlugs::keep_only(const CatalogView& view) {
  const std::lock_guard lock(mutex_);
  if (view.version > kept_version_) {
    kept_version_ = view.version;
    std::erase_if(read_, [&](const auto& row) { return !view.where.contains(row.first); });
  }
}

}  // namespace arborfs
