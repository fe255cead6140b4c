#include "core/session/operations.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/os/state_dir.h"
#include "core/os/temp_file.h"
#include "core/session/session.h"

namespace arborfs {

namespace {

using Kind = Effect::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 9> kKinds{{{Kind::file, "file"},
                                                                   {Kind::rows, "rows"},
                                                                   {Kind::trash, "trash"},
                                                                   {Kind::session, "session"},
                                                                   {Kind::notes, "notes"},
                                                                   {Kind::leaf, "leaf"},
                                                                   {Kind::mark, "mark"},
                                                                   {Kind::place, "place"},
                                                                   {Kind::times, "times"}}};
constexpr std::chrono::milliseconds kLineWait{200};
constexpr std::size_t kShownName = 60;  // characters

std::string new_id() {
  constexpr std::size_t kLength = 8;
  return unique_hex().substr(16 - kLength);
}

std::string json_of(const Effect& effect) {
  const auto kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& row) { return row.first == effect.kind; });
  json::Text text = json::Text::object();
  text.add("kind", kind->second);
  if (!effect.what.empty()) {
    text.add("what", effect.what);
  }
  return text.add_json("before", effect.before).add_json("after", effect.after).str();
}

std::string line_of(const Operation& operation) {
  json::Text line = json::Text::object();
  line.add("id", operation.id).add("time", json::iso_time(operation.time_ms)).add("verb", operation.verb);
  for (const auto& [key, value] : {std::pair("with", &operation.with), std::pair("undoes", &operation.undoes),
                                   std::pair("agent", &operation.agent), std::pair("store", &operation.dir),
                                   std::pair("session", &operation.session), std::pair("title", &operation.title),
                                   std::pair("folder", &operation.place.folder),
                                   std::pair("file", &operation.place.file), std::pair("cannot", &operation.cannot)}) {
    if (!value->empty()) {
      line.add(key, *value);
    }
  }
  json::Text effects = json::Text::array();
  for (const Effect& effect : operation.effects) {
    effects.item_json(json_of(effect));
  }
  return line.add_json("effects", effects.str()).str() + "\n";
}

std::optional<Effect> effect_from(const json::Value& value) {
  const std::string kind = json::text_member(value, "kind");
  const auto row = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& one) { return one.second == kind; });
  const json::Value* const before = json::member(value, "before");
  const json::Value* const after = json::member(value, "after");
  if (row == kKinds.end() || before == nullptr || after == nullptr) {
    return std::nullopt;
  }
  return Effect{row->first, json::text_member(value, "what"), json::stringify(*before), json::stringify(*after)};
}

/// Nothing for a line that a later arborfs may have written.
std::optional<Operation> operation_from(std::string_view line) {
  json::Document value;
  if (!json::parse(line, value) || json::text_member(value, "id").empty()) {
    return std::nullopt;
  }
  const auto text = [&](std::string_view key) { return json::text_member(value, key); };
  Operation operation{text("id"),
                      json::parse_date(text("time")).value_or(0),
                      text("verb"),
                      text("with"),
                      text("undoes"),
                      text("agent"),
                      text("store"),
                      text("session"),
                      text("title"),
                      {text("folder"), text("file")},
                      {},
                      text("cannot")};
  const json::Value* const effects = json::member(value, "effects");
  if (effects == nullptr || !effects->IsArray()) {
    return std::nullopt;
  }
  for (const json::Value& one : effects->GetArray()) {
    auto effect = effect_from(one);
    if (!effect) {
      return std::nullopt;
    }
    operation.effects.push_back(*std::move(effect));
  }
  return operation;
}

/// All lines, or, if they are too many, those in the newer half of what may be kept.
std::string newest_of(std::string lines) {
  if (lines.size() > Operations::kMostBytes) {
    lines.erase(0, lines.find('\n', lines.size() - Operations::kMostBytes / 2) + 1);
  }
  return lines;
}

}  // namespace

