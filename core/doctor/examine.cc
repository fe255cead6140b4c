#include "core/doctor/examine.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/entry/tree.h"
#include "core/entry/views.h"
#include "core/session/liveness.h"
#include "core/store/store_parts.h"
#include "core/views/session_facts.h"

namespace arborfs {
namespace {

constexpr std::size_t kNameLength = 80;

bool has_compaction(const LogIndex& index) {
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (index.entry(ordinal).type == EntryType::compaction) {
      return true;
    }
  }
  return false;
}

void find_in_parents(const LogIndex& index, std::vector<Finding>& found) {
  const bool has_lost_parents = !index.only_grows() && has_compaction(index);
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    if (index.is_orphan(ordinal) && !has_lost_parents) {
      found.push_back(
          finding_about(index, ordinal, "orphan",
                        fmt::format("{} names the parent {}, which is not in the log; it is shown as a root",
                                    entry_words(index, ordinal), id_words(index.parent_id(ordinal)))));
    }
  }
  for (const Ordinal ordinal : tree_of(index).unreachable) {
    found.push_back(
        finding_about(index, ordinal, "cycle",
                      fmt::format("{} is its own ancestor, or one of its ancestors is", entry_words(index, ordinal))));
  }
}

/// True if both places have the same bytes. A place that cannot be read has other bytes than any.
bool has_same_bytes(const LogSource& log, const SameId& same) {
  constexpr std::uint64_t kPiece = 64 * 1024;
  const std::uint64_t length = same.finding.length;
  if (length != same.length_before) {
    return false;
  }
  for (std::uint64_t at = 0; at < length; at += kPiece) {
    const std::uint64_t piece = std::min(kPiece, length - at);
    const auto before = log.read(same.offset_before + at, piece);
    const auto now = log.read(*same.finding.offset + at, piece);
    if (!before || !now || *before != *now) {
      return false;
    }
  }
  return true;
}

void find_in_labels(const LogIndex& index, std::vector<Finding>& found) {
  for (const auto& label : index.labels()) {
    if (index.find(label.target) == kNoEntry) {
      std::string text = fmt::format("the label '{}' is on the entry {}, which is not in the log",
                                     visible_line(label.text, kNameLength), id_words(label.target));
      found.push_back(label.is_noted ? Finding{.kind = "dangling_label", .text = std::move(text), .is_note = true}
                                     : finding_about(index, label.set_by, "dangling_label", std::move(text)));
    }
  }
}

/// Records that nobody reads are no fault of the log.
void find_left_out(const LogIndex& index, std::vector<Finding>& found) {
  for (const auto& [type, count] : index.not_shown().by_type()) {
    found.push_back(not_shown_note(visible_line(type, kNameLength), count));
  }
}

}  // namespace

std::string entry_words(const LogIndex& index, Ordinal ordinal) {
  const EntryId id = index.id(ordinal);
  const std::string words = id.kind == EntryId::Kind::missing ? "no id" : visible_line(id.text, kNameLength);
  return fmt::format("entry #{} ({})", ordinal, words);
}

std::string id_words(const EntryId& id) {
  return "'" + visible_line(id.text, kNameLength) + "'";
}

Finding finding_about(const LogIndex& index, Ordinal ordinal, std::string_view kind, std::string text) {
  return {kind, std::move(text), index.entry(ordinal).offset, index.length(ordinal), ordinal};
}

void find_in_tree(const LogIndex& index, std::vector<Finding>& found) {
  find_in_parents(index, found);
  find_in_labels(index, found);
  find_left_out(index, found);
}

std::vector<SameId> same_ids_in(const LogIndex& index) {
  std::vector<SameId> same;
  if (!index.has_duplicate_ids()) {
    return same;
  }
  std::unordered_map<std::uint32_t, Ordinal> last_with;
  for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
    Ordinal& before = last_with[index.entry(ordinal).id];
    if (index.entry(ordinal).id != 0 && before != kNoEntry) {
      same.push_back({finding_about(index, ordinal, "duplicate_id",
                                    fmt::format("{} has the same id as #{}; the later one wins",
                                                entry_words(index, ordinal), before)),
                      index.entry(before).offset, index.length(before)});
    }
    before = ordinal;
  }
  return same;
}

void find_in_ids(const LogSource& log, std::vector<SameId> same, std::vector<Finding>& found) {
  for (SameId& one : same) {
    if (!has_same_bytes(log, one)) {
      found.push_back(std::move(one.finding));
    }
  }
}

