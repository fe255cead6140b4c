#include "core/formats/omp/doctor/repairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/number_format.h"
#include "core/base/result_macros.h"
#include "core/formats/omp/doctor/lost_header.h"
#include "core/formats/omp/write/header_text.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/render/text.h"
#include "core/render/views.h"
#include "core/store/finding.h"
#include "core/views/session_facts.h"

namespace arborfs {
namespace {

/// No entry is longer. A longer run is left for a person to judge.
constexpr std::uint64_t kLongestRun = 64 << 20;
constexpr std::uint64_t kLine = 4096;
constexpr std::uint64_t kMostRemains = 1 << 20;
constexpr std::string_view kBom = "\xEF\xBB\xBF";

bool is_blank(std::string_view bytes) {
  return bytes.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// Consecutive dropped bytes, on one line or several.
struct Run {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool only_nul = true;
};

/// One state of a log: everything that is needed to plan its repair.
struct Patient {
  std::shared_ptr<const LogSource> log;
  Header header;
  std::uint64_t size = 0;
  std::uint64_t first_entry = 0;   // its offset; `size` if there are no entries
  std::uint64_t last_entry = 0;    // the same
  std::uint64_t header_entry = 0;  // offset of the first entry that is a session header; `size` if there is none
  std::uint64_t header_length = 0;
  std::vector<Damage> damage;
  bool gives_ids = false;
  bool has_ids = false;
  bool is_young = false;  // another program may still be writing its end
};

Result<Patient> look_at(const Session& session) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  RETURN_IF_ERROR(check_writable(guard.format()));
  if (guard.log()->is_decoded()) {
    return Error{Errc::read_only, "arborfs does not write to logs in UTF-16"};
  }
  const LogIndex& index = guard.index();
  if (index.header().valid && !index.header().writable_version) {
    const std::string& problem = index.header().problem;
    return Error{Errc::read_only, problem.empty() ? "arborfs does not write to logs of a version above 3" : problem};
  }
  Patient patient;
  patient.log = guard.log();
  patient.header = index.header();
  patient.size = guard.stat().size;
  patient.damage = shown_damage(guard);
  patient.gives_ids = index.gives_ids();
  patient.is_young = !guard.tail_aged();
  patient.first_entry = patient.last_entry = patient.header_entry = patient.size;
  if (index.size() != kNoEntry) {
    patient.first_entry = index.entry(1).offset;
    patient.last_entry = index.entry(index.size()).offset;
  }
  for (Ordinal ordinal = index.size(); ordinal != kNoEntry; --ordinal) {
    if (index.entry(ordinal).type == EntryType::session) {
      patient.header_entry = index.entry(ordinal).offset;
      patient.header_length = index.length(ordinal);
    }
  }
  for (Ordinal ordinal = 1; ordinal <= index.size() && !patient.has_ids; ++ordinal) {
    patient.has_ids = index.id(ordinal).kind != EntryId::Kind::missing;
  }
  return patient;
}

class Planner {
 public:
  Planner(const Session& session, const Catalog& catalog, Patient patient)
      : session_(session), catalog_(catalog), patient_(std::move(patient)) {}

  Result<RepairPlan> plan() {
    if (patient_.is_young && patient_.size != 0 && !ends_with_feed(patient_.size)) {
      return Error{Errc::busy, "another program is writing to the log; try again in a few seconds"};
    }
    for (const auto step : {&Planner::mend_runs, &Planner::mend_header, &Planner::end_last_line, &Planner::give_back}) {
      RETURN_IF_ERROR((this->*step)());
    }
    std::stable_sort(plan_.edits.begin(), plan_.edits.end(),
                     [](const LogEdit& a, const LogEdit& b) { return a.offset < b.offset; });
    return std::move(plan_);
  }

 private:
  [[nodiscard]] Result<std::string> read(std::uint64_t begin, std::uint64_t end) const {
    return patient_.log->read(begin, end - begin);
  }