Operation operation_on(const Session& session, std::string_view verb) {
  Operation operation;
  const Session::Identity identity = session.identity();
  operation.verb = verb;
  operation.agent = identity.agent;
  operation.dir = session.store().paths().agent_dir;
  operation.session = identity.id;
  operation.title = session.title();
  operation.place = session.place();
  return operation;
}

std::string OperationGroup::cannot() const {
  const auto found = std::find_if(parts.begin(), parts.end(), [](const Operation& one) { return !one.cannot.empty(); });
  return found == parts.end() ? "" : found->cannot;
}

Operations::Together::Together(Operations& of, std::string verb) : of_(of) {
  const std::lock_guard lock(of_.mutex_);
  of_.together_verb_ = std::move(verb);
}

Operations::Together::~Together() {
  const std::lock_guard lock(of_.mutex_);
  of_.together_verb_.clear();
  of_.together_.clear();
}

Operations::Muted::Muted(Operations& of) : of_(of) {
  const std::lock_guard lock(of_.mutex_);
  ++of_.muted_;
}

Operations::Muted::~Muted() {
  const std::lock_guard lock(of_.mutex_);
  --of_.muted_;
}

std::string Operations::add(Operation operation) {
  const std::lock_guard lock(mutex_);
  if (muted_ > 0) {
    return "";
  }
  operation.id = new_id();
  operation.time_ms = now_ms();
  if (!together_verb_.empty()) {
    operation.verb = together_verb_;
    operation.with = together_;
    together_ = together_.empty() ? operation.id : together_;
  }
  std::size_t kept = 0;
  for (const Effect& effect : operation.effects) {
    kept += effect.before.size() + effect.after.size();
  }
  if (kept > kLongest) {
    operation.cannot = "it replaced more than arborfs keeps of a change";
    operation.effects.clear();
  }
  std::string line = line_of(operation);
  if (folder_.empty()) {
    in_memory_ += line;
    in_memory_ = newest_of(std::move(in_memory_));
    return operation.id;
  }
  if (const auto done = append(std::move(line)); !done) {
    write_log(LogLevel::warning, "a change by '" + operation.verb + "' cannot be undone, because " + folder_ + "/" +
                                     kFile + " cannot be written: " + done.error().message);
  }
  return operation.id;
}

namespace {

/// Where the last line begins; `text` ends with a line feed.
std::size_t last_line_of(std::string_view text) {
  return text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
}

bool is_line_of(std::string_view line, const std::string& id) {
  return skim::text_member(line, "id") == id;
}

}  // namespace

void Operations::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (id.empty()) {
    return;
  }
  together_ = together_ == id ? "" : together_;
  if (folder_.empty()) {
    const std::size_t last = last_line_of(in_memory_);
    in_memory_.resize(is_line_of(std::string_view(in_memory_).substr(last), id) ? last : in_memory_.size());
  } else if (const auto done = cut_last(id); !done) {
    write_log(LogLevel::warning, folder_ + "/" + kFile + " has a change that was not made: " + done.error().message);
  }
}

Result<void> Operations::cut_last(const std::string& id) {
  if (!file_) {
    return {};
  }
  const FolderLock lock(file_->fd(), kLineWait);
  const auto stat = lock.is_held() ? stat_if_at(folder_ + "/" + kFile, *file_) : std::nullopt;
  if (!stat) {
    return Error{Errc::busy, "another process holds it"};
  }
  const std::uint64_t from = stat->size - std::min<std::uint64_t>(stat->size, 2 * kLongest);
  ASSIGN_OR_RETURN(const auto end, file_->read(from, stat->size - from));
  const std::size_t last = last_line_of(end);
  if (!is_line_of(std::string_view(end).substr(last), id)) {
    return {};
  }
  if (from + last > 0) {
    return disk_.truncate(file_->fd(), from + last);
  }
  ASSIGN_OR_RETURN(const auto folder, open_private_folder(folder_));
  return disk_.remove(folder, kFile);
}

Result<void> Operations::open() {
  ASSIGN_OR_RETURN(const auto folder, make_private_folder(disk_, folder_, false));
  ASSIGN_OR_RETURN(auto file, open_private_lines(disk_, folder, kFile));
  file_.emplace(std::move(file));
  whole_lines_ = 0;
  return {};
}