namespace {

constexpr std::uint64_t kMaxSalvaged = 1 << 20;
constexpr std::size_t kTextLength = 400;

void find_in_header(const Session::Head& head, std::vector<Finding>& found) {
  const Header& header = head.header;
  if (const std::string problem = head_problem(head); !problem.empty()) {
    found.push_back({"bad_header", visible_line(problem, kTextLength) + "; agents may refuse or replace this log",
                     std::nullopt, 0, kNoEntry});
  } else if (!header.writable_version && header.problem.empty()) {
    found.push_back({"unknown_version", "the log has a version above 3; arborfs can read it but not write to it",
                     header.offset, header.length, kNoEntry});
  }
}

std::string_view kind_of(Damage::Kind kind) {
  switch (kind) {
    case Damage::Kind::unfinished:
      return "torn_tail";
    case Damage::Kind::fused:
      return "fused_line";
    case Damage::Kind::nul:
      return "nul_run";
    case Damage::Kind::too_tangled:
      return "too_tangled";
    case Damage::Kind::duplicate:
      return "replaced_line";
    default:
      return "malformed_line";
  }
}

std::string_view words_of(Damage::Kind kind) {
  switch (kind) {
    case Damage::Kind::unfinished:
      return "begin a record that does not end (a torn write)";
    case Damage::Kind::fused:
      return "follow a record on the same line, where agents ignore them (a lost newline)";
    case Damage::Kind::nul:
      return "are zero (probably after a power cut)";
    case Damage::Kind::too_tangled:
      return "cannot be split into records within the limits";
    case Damage::Kind::duplicate:
      return "are a record that a later one with the same id replaces";
    default:
      return "are not JSON";
  }
}

/// "; whole records in it: a1b2c3d4".
std::string salvage_words(const LogSource& log, const Damage& damage) {
  if (damage.kind == Damage::Kind::nul) {
    return "";
  }
  const auto bytes = log.read(damage.offset, std::min(damage.length, kMaxSalvaged));
  std::string words;
  for (const auto& id : bytes ? whole_records(*bytes) : std::vector<std::string>{}) {
    words += (words.empty() ? "; whole records in it: " : ", ") + visible_line(id, 80);
  }
  return words;
}

std::optional<Reading> read_guarded(const Session& session, std::vector<Finding>& found) {
  Reading reading;
  std::vector<SameId> same;
  {
    const auto guard = session.read();
    if (!guard) {
      return std::nullopt;
    }
    const LogIndex& index = guard->index();
    find_in_tree(index, found);
    same = same_ids_in(index);
    reading = {guard->log(), index.scanned_size(), shown_damage(*guard), {}, !guard->tail_aged()};
    reading.places.reserve(index.size());
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      reading.places.emplace_back(index.entry(ordinal).offset, ordinal);
    }
  }
  std::sort(reading.places.begin(), reading.places.end());
  find_in_ids(*reading.log, std::move(same), found);
  return reading;
}

}  // namespace

Ordinal Reading::entry_before(std::uint64_t offset) const {
  const auto behind = std::upper_bound(places.begin(), places.end(), offset,
                                       [](std::uint64_t wanted, const auto& place) { return wanted < place.first; });
  return behind == places.begin() ? kNoEntry : std::prev(behind)->second;
}

std::optional<Reading> read_for_doctor(Session& session, std::vector<Finding>& found) {
  if (const auto read = session.refresh(Depth::index); !read) {
    found.push_back({"unreadable", visible_line(read.error().message, kTextLength)});
    return std::nullopt;
  }
  find_in_header(session.head(), found);
  return read_guarded(session, found);
}

void find_in_bytes(const Reading& reading, std::vector<Finding>& found) {
  for (const auto& damage : reading.damage) {
    const Ordinal before = reading.entry_before(damage.offset);
    const std::string place = before == kNoEntry ? "before the first entry" : fmt::format("after entry #{}", before);
    found.push_back({kind_of(damage.kind),
                     fmt::format("{} at offset {}, {}, {}{}", counted(damage.length, "byte"), damage.offset, place,
                                 words_of(damage.kind), salvage_words(*reading.log, damage)),
                     damage.offset, damage.length, before});
  }
}

void find_in_store(const Session& session, std::vector<Finding>& found) {
  for (Finding& finding : faults_of(session.store(), session.place())) {
    finding.text = visible_line(finding.text, kTextLength);
    found.push_back(std::move(finding));
  }
}

