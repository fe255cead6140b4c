#include "core/views/session_facts.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/entry/context_path.h"
#include "core/entry/names.h"
#include "core/entry/people_path.h"
#include "core/entry/text.h"
#include "core/entry/tree.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/log/log_index.h"
#include "core/log/log_reader.h"
#include "core/session/liveness.h"

namespace arborfs {

std::vector<Damage> shown_damage(const Session::Guard& guard) {
  auto damage = guard.index().damage();
  std::erase_if(damage, [](const Damage& run) { return run.kind == Damage::Kind::repetition; });
  if (damage.empty() || !damage.back().in_progress) {
    return damage;
  }
  if (guard.tail_aged()) {
    damage.back().in_progress = false;
  } else {
    damage.pop_back();
  }
  return damage;
}

std::string head_problem(const Session::Head& head) {
  if (!head.problem.empty()) {
    return head.problem;
  }
  const Header& header = head.header;
  const bool is_empty = head.stat.size == 0 && header.problem == kNoRecords;
  if (header.valid || is_empty) {
    return "";
  }
  return header.problem.empty() ? "the log has no session header" : header.problem;
}

SpokenPath spoken_path(const Session& session, const Session::Guard& guard, Ordinal end, Reach reach) {
  const LogIndex& index = guard.index();
  SpokenPath spoken{reach == Reach::path ? context_path(index, people_entries(index, end)) : context_path(index, end),
                    {},
                    guard.log(),
                    session.store().blobs(),
                    reach};
  for (const ContextPath::Step& step : spoken.path.steps) {
    spoken.names.emplace_back(index.name(step.ordinal));
  }
  return spoken;
}

namespace {

/// The calls that only calls and results follow begin here: behind the last part of another kind.
PartAt last_calls_begin(const std::vector<SaidTurn>& said) {
  PartAt begin{0, 0};
  for (std::size_t turn = 0; turn < said.size(); ++turn) {
    for (std::size_t part = 0; part < said[turn].turn.parts.size(); ++part) {
      const TurnPart::Kind kind = said[turn].turn.parts[part].kind;
      if (kind != TurnPart::Kind::tool_call && kind != TurnPart::Kind::tool_result) {
        begin = {turn, part};
      }
    }
  }
  return begin;
}

}  // namespace

Result<std::vector<Unpaired>> unpaired_parts(const Session& session) {
  SpokenPath spoken;
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    spoken = spoken_path(session, guard, guard.leaf(), Reach::context);
  }
  const Format& format = session.format();
  ASSIGN_OR_RETURN(const auto said, said_turns(*format.renderer, spoken));
  const ToolPairs pairs = tool_pairs(said);
  std::vector<Unpaired> unpaired;
  const auto add = [&](const PartAt& at, bool is_last) {
    unpaired.push_back({said[at.first].entry, said[at.first].turn.parts[at.second], is_last});
  };
  const PartAt last = last_calls_begin(said);
  for (const PartAt& call : pairs.calls) {
    const bool is_last = call >= last;
    if (!format.pairing.calls && !(is_last && format.pairing.last_calls)) {
      add(call, is_last);
    }
  }
  for (const PartAt& result : pairs.results) {
    if (!format.pairing.results) {
      add(result, false);
    }
  }
  return unpaired;
}

namespace {

constexpr std::uint64_t kMaxSalvaged = 1 << 20;
constexpr std::size_t kMaxSalvagedRuns = 256;

void count_tree(const LogIndex& index, Ordinal leaf, SessionStatus& status) {
  status.entries = index.size();
  status.branches = conversation_ends(index, leaf).size();
  std::set<std::uint32_t> seen;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    status.orphans += index.is_orphan(ordinal) ? 1 : 0;
    if (index.length(ordinal) > kMaxRenderedEntry) {
      status.too_long_entries.push_back(names::entry_stem(index, ordinal));
    }
    if (index.has_duplicate_ids() && index.entry(ordinal).id != 0 && !seen.insert(index.entry(ordinal).id).second) {
      ++status.duplicate_ids;
    }
  }
  status.cycles = tree_of(index).unreachable.size();
  for (const auto& label : index.labels()) {
    if (index.find(label.target) == kNoEntry) {
      status.dangling_labels.push_back(label.text);
    }
  }
}

std::string moved_leaf(const LogIndex& index, Ordinal leaf) {
  const auto name = [&](Ordinal entry) { return entry == kNoEntry ? "root" : std::string(index.id(entry).text); };
  return leaf == index.leaf() ? ""
                              : "arborfs moved the leaf to " + name(leaf) + "; the agent continues at " +
                                    name(index.leaf()) + " until the next append";
}

void judge(const Format& format, const Header& header, SessionStatus& status) {
  if (const auto writable = check_takes(format, "append"); !writable) {
    status.writable = false;
    status.problem = header.problem;
    status.read_only_reason = writable.error().message;
  } else if (!header.valid) {
    status.writable = false;
    status.problem = header.problem.empty() ? "the log has no session header" : header.problem;
    status.read_only_reason = "the log has no valid header, so arborfs does not write to it; see arborfs doctor";
  } else if (!header.writable_version) {
    status.writable = false;
    status.read_only_reason =
        header.problem.empty() ? "the log has a version that this arborfs does not know" : header.problem;
  }
}

