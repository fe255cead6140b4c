#include "core/session/notes.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/json/document.h"
#include "core/json/js_text.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/json/utf8.h"
#include "core/os/state_dir.h"
#include "core/session/session.h"

namespace arborfs {

namespace {

constexpr std::size_t kLongestTag = 100;
constexpr std::size_t kMostNotes = std::size_t{32} << 20U;  // of an agent; a longer file could not be read
constexpr std::chrono::seconds kPatience{10};  // many processes may change notes at once, and each change is synced

/// The values of a line's `tags`, as JSON texts, and those of them that are tags.
struct LineTags {
  std::vector<std::string> values;
  Notes::Tags tags;
};

LineTags tags_in(std::string_view line) {
  LineTags found;
  for (skim::Cursor items(skim::member(line, "tags")); items.next();) {
    auto tag = skim::string_value(items.value());
    if (tag && check_tag(*tag)) {
      found.tags.push_back(*std::move(tag));
    } else {
      found.values.emplace_back(items.value());
    }
  }
  return found;
}

void make_set(Notes::Tags& tags) {
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
}

/// What is no tag for this version stays.
std::string with_tags(std::string line, const Notes::Tags& tags) {
  auto list = json::Text::array_of(tags);
  for (const std::string& value : tags_in(line).values) {
    list.item_json(value);
  }
  return skim::set_member(std::move(line), "tags", list.str());
}

/// Calls f(line, session) for each line of the file; `session` is "" where a line is of no session.
template <class Function>
void for_each_line(std::string_view text, const Function& f) {
  while (!text.empty()) {
    const std::string_view line = stripped(take_line(text));
    if (!line.empty()) {
      f(line, json::is_one_value(line) ? skim::text_member(line, "session") : "");
    }
  }
}

/// Errors: invalid_argument for too many.
Result<Notes::Tags> changed(const Notes::Tags& tags, const Notes::TagChange& change) {
  Notes::Tags now = change.clears ? Notes::Tags() : tags;
  now.insert(now.end(), change.add.begin(), change.add.end());
  make_set(now);
  std::erase_if(now, [&](const std::string& tag) {
    return std::find(change.remove.begin(), change.remove.end(), tag) != change.remove.end();
  });
  if (now != tags && now.size() > Notes::kMostTags) {
    return Error{Errc::invalid_argument, "a session may have at most " + std::to_string(Notes::kMostTags) + " tags"};
  }
  return now;
}

/// The tags of each session; lines of one session count together.
Notes::TagsOfSessions all_tags(std::string_view text) {
  Notes::TagsOfSessions all;
  for_each_line(text, [&](std::string_view line, const std::string& session) {
    auto tags = session.empty() ? Notes::Tags() : tags_in(line).tags;
    if (!tags.empty()) {
      Notes::Tags& known = all[session];
      known.insert(known.end(), tags.begin(), tags.end());
      make_set(known);
    }
  });
  return all;
}

}  // namespace

Notes::Key Notes::key_of(const Session& session) {
  std::string id = session.identity().id;
  return {std::string(session.format().agent), id.empty() ? std::string(session.place().stem()) : std::move(id)};
}

Result<Notes::TagsPtr> Notes::tags(const std::string& agent) const {
  const auto none = std::make_shared<const TagsOfSessions>();
  const auto folder = folder_.empty() ? Result<Dir>(Errc::not_found, "") : open_private_folder(folder_);
  const auto st = folder ? folder->stat(file_of(agent)) : Result<FileStat>(folder.error());
  {
    const std::lock_guard lock(mutex_);
    const auto known = read_.find(agent);
    if (known != read_.end() && (folder_.empty() || (st && known->second.stat == *st))) {
      return known->second.tags;
    }
  }
  if (!st) {
    return st.error().code == Errc::not_found ? Result<TagsPtr>(none) : st.error();
  }
  ASSIGN_OR_RETURN(const std::string text, read_private_file(*folder, file_of(agent)));
  const Read read{*st, std::make_shared<const TagsOfSessions>(all_tags(text))};
  const std::lock_guard lock(mutex_);
  read_.insert_or_assign(agent, read);
  return read.tags;
}

Result<Notes::Tags> Notes::tags(const Key& key) const {
  ASSIGN_OR_RETURN(const auto all, tags(key.agent));
  const auto found = all->find(key.session);
  return found == all->end() ? Tags() : found->second;
}

Result<Notes::Tags> Notes::change_tags(const Key& key, const TagChange& change, bool sync) {
  for (const std::string& tag : change.add) {
    RETURN_IF_ERROR(check_tag(tag));
  }
  if (!folder_.empty()) {
    return change_file(key, change, sync);
  }
  const std::lock_guard lock(mutex_);
  const auto known = read_.find(key.agent);
  auto all = std::make_shared<TagsOfSessions>(known == read_.end() ? TagsOfSessions() : *known->second.tags);
  ASSIGN_OR_RETURN(Tags now, changed((*all)[key.session], change));
  (*all)[key.session] = now;
  read_[key.agent].tags = std::move(all);
  return now;
}

Result<Notes::Tags> Notes::change_file(const Key& key, const TagChange& change, bool sync) {
  ASSIGN_OR_RETURN(const auto folder, make_private_folder(disk_, folder_, sync));
  const FolderLock lock(folder, kPatience);
  if (!lock.is_held()) {
    return Error{Errc::busy, "another process holds the notes in " + folder_ + "; try again"};
  }
  ASSIGN_OR_RETURN(const std::string before, read_private_file(folder, file_of(key.agent)));
  const auto all = all_tags(before);
  const auto known = all.find(key.session);
  const Tags tags = known == all.end() ? Tags() : known->second;
  ASSIGN_OR_RETURN(Tags now, changed(tags, change));
  if (now == tags) {
    return now;
  }
  std::map<std::string, std::vector<std::string>> lines;
  std::string others;  // what is of no session stays, at the end
  for_each_line(before, [&](std::string_view line, std::string session) {
    session.empty() ? static_cast<void>(others.append(line).append("\n"))
                    : static_cast<void>(lines[std::move(session)].emplace_back(line));
  });
  auto& own = lines[key.session];
  if (own.empty()) {
    own.push_back(json::Text::object().add("session", key.session).str());
  }
  for (std::string& line : own) {
    line = with_tags(std::move(line), &line == &own.front() ? now : Tags());
  }
  std::string text;
  for (const auto& [session, of_session] : lines) {
    for (const std::string& line : of_session) {
      text.append(line).append("\n");
    }
  }
  text += others;
  if (text.size() > kMostNotes) {
    return Error{Errc::too_large, "the notes in " + folder_ + " have no room for more"};
  }
  RETURN_IF_ERROR(replace_private_file(disk_, folder, file_of(key.agent), text, sync));
  return now;
}

const Notes::Tags& TagsOfAgents::of(const Session& session) {
  static const Notes::Tags kNone;
  const std::string_view agent = session.format().agent;
  auto read = read_.find(agent);
  if (read == read_.end()) {
    auto tags = notes_.tags(std::string(agent));
    problem_ = tags ? problem_ : std::optional(tags.error());
    read = read_.emplace(agent, tags ? *tags : std::make_shared<const Notes::TagsOfSessions>()).first;
  }
  if (read->second->empty()) {
    return kNone;
  }
  const auto found = read->second->find(Notes::key_of(session).session);
  return found == read->second->end() ? kNone : found->second;
}

bool TagsOfAgents::has(const Session& session, const std::string& tag) {
  const Notes::Tags& tags = of(session);
  return std::binary_search(tags.begin(), tags.end(), tag);
}

Result<void> check_tag(std::string_view tag) {
  if (!json::is_valid_utf8(tag)) {
    return Error{Errc::not_utf8, "the tag is not UTF-8"};
  }
  bool has_blank = false;
  for_each_character(tag, [&](std::string_view character) { has_blank = has_blank || is_blank(character); });
  if (tag.empty() || tag.size() > kLongestTag || tag.front() == '.' || tag.front() == '-' || has_blank ||
      tag.find_first_of("/,") != std::string_view::npos || visible_line(tag, kLongestTag) != tag) {
    return Error{
        Errc::invalid_argument,
        "a tag has 1 to 100 bytes without blanks, commas and slashes, and begins with neither a dot nor a hyphen"};
  }
  return {};
}

}  // namespace arborfs