void find_in_pairs(const Session& session, const Catalog& catalog, std::vector<Finding>& found) {
  if (!session.format().takes("append")) {
    return;
  }
  auto unpaired = unpaired_parts(session);
  if (!unpaired || unpaired->empty()) {
    return;
  }
  const auto is_last = [](const Unpaired& one) { return one.is_last; };
  if (std::any_of(unpaired->begin(), unpaired->end(), is_last) &&
      check_liveness(session, catalog).state != Liveness::State::quiet) {
    std::erase_if(*unpaired, is_last);
  }
  const auto guard = session.read();
  for (const Unpaired& one : guard ? *unpaired : std::vector<Unpaired>()) {
    const bool is_call = one.part.kind == TurnPart::Kind::tool_call;
    const std::string tool = one.part.tool.empty() ? "a tool" : "the tool " + visible_line(one.part.tool, kNameLength);
    const std::string text = fmt::format(
        "{} {}, which models refuse; arborfs doctor --repair {} mends that",
        one.entry == kNoEntry ? "a record" : entry_words(guard->index(), one.entry),
        is_call ? "calls " + tool + ", and no result follows" : "has a result of " + tool + " without its call",
        visible_line(session.identity().id, kNameLength));
    Finding finding{is_call ? kCallWithoutResult : kResultWithoutCall, text};
    found.push_back(one.entry == kNoEntry ? std::move(finding)
                                          : finding_about(guard->index(), one.entry, finding.kind, finding.text));
  }
}

void find_erased(const Session& session, const Catalog& catalog, std::vector<Finding>& found) {
  const std::string file = session.place().file;
  const auto erased = catalog.state_of(session).erased.of(file);
  if (erased.empty()) {
    return;
  }
  std::string ids;
  for (const auto& entry : erased) {
    ids += (ids.empty() ? "" : ", ") + visible_line(entry.id, 80);
  }
  found.push_back(
      {"erased_entries",
       fmt::format("another program's rewrite erased {} that arborfs had appended: {}; kept in {}",
                   counted(erased.size(), "entry", "entries"), ids, catalog.state_of(session).erased.path_of(file)),
       std::nullopt, 0, kNoEntry});
}

std::vector<Finding> find_faults(Session& session, const Catalog& catalog) {
  std::vector<Finding> found;
  if (const auto reading = read_for_doctor(session, found)) {
    find_in_bytes(*reading, found);
    find_in_pairs(session, catalog, found);
    find_erased(session, catalog, found);
  }
  find_in_store(session, found);
  return found;
}

namespace {

std::string words_of(const Noted& noted) {
  std::vector<std::string> words;
  if (!noted.title.empty()) {
    words.push_back("the title '" + visible_line(noted.title, kNameLength) + "'");
  }
  if (!noted.tags.empty()) {
    words.push_back(counted(noted.tags.size(), "tag"));
  }
  if (!noted.labels.empty()) {
    words.push_back(counted(noted.labels.size(), "label"));
  }
  return join_words(words);
}

}  // namespace

std::vector<FileFinding> find_notes_of_gone(const Catalog& catalog,
                                            const std::function<bool(const Notes::Key&)>& is_kept) {
  std::map<std::string, std::set<std::string>> present;  // ids, by agent
  std::set<std::string> unknown;                         // agents
  for (const auto& store : catalog.stores()) {
    const std::string agent(store->format().agent);
    present.try_emplace(agent);
    if (const auto problem = problem_of(*store); problem && !problem->is_absent) {
      unknown.insert(agent);
    }
  }
  for (const ShownAt* shown : catalog.view()->shown) {
    Notes::Key key = Notes::key_of(*shown->session());
    present[key.agent].insert(std::move(key.session));
  }
  std::vector<FileFinding> found;
  for (const auto& [agent, ids] : present) {
    const auto notes =
        unknown.contains(agent) ? Result<Notes::OfSessionsPtr>(Errc::not_found, "") : catalog.notes().of_agent(agent);
    for (const auto& [id, noted] : notes ? **notes : Notes::OfSessions()) {
      if (!ids.contains(id) && !is_kept({agent, id})) {
        std::string text = fmt::format("arborfs keeps {} for the session {} of {}, which is not there any more",
                                       words_of(noted), visible_line(id, kNameLength), agent);
        found.push_back(
            {catalog.notes().path_of(agent), {.kind = "noted_session_gone", .text = std::move(text), .is_note = true}});
      }
    }
  }
  return found;
}

}  // namespace arborfs