void salvage(const LogSource& log, SessionStatus& status) {
  for (std::size_t run = 0; run < std::min(status.damage.size(), kMaxSalvagedRuns); ++run) {
    const Damage& damage = status.damage[run];
    if (damage.kind == Damage::Kind::nul) {
      continue;
    }
    if (auto bytes = log.read(damage.offset, std::min(damage.length, kMaxSalvaged))) {
      const auto ids = whole_records(*bytes);
      status.whole_records_in_damage.insert(status.whole_records_in_damage.end(), ids.begin(), ids.end());
    }
  }
}

}  // namespace

SessionStatus session_status(const Session& session, const Catalog& catalog) {
  SessionStatus status;
  const auto head = session.head();
  status.bytes = head.stat.size;
  judge(session.format(), head.header, status);
  if (const auto may = check_no_link(session.store(), session.place()); status.writable && !may) {
    status.writable = false;
    status.read_only_reason = may.error().message;
  }
  std::shared_ptr<const LogSource> log;
  std::set<std::string> blobs;
  if (const auto guard = session.read()) {
    log = guard->log();
    status.dialect = session.format().reader->dialect_name(guard->index().dialect());
    count_tree(guard->index(), guard->leaf(), status);
    status.damage = shown_damage(*guard);
    status.not_shown = guard->index().not_shown();
    status.moved_leaf = moved_leaf(guard->index(), guard->leaf());
    if (guard->has_details()) {
      for (const auto& image : guard->details().images()) {
        if (!image.blob.empty()) {
          blobs.insert(image.blob);
        }
      }
    }
  }
  status.last_error = session.write_error();
  const std::string file = session.place().file;
  for (const auto& entry : catalog.state_of(session).erased.of(file)) {
    status.erased_entries.push_back(entry.id);
  }
  status.erased_file = status.erased_entries.empty() ? "" : catalog.state_of(session).erased.path_of(file);
  if (!head.problem.empty()) {
    status.problem = head.problem;
  }
  if (log) {
    salvage(*log, status);
  }
  for (const auto& blob : blobs) {
    status.missing_blobs += session.store().blobs()->open(blob) ? 0 : 1;
  }
  const auto liveness = check_liveness(session, catalog);
  status.state = liveness_word(liveness.state);
  status.reasons = liveness.reasons;
  return status;
}

namespace {

constexpr std::uint64_t kMaxParsed = 64U << 20U;
constexpr std::size_t kMaxValue = 4096;

void add(AttributeList& list, const char* name, std::string_view value) {
  if (!value.empty()) {
    list.emplace_back(name, visible_line(value, kMaxValue));
  }
}

/// Adds values that the index does not keep: the role and the model of a message, the model of a model change.
void add_from_json(AttributeList& list, std::string_view raw) {
  json::Document entry;
  if (!json::parse(raw, entry)) {
    return;
  }
  const json::Value* message = json::member(entry, "message");
  if (message != nullptr) {
    add(list, "role", json::string_member(*message, "role").value_or(""));
  }
  auto model = message == nullptr ? std::nullopt : json::string_member(*message, "model");
  add(list, "model", model ? *model : json::string_member(entry, "model").value_or(""));
}

}  // namespace

Result<AttributeList> entry_attributes(const Session& session, Ordinal ordinal) {
  AttributeList list;
  std::shared_ptr<const LogSource> log;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  {
    const auto guard = session.read();
    if (!guard || ordinal == kNoEntry || ordinal > guard->index().size()) {
      return session_changed();
    }
    const LogIndex& index = guard->index();
    const Entry& entry = index.entry(ordinal);
    const EntryId id = index.id(ordinal);
    add(list, "id", id.text);
    add(list, "parent", index.parent_id(ordinal).text);
    add(list, "type", index.type_text(ordinal));
    if (entry.timestamp_ms != Entry::kNoTime) {
      add(list, "timestamp", json::iso_time(entry.timestamp_ms));
    }
    if (const Label* label = label_of(index, id)) {
      add(list, "label", label->text);
    }
    log = guard->log();
    offset = entry.offset;
    length = index.length(ordinal);
  }
  if (length > kMaxParsed) {
    return list;
  }
  ASSIGN_OR_RETURN(const auto raw, log->read(offset, length));
  add_from_json(list, raw);
  return list;
}

Result<AttributeList> session_attributes(const Session& session) {
  const std::string title = session.title();
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  const LogIndex& index = guard.index();
  const Header& header = index.header();
  AttributeList list;
  add(list, "id", header.id);
  add(list, "agent", guard.agent());
  add(list, "cwd", header.cwd);
  add(list, "title", title);
  if (guard.leaf() != kNoEntry) {
    add(list, "leaf", index.id(guard.leaf()).text);
  }
  add(list, "entries", std::to_string(index.size()));
  add(list, "parent-session", header.parent_session);
  return list;
}

}  // namespace arborfs