  Result<std::vector<Run>> runs() const {
    std::vector<Run> found;
    for (const Damage& damage : patient_.damage) {
      const bool nul = damage.kind == Damage::Kind::nul;
      const std::uint64_t end = damage.offset + damage.length;
      if (damage.kind == Damage::Kind::too_tangled || (!nul && damage.length > kLongestRun)) {
        continue;
      }
      if (!found.empty() && damage.offset - found.back().end <= kLine) {
        ASSIGN_OR_RETURN(const auto gap, read(found.back().end, damage.offset));
        if (is_blank(gap)) {
          found.back().end = end;
          found.back().only_nul = found.back().only_nul && nul;
          continue;
        }
      }
      found.push_back({damage.offset, end, nul});
    }
    return found;
  }

  using Place = std::optional<std::uint64_t>;

  [[nodiscard]] bool ends_with_feed(std::uint64_t end) const {
    const auto last = read(end - 1, end);
    return last && *last == "\n";
  }

  /// The start of the line, if only blanks precede `offset` on it.
  Result<Place> line_begin(std::uint64_t offset) const {
    ASSIGN_OR_RETURN(const auto before, read(offset - std::min(offset, kLine), offset));
    const std::size_t feed = before.rfind('\n');
    const std::string_view blanks = std::string_view(before).substr(feed == std::string::npos ? 0 : feed + 1);
    const bool is_seen = feed != std::string::npos || before.size() == offset;
    return is_seen && is_blank(blanks) ? Place(offset - blanks.size()) : Place();
  }

  /// The offset after the line's feed, or the log's end, if only blanks follow `offset` on the line.
  Result<Place> line_end(std::uint64_t offset) const {
    ASSIGN_OR_RETURN(const auto behind, read(offset, std::min(patient_.size, offset + kLine)));
    const std::size_t feed = behind.find('\n');
    const bool is_seen = feed != std::string::npos || offset + behind.size() == patient_.size;
    const std::uint64_t end = feed == std::string::npos ? patient_.size : offset + feed + 1;
    return is_seen && is_blank(std::string_view(behind).substr(0, feed)) ? Place(end) : Place();
  }

  Result<void> mend_runs() {
    ASSIGN_OR_RETURN(const auto found, runs());
    for (const Run& run : found) {
      RETURN_IF_ERROR(mend_run(run));
    }
    return {};
  }

  Result<void> mend_run(const Run& run) {
    ASSIGN_OR_RETURN(const auto bytes, run.only_nul ? Result<std::string>(std::string()) : read(run.begin, run.end));
    ASSIGN_OR_RETURN(const auto begin, line_begin(run.begin));
    ASSIGN_OR_RETURN(const auto end, line_end(run.end));
    const auto records = salvage(bytes);
    if (!records.empty() && patient_.gives_ids) {
      return {};  // another record would change the ids of all entries after it
    }
    std::string text = begin ? "" : "\n";
    for (const auto& record : records) {
      text += record + "\n";
    }
    const bool keeps_end = end && !records.empty() && ends_with_feed(*end);  // the line may end in LF or CRLF
    if (keeps_end) {
      text.pop_back();
    }
    plan_.words.push_back(words_of(run, records.size()));
    plan_.edits.push_back({begin.value_or(run.begin), keeps_end ? run.end : end.value_or(run.end), std::move(text)});
    return {};
  }

  static std::string words_of(const Run& run, std::size_t records) {
    const std::string where = fmt::format("{} at offset {}", counted(run.end - run.begin, "byte"), run.begin);
    return records == 0 ? "cut out " + where
                        : fmt::format("put {} from {} on {} own", counted(records, "whole record"), where,
                                      records == 1 ? "a line of its" : "lines of their");
  }

  /// The whole records in `bytes` that the log has nowhere else. Keeps a session header among them for mend_header.
  std::vector<std::string> salvage(std::string_view bytes) {
    std::vector<std::string> records;
    for (const WholeRecord& record : find_whole_records(bytes)) {
      std::string text(bytes.substr(record.begin, record.end - record.begin));
      std::replace(text.begin(), text.end(), '\n', ' ');  // only between tokens: JSON strings contain none
      if (skim::string_value(skim::member(text, "type")) == "session") {
        lost_header_ = lost_header_.empty() ? text : lost_header_;
      } else if (taken_.insert(record.id).second && !has_entry(record.id)) {
        records.push_back(std::move(text));
      }
    }
    return records;
  }

