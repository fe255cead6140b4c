#include "core/write/resolve_target.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "core/base/error.h"
#include "core/entry/people_path.h"
#include "core/entry/tree.h"
#include "core/json/document.h"

namespace arborfs {

namespace {

constexpr std::uint64_t kMaxRead = 64 << 20;

struct Step {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool is_assistant = false;
};

/// The messages of the path from its last assistant message on, that message first.
std::vector<Step> last_turn(const LogIndex& index, Ordinal end) {
  std::vector<Step> turn;
  Ordinal at = end;
  for (Ordinal steps = 0; at != kNoEntry && steps <= index.size(); ++steps) {
    if (index.entry(at).type == EntryType::message) {
      turn.insert(turn.begin(), {index.entry(at).offset, index.length(at), index.is_assistant(at)});
      if (index.is_assistant(at)) {
        return turn;
      }
    }
    at = index.parent(at);
  }
  return {};
}

void add_calls(const json::Value& message, std::set<std::string>& open) {
  const auto* content = json::member(message, "content");
  if (content == nullptr || !content->IsArray()) {
    return;
  }
  for (const auto& block : content->GetArray()) {
    const auto id = json::string_member(block, "id");
    if (id && json::is_string(json::member(block, "type"), "toolCall")) {
      open.emplace(*id);
    }
  }
}

/// True for entries that only name another entry or the session.
bool is_about_others(EntryType type) {
  return type == EntryType::label || type == EntryType::title_change || type == EntryType::session_info;
}

/// As find_by_word, without `^`.
Result<std::optional<Ordinal>> find_plain_word(const LogIndex& index, Ordinal leaf, std::string_view word) {
  if (word == "leaf") {
    return std::optional(named_entry(index, leaf));
  }
  if (word != "last" && word != "last-user" && word != "last-assistant") {
    return std::optional<Ordinal>();
  }
  const std::string_view role = word == "last" ? "" : word.substr(std::string_view("last-").size());
  const auto path = people_entries(index, leaf);
  const auto found = std::find_if(path.rbegin(), path.rend(), [&](Ordinal step) {
    return index.entry(step).type == EntryType::message && (role.empty() || index.role(step) == role);
  });
  if (found == path.rend()) {
    return Error{Errc::not_found, "the current branch has no message" +
                                      (role.empty() ? "" : " of the " + std::string(role)) +
                                      "; 'arborfs tree' shows the branches"};
  }
  return std::optional(*found);
}

}  // namespace

Ordinal named_entry(const LogIndex& index, Ordinal ordinal) {
  Ordinal at = ordinal;
  for (Ordinal steps = 0; at != kNoEntry && steps <= index.size(); ++steps) {
    if (!is_about_others(index.entry(at).type)) {
      return at;
    }
    at = index.parent(at);
  }
  return ordinal;
}

Ordinal entry_meant(const LogIndex& index, std::string_view spelled) {
  if (const Ordinal found = spelled.empty() ? kNoEntry : resolve_entry(index, spelled); found != kNoEntry) {
    return found;
  }
  for (const std::string_view ending : {".json", ".md"}) {
    if (spelled.size() > ending.size() && spelled.ends_with(ending)) {
      return resolve_name(index, spelled.substr(0, spelled.size() - ending.size()));
    }
  }
  return kNoEntry;
}

Result<Ordinal> find_target(const LogIndex& index, std::string_view spelled) {
  const Ordinal found = entry_meant(index, spelled);
  if (found != kNoEntry) {
    return found;
  }
  if (is_ambiguous_entry(index, spelled)) {
    return Error{Errc::not_found,
                 "more than one entry of the session has this name; give more of the id, or its number (#42)"};
  }
  if (!spelled.empty() && spelled.size() < kShortestIdPrefix && spelled.front() != '#') {
    return Error{Errc::not_found, "no entry of the session has this name; give at least four characters of an id"};
  }
  return Error{Errc::not_found, "no entry of the session has this name; give an id, a number (#42) or a label"};
}

Result<Ordinal> find_leaf_target(const LogIndex& index, std::string_view spelled) {
  return spelled == "root" ? Result<Ordinal>(kNoEntry) : find_target(index, spelled);
}

Result<std::optional<Ordinal>> find_by_word(const LogIndex& index, Ordinal leaf, std::string_view word) {
  const std::string_view name = word.substr(0, word.find_last_not_of('^') + 1);
  if (name == word || name.empty() || entry_meant(index, word) != kNoEntry) {
    return find_plain_word(index, leaf, word);
  }
  ASSIGN_OR_RETURN(auto found, find_plain_word(index, leaf, name));
  if (!found) {
    ASSIGN_OR_RETURN(found, find_target(index, name));
  }
  for (std::size_t steps = word.size() - name.size(); steps > 0; --steps) {
    if (*found == kNoEntry) {
      return Error{Errc::not_found, "the session has no entry so far before it"};
    }
    *found = named_entry(index, index.parent(*found));
  }
  return found;
}

std::string target_name(const LogIndex& index, Ordinal ordinal) {
  if (ordinal == kNoEntry) {
    return "root";
  }
  const EntryId id = index.id(ordinal);
  return id.kind == EntryId::Kind::string ? id.text : "#" + std::to_string(ordinal);
}

Result<void> check_branch_end(const Session& session, Ordinal ordinal) {
  std::vector<Step> turn;
  std::shared_ptr<const LogSource> log;
  {
    const auto guard = session.read();
    if (!guard || ordinal > guard->index().size()) {
      return session_changed();
    }
    turn = last_turn(guard->index(), ordinal);
    log = guard->log();
  }
  std::set<std::string> open;
  for (const Step& step : turn) {
    if (step.length > kMaxRead) {
      continue;
    }
    ASSIGN_OR_RETURN(const auto bytes, log->read(step.offset, step.length));
    json::Document entry;
    const auto* message = json::parse(bytes, entry) ? json::member(entry, "message") : nullptr;
    if (message == nullptr) {
      continue;
    }
    if (step.is_assistant) {
      add_calls(*message, open);
    } else if (const auto id = json::string_member(*message, "toolCallId")) {
      open.erase(std::string(*id));
    }
  }
  if (open.empty()) {
    return {};
  }
  return Error{
      Errc::invalid_argument,
      "the branch would end in a tool call without its result, which models reject; choose another entry, or force it"};
}

}  // namespace arborfs