/// Another process may have replaced the file, or removed it. A line that a failed write has torn stays one of its own.
Result<void> Operations::append(std::string line) {
  for (int opened = 1;; ++opened, file_.reset()) {
    RETURN_IF_ERROR(file_ ? Result<void>() : open());
    const FolderLock lock(file_->fd(), kLineWait);
    if (!lock.is_held()) {
      return Error{Errc::busy, "another process holds it"};
    }
    const auto found = stat_if_at(folder_ + "/" + kFile, *file_);
    if (opened < kMostOpened && !found) {
      continue;
    }
    ASSIGN_OR_RETURN(const auto stat, found ? Result<FileStat>(*found) : file_->stat());
    if (stat.size != 0 && stat.size != whole_lines_) {
      ASSIGN_OR_RETURN(const auto last, file_->read(stat.size - 1, 1));
      line.insert(0, last == "\n" ? "" : "\n");
    }
    RETURN_IF_ERROR(write_all(disk_, file_->fd(), line));
    whole_lines_ = stat.size + line.size();
    return whole_lines_ > kMostBytes ? drop_older() : Result<void>();
  }
}

/// Under the lock.
Result<void> Operations::drop_older() {
  ASSIGN_OR_RETURN(const auto stat, file_->stat());
  ASSIGN_OR_RETURN(auto bytes, file_->read(0, stat.size));
  ASSIGN_OR_RETURN(const auto folder, open_private_folder(folder_));
  return replace_private_file(disk_, folder, kFile, newest_of(std::move(bytes)), false);
}

Result<std::vector<Operation>> Operations::all() const {
  std::string text;
  if (folder_.empty()) {
    const std::lock_guard lock(mutex_);
    text = in_memory_;
  } else if (const auto folder = open_private_folder(folder_)) {
    ASSIGN_OR_RETURN(text, read_private_file(*folder, kFile));
  } else if (folder.error().code != Errc::not_found) {
    return folder.error();
  }
  std::vector<Operation> found;
  for (std::string_view rest = text; !rest.empty();) {
    if (auto operation = operation_from(take_line(rest))) {
      found.push_back(*std::move(operation));
    }
  }
  return found;
}

std::size_t OperationGroup::sessions() const {
  std::set<std::string> ids;
  for (const Operation& part : parts) {
    ids.insert(part.session);
  }
  return ids.size();
}

std::vector<OperationGroup> grouped_operations(const std::vector<Operation>& all) {
  std::vector<OperationGroup> groups;
  std::map<std::string, std::size_t> by_id;
  for (const Operation& one : all) {
    if (!one.undoes.empty()) {
      if (const auto found = by_id.find(one.undoes); found != by_id.end()) {
        groups[found->second].is_undone = true;
      }
      continue;
    }
    const auto found = one.with.empty() ? by_id.end() : by_id.find(one.with);
    if (found != by_id.end()) {
      groups[found->second].parts.push_back(one);
    } else {
      by_id[one.with.empty() ? one.id : one.with] = groups.size();
      groups.push_back({{one}});
    }
  }
  return groups;
}

std::string operations_text(const std::vector<OperationGroup>& groups) {
  std::string text;
  for (const OperationGroup& group : groups) {
    const Operation& first = group.first();
    const std::string name = first.title.empty() ? first.session : first.session + " (" + first.title + ")";
    std::string line = local_time(first.time_ms, "%Y-%m-%d %H:%M:%S") + "  " + first.id + "  " + first.verb;
    if (group.sessions() > 1) {
      line += "  " + counted(group.sessions(), "session");
    } else if (!name.empty()) {
      line += "  " + first.agent + "  " + visible_line(name, kShownName);
    }
    const std::string cannot = group.cannot();
    line += group.is_undone ? "  taken back" : cannot.empty() ? "" : "  cannot be taken back: " + cannot;
    text += visible_line(line, 400) + "\n";
  }
  return text;
}

}  // namespace arborfs
