#include "core/formats/omp/edit/repairer.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/words.h"
#include "core/doctor/examine.h"
#include "core/entry/text.h"
#include "core/entry/views.h"
#include "core/formats/omp/edit/header_text.h"
#include "core/formats/omp/edit/log_faults.h"
#include "core/formats/omp/store/log_change.h"
#include "core/json/change_member.h"
#include "core/json/date.h"
#include "core/json/document.h"
#include "core/json/json_cursor.h"
#include "core/json/scan.h"
#include "core/os/file_tree.h"
#include "core/os/state_dir.h"
#include "core/os/temp_file.h"
#include "core/session/catalog.h"
#include "core/session/liveness.h"
#include "core/store/finding.h"
#include "core/store/store_parts.h"
#include "core/views/session_facts.h"

namespace arborfs::omp {
namespace {

constexpr std::size_t kShown = 200;

/// `<time>_<id>`, as both generations name their logs (omp/FORMAT.md F3).
struct NameParts {
  std::string id;
  std::optional<std::int64_t> time_ms;
};

NameParts parts_of(const std::string& stem) {
  static const std::regex kForm(R"((\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z_(.+))");
  std::smatch match;
  if (!std::regex_match(stem, match, kForm)) {
    return {stem, std::nullopt};
  }
  return {match[6], json::parse_date(match[1].str() + "T" + match[2].str() + ":" + match[3].str() + ":" +
                                     match[4].str() + "." + match[5].str() + "Z")};
}

/// The string after `"cwd":`, wherever that is.
std::string cwd_in(std::string_view remains) {
  constexpr std::string_view kKey = "\"cwd\":";
  for (std::size_t at = remains.find(kKey); at != std::string_view::npos; at = remains.find(kKey, at + 1)) {
    const std::size_t begin = remains.find_first_not_of(' ', at + kKey.size());
    if (begin == std::string_view::npos || remains[begin] != '"') {
      continue;
    }
    const auto value = json::scan_value(remains, begin);
    const auto text = value.verdict == json::ValueScanner::Verdict::value
                          ? skim::string_value(remains.substr(begin, value.end - begin))
                          : std::nullopt;
    if (text && text->starts_with('/')) {
      return *text;
    }
  }
  return "";
}

std::string cwd_of_terminal(const Session& session) {
  for (const Breadcrumb& crumb : breadcrumbs_of(session.store())) {
    if (crumb.place.has_names_of(session.place()) && crumb.cwd.starts_with('/')) {
      return crumb.cwd;
    }
  }
  return "";
}

/// The working directory of the other sessions in its folder; "" if they differ or there are none.
std::string cwd_of_neighbours(const Session& session, const Catalog& catalog) {
  const auto logs = catalog.stores().logs(session.place().in(), {});
  std::string common;
  for (const FoundLog& log : logs ? *logs : std::vector<FoundLog>{}) {
    const auto neighbour = catalog.at(log.place);
    const std::string cwd = neighbour ? neighbour->head().header.cwd : "";
    if (cwd.empty()) {
      continue;
    }
    if (!common.empty() && cwd != common) {
      return "";
    }
    common = cwd;
  }
  return common;
}

struct KnownCwd {
  std::string cwd;
  std::string_view words;
};

KnownCwd find_cwd(const Session& session, const Catalog& catalog, std::string_view remains) {
  if (auto cwd = cwd_in(remains); !cwd.empty()) {
    return {std::move(cwd), "from the rest of the old header"};
  }
  if (auto cwd = cwd_of_terminal(session); !cwd.empty()) {
    return {std::move(cwd), "from the terminal that used the session last"};
  }
  if (auto cwd = cwd_of_neighbours(session, catalog); !cwd.empty()) {
    return {std::move(cwd), "from the other sessions in the folder"};
  }
  return {"", "because no other is known"};
}

/// Adds the id from the log's name to a header without id; a header with an id stays unchanged. Errors:
/// invalid_argument if it is not an object.
Result<std::string> with_session_id(std::string_view header, const std::string& stem) {
  return skim::string_value(skim::member(header, "id"))
             ? Result<std::string>(std::string(header))
             : json::change_member(header, "id", json::stringify_string(parts_of(stem).id));
}

/// A header for a log that has lost its own, from its remains and the files around it (FAILURES.md F3).
struct LostHeader {
  std::string json;   // without line feed
  std::string words;  // where its parts come from, safe to show
};

/// `remains` are the bytes of the log up to its first entry. The id and the time come from the log's name. The working
/// directory comes from `remains`, from the terminal that used the session last, or from the sessions in the same
/// folder if they agree. `has_ids`: the entries have ids, so the log is of the present version.
LostHeader make_lost_header(const Session& session, const Catalog& catalog, std::string_view remains, bool has_ids) {
  const NameParts parts = parts_of(session.stem());
  const KnownCwd source = find_cwd(session, catalog, remains);
  NewHeader header;
  header.id = parts.id;
  header.timestamp_ms = parts.time_ms.value_or(session.mtime_ns() / 1'000'000);
  header.cwd = source.cwd;
  std::string line = new_header_lines(header);
  line.pop_back();
  if (!has_ids) {
    if (auto unversioned = json::change_member(line, "version", std::nullopt)) {
      line = std::move(*unversioned);
    }
  }
  return {std::move(line), "put in a new session header with the id of the log's name and the working directory '" +
                               visible_line(source.cwd, kShown) + "', " + std::string(source.words)};
}

/// No entry is longer. A longer run is left for a person to judge.
constexpr std::uint64_t kLongestRun = 64 << 20;
constexpr std::uint64_t kLine = 4096;
constexpr std::uint64_t kMostRemains = 1 << 20;
constexpr std::string_view kBom = "\xEF\xBB\xBF";

bool has_only_blanks(std::string_view bytes) {
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
        if (has_only_blanks(gap)) {
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
    return is_seen && has_only_blanks(blanks) ? Place(offset - blanks.size()) : Place();
  }

  /// The offset after the line's feed, or the log's end, if only blanks follow `offset` on the line.
  Result<Place> line_end(std::uint64_t offset) const {
    ASSIGN_OR_RETURN(const auto behind, read(offset, std::min(patient_.size, offset + kLine)));
    const std::size_t feed = behind.find('\n');
    const bool is_seen = feed != std::string::npos || offset + behind.size() == patient_.size;
    const std::uint64_t end = feed == std::string::npos ? patient_.size : offset + feed + 1;
    return is_seen && has_only_blanks(std::string_view(behind).substr(0, feed)) ? Place(end) : Place();
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

constexpr mode_t kPrivateFile = 0600;
constexpr std::size_t kCopyStep = 1 << 20;
/// Not in the context (omp/FORMAT.md C19), but the log's last entry, after which agents continue (omp/FORMAT.md C1).
constexpr std::string_view kSignpost = R"({"type":"custom","customType":"arborfs.resume","data":{}})";

/// A name that sorts by time: 2026-02-16T10-20-30-000Z.
std::string folder_of_now() {
  std::string name = json::iso_time(now_ms());
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '.'; }, '-');
  return name;
}

Result<void> copy_bytes(const File& from, Disk& disk, int to) {
  std::string buffer(kCopyStep, '\0');
  for (std::uint64_t at = 0;;) {
    ASSIGN_OR_RETURN(const auto got, from.read_at(at, buffer));
    RETURN_IF_ERROR(write_all(disk, to, std::string_view(buffer).substr(0, got)));
    at += got;
    if (got < buffer.size()) {
      return disk.sync(to);
    }
  }
}

Error live_error(const Liveness& liveness) {
  return {Errc::busy, liveness_words(liveness) + (liveness.state == Liveness::State::live
                                                      ? "; end that program first"
                                                      : "; end that program first, or use --force")};
}

}  // namespace

Result<RepairPlan> plan_repairs(const Session& session, const Catalog& catalog) {
  ASSIGN_OR_RETURN(auto patient, look_at(session));
  return Planner(session, catalog, std::move(patient)).plan();
}

Repairer::Repairer(Writer& writer, RepairSettings settings)
    : writer_(writer),
      settings_(std::move(settings)),
      copies_((settings_.copies.empty() ? state_path("repaired") : settings_.copies) + "/" + folder_of_now()) {}

arborfs::Store& Repairer::store_of(const LogPlace& place) const {
  return *writer_.catalog().stores().at(place.store);
}

/// The folder for copies of files in the place's folder. Two stores may have folders and files of the same names.
std::string Repairer::copies_of(const LogPlace& place) const {
  const std::string store = place.store == 0 ? "" : "/store-" + std::to_string(place.store + 1);
  return folder_path(copies_ + store, place.folder);
}

/// Makes a synced copy; replaces one of an earlier attempt.
Result<std::string> Repairer::keep_copy(const File& file, const LogPlace& place) {
  const std::string path = copies_of(place);
  Disk& disk = store_of(place).disk();
  ASSIGN_OR_RETURN(auto folder, make_private_folder(disk, path));
  static_cast<void>(disk.remove(folder, place.file));
  ASSIGN_OR_RETURN(auto fd, disk.create(folder, place.file, kPrivateFile));
  RETURN_IF_ERROR(copy_bytes(file, disk, fd.get()));
  RETURN_IF_ERROR(disk.sync_folder(folder));
  return path + "/" + place.file;
}

Result<std::string> Repairer::keep_copy_of(const Session& session) {
  const LogPlace place = session.place();
  ASSIGN_OR_RETURN(const auto folder, session.store().folder(place));
  ASSIGN_OR_RETURN(const auto log, File::open_in(folder, place.file));
  return keep_copy(log, place);
}

Result<RepairResult> Repairer::mend(const SessionPtr& session) {
  RETURN_IF_ERROR(session->refresh(Depth::index));
  const Liveness liveness = check_liveness(*session, writer_.catalog());
  const bool may =
      liveness.state == Liveness::State::quiet || (liveness.state == Liveness::State::maybe && settings_.maybe_live);
  if (!may) {
    return live_error(liveness);
  }
  RepairResult mended;
  RETURN_IF_ERROR(rewrite(session, mended));
  if (auto done = lead_out_of_dead_end(session, mended); !done) {
    if (mended.words.empty()) {
      return done.error();
    }
    mended.words.push_back("the leaf stays at its dead end: " + visible_line(done.error().message, 400));
  }
  return mended;
}

Result<void> Repairer::rewrite(const SessionPtr& session, RepairResult& mended) {
  ASSIGN_OR_RETURN(auto first_look, plan_repairs(*session, writer_.catalog()));
  if (first_look.edits.empty() || settings_.dry_run) {
    mended.words = std::move(first_look.words);
    return {};
  }
  const auto plan = [&](const Session& now) -> Result<std::vector<LogEdit>> {
    ASSIGN_OR_RETURN(auto copy, keep_copy_of(now));
    ASSIGN_OR_RETURN(auto repairs, plan_repairs(now, writer_.catalog()));
    mended = {std::move(repairs.words), std::move(copy)};
    return std::move(repairs.edits);
  };
  return writer_.edit(session, plan, settings_.maybe_live);
}

Result<void> Repairer::lead_out_of_dead_end(const SessionPtr& session, RepairResult& mended) {
  std::string target;
  std::string words;
  {
    const Ordinal message = message_behind_dead_end(*session, writer_.catalog());
    const auto guard = session->read();
    if (message == kNoEntry || !guard || message > guard->index().size()) {
      return {};
    }
    target = "#" + std::to_string(message);
    words = "put an entry after the newest message, " + entry_words(guard->index(), message) +
            ", from which agents continue";
  }
  if (!settings_.dry_run) {
    ASSIGN_OR_RETURN(auto signpost,
                     json_command(std::string(kSignpost), dialect_of(session->read()->index()), now_ms()));
    signpost.force = settings_.maybe_live;
    if (mended.copy.empty()) {
      ASSIGN_OR_RETURN(mended.copy, keep_copy_of(*session));
    }
    RETURN_IF_ERROR(writer_.append(session, std::move(signpost), target));
  }
  mended.words.push_back(std::move(words));
  return {};
}

Result<RepairResult> Repairer::mend(const OrphanFile& leftover) {
  const arborfs::Store& store = store_of(leftover.place);
  RETURN_IF_ERROR(check_writable(store.format()));
  ASSIGN_OR_RETURN(const auto folder, leftover.kind == OrphanFile::Kind::blob
                                          ? Dir::open_root(store.paths().blobs)
                                          : store.folder({leftover.place.folder, leftover.log_file}));
  RepairResult mended;
  RETURN_IF_ERROR(clear_away(folder, leftover, mended));
  return mended;
}

Result<void> Repairer::clear_away(const Dir& folder, const OrphanFile& leftover, RepairResult& mended) {
  const bool is_only_copy = leftover.kind == OrphanFile::Kind::backup && !folder.stat(leftover.log_file);
  mended.words.push_back(leftover.kind == OrphanFile::Kind::lock ? "the lock is removed"
                         : is_only_copy ? "the file is renamed to " + visible_line(leftover.log_file, NAME_MAX) +
                                              ", which brings the session back"
                                        : "the file is moved to the copies");
  if (settings_.dry_run) {
    return {};
  }
  if (leftover.kind == OrphanFile::Kind::blob) {
    return put_away(folder, {"blobs", leftover.place.file, leftover.place.store}, mended);
  }
  // Takes over a lock without owner as an agent would. Releasing it removes the lock file.
  const arborfs::Store& store = store_of(leftover.place);
  const std::string path = folder_path(store.paths().sessions, leftover.place.folder);
  ASSIGN_OR_RETURN(const auto lock, FileLock::take(store.disk(), folder, path, leftover.log_file));
  if (leftover.kind == OrphanFile::Kind::lock) {
    return {};
  }
  return is_only_copy ? bring_back(store.disk(), folder, leftover) : put_away(folder, leftover.place, mended);
}

Result<RepairResult> Repairer::put_away_leftover(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  ASSIGN_OR_RETURN(const auto folder, Dir::open_root(path.substr(0, slash)));
  RepairResult mended;
  mended.words.push_back(visible_line(name, NAME_MAX) + " is moved to the copies");
  if (settings_.dry_run) {
    return mended;
  }
  if (leftover_files(folder, [&](std::string_view one) { return one == name; }).empty() && !is_leftover(folder, name)) {
    return Error{Errc::busy, "a program uses " + path + "; end it and try again"};
  }
  Disk& disk = store_of({}).disk();
  ASSIGN_OR_RETURN(const auto copies, make_private_folder(disk, copies_ + "/leftovers"));
  RETURN_IF_ERROR(copy_tree(disk, folder, name, copies, name));
  RETURN_IF_ERROR(disk.sync_folder(copies));
  mended.copy = copies_ + "/leftovers/" + name;
  RETURN_IF_ERROR(remove_tree(disk, folder, name));
  RETURN_IF_ERROR(disk.sync_folder(folder));
  return mended;
}

Result<void> Repairer::bring_back(Disk& disk, const Dir& folder, const OrphanFile& leftover) {
  RETURN_IF_ERROR(disk.rename(folder, leftover.place.file, folder, leftover.log_file, Disk::Existing::keep));
  return disk.sync_folder(folder);
}

Result<void> Repairer::put_away(const Dir& folder, const LogPlace& place, RepairResult& mended) {
  ASSIGN_OR_RETURN(const auto file, File::open_in(folder, place.file));
  ASSIGN_OR_RETURN(mended.copy, keep_copy(file, place));
  Disk& disk = store_of(place).disk();
  RETURN_IF_ERROR(disk.remove(folder, place.file));
  return disk.sync_folder(folder);
}

}  // namespace arborfs::omp