  [[nodiscard]] bool has_entry(const std::string& id) const {
    const auto guard = session_.read();
    return guard && guard->index().find(id) != kNoEntry;
  }

  Result<void> mend_header() {
    if (patient_.header.valid || patient_.size == 0) {
      return {};
    }
    if (!lost_header_.empty()) {
      return put_header(lost_header_, "put the session header on a line of its own at the head of the log");
    }
    if (patient_.header_entry != patient_.size) {
      return move_header();
    }
    ASSIGN_OR_RETURN(const auto remains, read(0, std::min(patient_.first_entry, kMostRemains)));
    const auto made = make_lost_header(session_, catalog_, remains, patient_.has_ids);
    return put_header(made.json, made.words);
  }

  /// Moves a header that is not at the head of the log, or adds the id that it lacks.
  Result<void> move_header() {
    const std::uint64_t behind = patient_.header_entry + patient_.header_length;
    ASSIGN_OR_RETURN(const auto json, read(patient_.header_entry, behind));
    ASSIGN_OR_RETURN(const auto begin, line_begin(patient_.header_entry));
    ASSIGN_OR_RETURN(const auto end, line_end(behind));
    ASSIGN_OR_RETURN(const auto header, with_session_id(json, session_.stem()));
    plan_.edits.push_back({begin.value_or(patient_.header_entry), end.value_or(behind), begin && end ? "" : "\n"});
    return put_header(header, header == json ? "put the session header at the head of the log"
                                             : "put the id of the log's name into the session header");
  }

  /// Puts the header before everything but a title slot and a byte order mark.
  Result<void> put_header(const std::string& json, std::string words) {
    ASSIGN_OR_RETURN(const auto head, read(0, std::min(patient_.size, kMostRemains)));
    std::uint64_t offset = head.starts_with(kBom) ? kBom.size() : 0;
    if (patient_.header.has_slot) {
      offset = head.find('\n') + 1;
    }
    plan_.edits.insert(plan_.edits.begin(), LogEdit{offset, offset, json + "\n"});
    plan_.words.push_back(std::move(words));
    return {};
  }

  Result<void> give_back() {
    std::string lines;
    std::size_t count = 0;
    for (const auto& entry : catalog_.state_of(session_).erased.of(session_.place().file)) {
      if (taken_.insert(entry.id).second && !has_entry(entry.id)) {
        lines += entry.json + "\n";
        ++count;
      }
    }
    if (count != 0) {
      plan_.edits.push_back({patient_.last_entry, patient_.last_entry, std::move(lines)});
      plan_.words.push_back(fmt::format("put {} that another program's rewrite had erased back before the last entry",
                                        counted(count, "entry", "entries")));
    }
    return {};
  }

  Result<void> end_last_line() {
    const bool is_cut = std::any_of(plan_.edits.begin(), plan_.edits.end(), [&](const LogEdit& edit) {
      return edit.end == patient_.size && edit.offset != edit.end;
    });
    if (is_cut || patient_.size == 0 || ends_with_feed(patient_.size)) {
      return {};
    }
    plan_.edits.push_back({patient_.size, patient_.size, "\n"});
    plan_.words.emplace_back("put a newline after the last record");
    return {};
  }

  const Session& session_;
  const Catalog& catalog_;
  const Patient patient_;
  RepairPlan plan_;
  std::set<std::string> taken_;
  std::string lost_header_;
};

}  // namespace

Result<RepairPlan> plan_repairs(const Session& session, const Catalog& catalog) {
  ASSIGN_OR_RETURN(auto patient, look_at(session));
  return Planner(session, catalog, std::move(patient)).plan();
}

}  // namespace arborfs
