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
#include "core/log/redacted_log.h"
#include "core/os/state_dir.h"
#include "core/os/temp_file.h"
#include "core/session/session.h"

namespace arborfs {

namespace {

constexpr std::size_t kLongestTag = 100;
constexpr std::size_t kMostNotes = std::size_t{32} << 20U;  // of an agent; a longer file could not be read
constexpr std::chrono::seconds kPatience{10};  // many processes may change notes at once, and each change is synced

/// The values of a line's `tags`, as JSON texts, and those of them that are tags.
struct LineTags {
  std::vector<std::string> others;
  Notes::Tags tags;
};

LineTags tags_in(std::string_view line) {
  LineTags found;
  for (skim::Cursor items(skim::member(line, "tags")); items.next();) {
    auto tag = skim::string_value(items.value());
    if (tag && check_tag(*tag)) {
      found.tags.push_back(*std::move(tag));
    } else {
      found.others.emplace_back(items.value());
    }
  }
  return found;
}

/// The members of a line's `labels` that are labels, and the others as keys and JSON texts.
struct LineLabels {
  std::vector<std::pair<std::string, std::string>> others;
  std::vector<Noted::EntryLabel> labels;
};

LineLabels labels_in(std::string_view line) {
  LineLabels found;
  for (skim::Cursor members(skim::member(line, "labels")); members.next();) {
    std::string key = skim::string_value('"' + std::string(members.key()) + '"').value_or("");
    auto text = skim::string_value(members.value());
    if (text && !text->empty()) {
      found.labels.push_back({std::move(key), *std::move(text)});
    } else {
      found.others.emplace_back(std::move(key), members.value());
    }
  }
  return found;
}

void make_set(Notes::Tags& tags) {
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
}

/// Sets the labels of entries; "" removes one. What is set again becomes the newest.
void put_labels(std::vector<Noted::EntryLabel>& labels, const std::vector<Noted::EntryLabel>& more) {
  for (const Noted::EntryLabel& one : more) {
    std::erase_if(labels, [&](const Noted::EntryLabel& known) { return known.entry == one.entry; });
    if (!one.text.empty()) {
      labels.push_back(one);
    }
  }
}

/// Sets the members that differ. Values that are no tag and no label for this version stay.
std::string with_notes(std::string line, const Noted& before, const Noted& now) {
  if (now.tags != before.tags) {
    auto list = json::Text::array_of(now.tags);
    for (const std::string& value : tags_in(line).others) {
      list.item_json(value);
    }
    line = skim::set_member(std::move(line), "tags", list.str());
  }
  if (now.title != before.title) {
    line = skim::set_member(std::move(line), "title", json::stringify_string(now.title));
  }
  if (now.labels != before.labels) {
    auto members = json::Text::object();
    for (const auto& [key, value] : labels_in(line).others) {
      members.add_json(key, value);
    }
    for (const auto& [entry, text] : now.labels) {
      members.add(entry, text);
    }
    line = skim::set_member(std::move(line), "labels", members.str());
  }
  return line;
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

/// Adds the notes of a line to those of earlier lines of the session.
void add_line(std::string_view line, Noted& noted) {
  const auto tags = tags_in(line).tags;
  noted.tags.insert(noted.tags.end(), tags.begin(), tags.end());
  make_set(noted.tags);
  const std::string title = skim::text_member(line, "title");
  noted.title = title.empty() ? noted.title : title;
  put_labels(noted.labels, labels_in(line).labels);
}

/// The notes of each session; lines of one session count together.
Notes::OfSessions all_notes(std::string_view text) {
  Notes::OfSessions all;
  for_each_line(text, [&](std::string_view line, const std::string& session) {
    if (!session.empty()) {
      add_line(line, all[session]);
    }
  });
  std::erase_if(all, [](const auto& row) { return row.second == Noted(); });
  return all;
}

/// The file's text with the notes of a session changed: lines of one session come together, in the order of their ids;
/// the first has the notes.
std::string with_notes_of(std::string_view file, const std::string& session, const Noted& now) {
  std::map<std::string, std::vector<std::string>> lines;
  std::string others;  // what is of no session stays, at the end
  for_each_line(file, [&](std::string_view line, std::string of) {
    of.empty() ? static_cast<void>(others.append(line).append("\n"))
               : static_cast<void>(lines[std::move(of)].emplace_back(line));
  });
  auto& own = lines[session];
  if (own.empty()) {
    own.push_back(json::Text::object().add("session", session).str());
  }
  for (std::string& line : own) {
    Noted in_line;
    add_line(line, in_line);
    line = with_notes(std::move(line), in_line, &line == &own.front() ? now : Noted());
  }
  std::string text;
  for (const auto& [of, of_session] : lines) {
    for (const std::string& line : of_session) {
      text.append(line).append("\n");
    }
  }
  return text + others;
}

Noted redacted(Noted noted, const LogRedaction& redaction) {
  for (std::string& tag : noted.tags) {
    tag = redaction.text(tag);
  }
  make_set(noted.tags);
  noted.title = noted.title.empty() ? "" : redaction.text(noted.title);
  for (Noted::EntryLabel& label : noted.labels) {
    label = {redaction.text(label.entry), redaction.text(label.text)};
  }
  return noted;
}

/// By the ids that the sessions have then.
Notes::OfSessions redacted(Notes::OfSessions all, const LogRedaction& redaction) {
  Notes::OfSessions made;
  for (auto& [session, noted] : all) {
    made[redaction.text(session)] = redacted(std::move(noted), redaction);
  }
  return made;
}

}  // namespace

const NotedPtr& nothing_noted() {
  static const NotedPtr none = std::make_shared<const Noted>();
  return none;
}

std::string noted_json(const Noted& noted) {
  return noted == Noted() ? "" : with_notes("{}", Noted(), noted);
}

Noted noted_in(std::string_view json) {
  Noted noted;
  if (json::is_one_value(json)) {
    add_line(json, noted);
  }
  return noted;
}

Notes::Key Notes::key_of(const Session& session) {
  std::string id = session.identity().id;
  return {std::string(session.format().agent), id.empty() ? session.shown_stem() : std::move(id)};
}

Result<Notes::OfSessionsPtr> Notes::of_agent(const std::string& agent) const {
  const auto none = std::make_shared<const OfSessions>();
  const auto folder = folder_.empty() ? Result<Dir>(Errc::not_found, "") : open_private_folder(folder_);
  const auto st = folder ? folder->stat(file_of(agent)) : Result<FileStat>(folder.error());
  {
    const std::lock_guard lock(mutex_);
    const auto known = read_.find(agent);
    if (known != read_.end() && (folder_.empty() || (st && known->second.stat == *st))) {
      return known->second.sessions;
    }
  }
  if (!st) {
    return st.error().code == Errc::not_found ? Result<OfSessionsPtr>(none) : st.error();
  }
  ASSIGN_OR_RETURN(const std::string text, read_private_file(*folder, file_of(agent)));
  OfSessions all = all_notes(text);
  const Read read{*st, std::make_shared<const OfSessions>(
                           redaction_ == nullptr ? std::move(all) : redacted(std::move(all), *redaction_))};
  const std::lock_guard lock(mutex_);
  read_.insert_or_assign(agent, read);
  return read.sessions;
}

Result<NotedPtr> Notes::of(const Key& key) const {
  ASSIGN_OR_RETURN(const auto all, of_agent(key.agent));
  const auto found = all->find(key.session);
  return found == all->end() ? nothing_noted() : NotedPtr(all, &found->second);
}

Notes::Tags Notes::changed(Tags tags, const TagChange& change) {
  if (change.clears) {
    tags.clear();
  }
  tags.insert(tags.end(), change.add.begin(), change.add.end());
  make_set(tags);
  std::erase_if(tags, [&](const std::string& tag) {
    return std::find(change.remove.begin(), change.remove.end(), tag) != change.remove.end();
  });
  return tags;
}

Result<Noted> Notes::change_tags(const Key& key, const TagChange& wanted, bool sync) {
  for (const std::string& tag : wanted.add) {
    RETURN_IF_ERROR(check_tag(tag));
  }
  return change(
      key,
      [&](Noted& noted) -> Result<void> {
        Tags now = changed(noted.tags, wanted);
        if (now != noted.tags && now.size() > kMostTags) {
          return {Errc::invalid_argument, "a session may have at most " + std::to_string(kMostTags) + " tags"};
        }
        noted.tags = std::move(now);
        return {};
      },
      sync);
}

Result<Noted> Notes::set_title(const Key& key, const std::string& title, bool sync) {
  return change(
      key,
      [&](Noted& noted) -> Result<void> {
        noted.title = title;
        return {};
      },
      sync);
}

Result<Noted> Notes::set_labels(const Key& key, const std::vector<Noted::EntryLabel>& labels, bool sync) {
  for (const Noted::EntryLabel& label : labels) {
    if (!json::is_valid_utf8(label.text)) {
      return Error{Errc::not_utf8, "a label must be UTF-8"};
    }
    if (label.text.size() > kLongestLabel) {
      return Error{Errc::too_large, "a label may have at most 4 KiB"};
    }
  }
  return change(
      key,
      [&](Noted& noted) -> Result<void> {
        put_labels(noted.labels, labels);
        if (noted.labels.size() > kMostLabels) {
          return {Errc::invalid_argument, "a session may have at most " + std::to_string(kMostLabels) + " labels"};
        }
        return {};
      },
      sync);
}

Result<Noted> Notes::put(const Key& key, const Noted& noted, bool sync) {
  return change(
      key,
      [&](Noted& now) -> Result<void> {
        now = noted;
        return {};
      },
      sync);
}

Result<Noted> Notes::change(const Key& key, const Change& make, bool sync) {
  if (!folder_.empty()) {
    return change_file(key, make, sync);
  }
  const std::lock_guard lock(mutex_);
  const auto known = read_.find(key.agent);
  auto all = std::make_shared<OfSessions>(known == read_.end() ? OfSessions() : *known->second.sessions);
  Noted now = (*all)[key.session];
  RETURN_IF_ERROR(make(now));
  now == Noted() ? static_cast<void>(all->erase(key.session)) : static_cast<void>((*all)[key.session] = now);
  read_[key.agent].sessions = std::move(all);
  return now;
}

Result<Noted> Notes::change_file(const Key& key, const Change& make, bool sync) {
  ASSIGN_OR_RETURN(const auto folder, make_private_folder(disk_, folder_, sync));
  const FolderLock lock(folder, kPatience);
  if (!lock.is_held()) {
    return Error{Errc::busy, "another process holds the notes in " + folder_ + "; try again"};
  }
  ASSIGN_OR_RETURN(const std::string before, read_private_file(folder, file_of(key.agent)));
  const auto all = all_notes(before);
  const auto known = all.find(key.session);
  const Noted noted = known == all.end() ? Noted() : known->second;
  Noted now = noted;
  RETURN_IF_ERROR(make(now));
  if (now == noted) {
    return now;
  }
  const std::string text = with_notes_of(before, key.session, now);
  if (text.size() > kMostNotes) {
    return Error{Errc::too_large, "the notes in " + folder_ + " have no room for more"};
  }
  for (const std::string& left : leftover_files(folder)) {  // by a process that was killed; no other one has the lock
    static_cast<void>(disk_.remove(folder, left));
  }
  RETURN_IF_ERROR(replace_private_file(disk_, folder, file_of(key.agent), text, sync));
  return now;
}

const Noted& NotesOfAgents::of(const Session& session) {
  const std::string_view agent = session.format().agent;
  auto read = read_.find(agent);
  if (read == read_.end()) {
    auto notes = notes_.of_agent(std::string(agent));
    problem_ = notes ? problem_ : std::optional(notes.error());
    read = read_.emplace(agent, notes ? *notes : std::make_shared<const Notes::OfSessions>()).first;
  }
  if (read->second->empty()) {
    return *nothing_noted();
  }
  const auto found = read->second->find(Notes::key_of(session).session);
  return found == read->second->end() ? *nothing_noted() : found->second;
}

bool NotesOfAgents::has_tag(const Session& session, const std::string& tag) {
  const Noted::Tags tags = tags_of(session, of(session));
  return std::binary_search(tags.begin(), tags.end(), tag);
}

Result<void> reload_notes(const Notes& notes, const std::vector<std::shared_ptr<Session>>& sessions) {
  NotesOfAgents now(notes);
  for (const auto& session : sessions) {
    if (now.of(*session) != *session->noted()) {
      session->reload_notes();  // reads them again: what this process has just noted is newer
    }
  }
  return now.problem() ? Result<void>(*now.problem()) : Result<void>();
}

Noted::Tags tags_of(const Session& session, const Noted& noted) {
  Noted::Tags tags = noted.tags;
  if (std::string own = session.tag(); !own.empty() && check_tag(own)) {
    tags.push_back(std::move(own));
    make_set(tags);
  }
  return tags;
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
