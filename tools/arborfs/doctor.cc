#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "core/base/error.h"
#include "core/base/words.h"
#include "core/doctor/examine.h"
#include "core/doctor/gone_folders.h"
#include "core/entry/text.h"
#include "core/formats/omp/edit/orphan_files.h"
#include "core/formats/omp/edit/repairer.h"
#include "core/formats/registry.h"
#include "core/store/store_parts.h"
#include "core/write/pair_repair.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/programs.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kShownOfAKind = 10;
constexpr std::size_t kLineLength = 4096;

/// The findings about one file, and its repairs.
struct Report {
  std::string session;  // "" for a leftover
  std::string path;
  std::string title;
  std::vector<Finding> findings;
  omp::RepairResult mended;
  std::string not_mended;  // why the repair failed, "" if it did not
  std::size_t left = 0;    // faults that remain
};

/// The findings that are faults, not notes.
std::size_t faults_in(const std::vector<Finding>& findings) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [](const Finding& finding) { return !finding.is_note; }));
}

bool is_of_pairs(const Finding& finding) {
  return finding.kind == kCallWithoutResult || finding.kind == kResultWithoutCall;
}

Result<std::vector<Listed>> patients(const CommandLine& line, Catalog& catalog) {
  if (line.sessions.empty()) {
    return all_sessions(catalog);
  }
  return listed_all(catalog, line.sessions);
}

bool belongs_to(const omp::OrphanFile& leftover, const std::vector<Listed>& sessions) {
  return std::any_of(sessions.begin(), sessions.end(), [&](const Listed& of) {
    const LogPlace place = of.session->place();
    return place.in() == leftover.place.in() && place.file == leftover.log_file;
  });
}

/// Examines sessions and files, and repairs them if the command line says so.
class Doctor {
 public:
  Doctor(const CommandLine& line, Catalog& catalog)
      : line_(line),
        catalog_(catalog),
        writer_(catalog, write_settings(line)),
        mender_(writer_, settings(line)),
        writers_(make_writer(catalog, write_settings(line))) {}

  std::vector<Report> run(const std::vector<Listed>& sessions, Terminal& io) {
    Progress progress(io, "examining sessions", sessions.size());
    for (const auto& of : sessions) {
      if (auto findings = examine_session(*of.session, catalog_); !findings.empty()) {
        const std::string title = session_name(*of.session, kTitleCharacters);
        reports_.push_back({of.id, log_path(*of.session), title, std::move(findings), {}, "", 0});
        mend_session(of.session);
      }
      progress.step();
    }
    for (auto& leftover : omp::find_leftovers(catalog_.stores())) {
      if (line_.sessions.empty() || belongs_to(leftover, sessions)) {
        look_at(leftover);
      }
    }
    if (line_.sessions.empty()) {
      look_at_stores();
      look_for_moved_projects(home_of(io));
    }
    return std::move(reports_);
  }

  /// What the stores hold under names of logs and that is no session; nothing if only some sessions were named.
  [[nodiscard]] std::vector<LeftOut> left_out() const {
    return line_.sessions.empty() ? catalog_.left_out() : std::vector<LeftOut>();
  }

 private:
  static omp::RepairSettings settings(const CommandLine& line) { return {line.dry_run, line.force, ""}; }

  void look_at(omp::OrphanFile& leftover) {
    const std::string path = omp::leftover_path(leftover, catalog_.stores().at(leftover.place.store)->paths());
    leftover.finding.text = visible_line(leftover.finding.text, kLineLength);
    reports_.push_back({"", visible_line(path, kLineLength), "", {leftover.finding}, {}, "", 0});
    mend(leftover, [] { return std::size_t{0}; });
  }

  /// Moves what killed writers left to the copies. Returns how many findings of the report this settles.
  std::size_t put_leftovers_away(Report& report) {
    std::size_t settled = 0;
    for (const Finding& finding : report.findings) {
      if (finding.leftover.empty() || (!line_.repair && !line_.dry_run)) {
        continue;
      }
      auto done = mender_.put_away_leftover(finding.leftover);
      if (!done) {
        report.not_mended = visible_line(done.error().message, kLineLength);
        continue;
      }
      report.mended.copy = done->copy;
      std::move(done->words.begin(), done->words.end(), std::back_inserter(report.mended.words));
      ++settled;
    }
    return line_.dry_run ? 0 : settled;
  }

  /// What a fork to OpenCode's files left is removed as its note says, by the writer of that format.
  void take_back_forks() {
    const auto is_of_fork = [](const Report& report) {
      return report.left > 0 && report.findings.front().kind == "unfinished_fork";
    };
    if (!line_.repair || line_.dry_run || std::none_of(reports_.begin(), reports_.end(), is_of_fork)) {
      return;
    }
    writers_->take_back_parts();
    for (Report& report : reports_) {
      std::error_code failed;
      if (is_of_fork(report) && !std::filesystem::exists(report.path, failed)) {
        report.left = 0;
        report.mended.words.emplace_back("what the fork left is removed");
      }
    }
  }

  void look_for_moved_projects(const std::string& home) {
    constexpr std::size_t kMostNamed = 3;
    for (const GoneFolder& gone : find_gone_folders(*catalog_.view(), home)) {
      std::string text = counted(gone.sessions, "session") + (gone.sessions == 1 ? " was" : " were") +
                         " started in this folder, which is gone; if the project moved, run:";
      for (std::size_t i = 0; i < std::min(gone.places.size(), kMostNamed); ++i) {
        text += (i == 0 ? " arborfs relocate " : ", or: arborfs relocate ") + shell_quoted(gone.path) + " " +
                shell_quoted(gone.places[i]);
      }
      Finding note{"moved_project", visible_line(text, kLineLength)};
      note.is_note = true;
      reports_.push_back({"", visible_line(gone.path, kLineLength), "", {std::move(note)}, {}, "", 0});
    }
  }

  /// Their files that are not sessions, and notes of sessions that they do not have. Nothing but leftovers is repaired.
  void look_at_stores() {
    for (const auto& store : catalog_.stores()) {
      std::vector<FileFinding> faults = faults_of(*store);
      const auto problem = problem_of(*store);
      if (faults.empty() && problem && !problem->is_absent) {
        faults.push_back({store->paths().sessions, {"unreadable", problem->words}});
      }
      report(std::move(faults));
    }
    const auto trashed = Trash("").list();
    report(find_notes_of_gone(catalog_, [&](const Notes::Key& key) {
      return std::any_of(trashed.begin(), trashed.end(), [&](const Trashed& one) {
        return one.agent == key.agent && (one.place.stem() == key.session || one.place.id_in_name() == key.session);
      });
    }));
    take_back_forks();
  }

  /// Findings about files, those of one file together.
  void report(std::vector<FileFinding> faults) {
    for (FileFinding& fault : faults) {
      fault.finding.text = visible_line(fault.finding.text, kLineLength);
      const std::string path = visible_line(fault.path, kLineLength);
      const bool is_same = !reports_.empty() && reports_.back().session.empty() && reports_.back().path == path;
      if (!is_same) {
        reports_.push_back({"", path, "", {}, {}, "", 0});
      }
      reports_.back().left += fault.finding.is_note ? 0 : 1;
      reports_.back().findings.push_back(std::move(fault.finding));
      if (!is_same) {
        reports_.back().left -= put_leftovers_away(reports_.back());
      }
    }
  }

  void mend_session(const SessionPtr& session) {
    if (const auto may = check_no_link(session->store(), session->place()); !may) {
      Report& report = reports_.back();
      report.left = report.findings.size();
      report.not_mended = line_.repair || line_.dry_run ? visible_line(may.error().message, kLineLength) : "";
      return;
    }
    if (session->format().is_plain) {
      mend(session, [&] { return faults_in(examine_session(*session, catalog_)); });
    } else {
      mend_foreign(session);
    }
    mend_pairs_of(session);
  }

  /// A session of another agent than omp and pi.
  void mend_foreign(const SessionPtr& session) {
    Report& report = reports_.back();
    report.left = faults_in(report.findings) - put_leftovers_away(report);
    const auto is_other = [](const Finding& one) { return !one.is_note && one.leftover.empty() && !is_of_pairs(one); };
    if (std::none_of(report.findings.begin(), report.findings.end(), is_other) || (!line_.repair && !line_.dry_run)) {
      return;
    }
    const bool lacks_entries = std::any_of(report.findings.begin(), report.findings.end(),
                                           [](const Finding& one) { return one.kind == "erased_entries"; });
    if (!lacks_entries) {
      report.not_mended = "arborfs repairs no sessions of " + std::string(session->agent());
    } else if (auto done = put_back(session); !done) {
      report.not_mended = visible_line(done.error().message, kLineLength);
    } else {
      std::move(done->words.begin(), done->words.end(), std::back_inserter(report.mended.words));
      report.mended.copy = done->copy;
      report.left = line_.dry_run ? report.left : faults_in(examine_session(*session, catalog_));
    }
  }

  /// Copies are made only of sessions that the user named.
  void mend_pairs_of(const SessionPtr& session) {
    Report& report = reports_.back();
    const auto unpaired = std::count_if(report.findings.begin(), report.findings.end(), is_of_pairs);
    if (unpaired == 0 || (!line_.repair && !line_.dry_run)) {
      return;
    }
    auto done = mend_pairs(*writers_, session, {!line_.sessions.empty(), line_.dry_run, line_.force});
    if (!done) {
      report.not_mended = visible_line(done.error().message, kLineLength);
      return;
    }
    report.mended.words.push_back(std::move(done->words));
    report.left -= line_.dry_run ? 0 : std::min(report.left, static_cast<std::size_t>(unpaired));
  }

  /// Puts the entries back that another program's rewrite has erased.
  Result<omp::RepairResult> put_back(const SessionPtr& session) {
    const std::string words = "put the entries that another program's rewrite had erased back at the end of the log";
    if (line_.dry_run) {
      return omp::RepairResult{{words}, ""};
    }
    ASSIGN_OR_RETURN(auto copy, mender_.keep_copy_of(*session));
    RETURN_IF_ERROR(writers_->put_back_erased(session, line_.force));
    return omp::RepairResult{{words}, std::move(copy)};
  }

  /// Repairs the subject of the last report.
  template <class Patient, class CountAgain>
  void mend(const Patient& patient, CountAgain count_again) {
    Report& report = reports_.back();
    report.left = faults_in(report.findings);
    if (!line_.repair && !line_.dry_run) {
      return;
    }
    auto mended = mender_.mend(patient);
    if (!mended) {
      report.not_mended = visible_line(mended.error().message, kLineLength);
      return;
    }
    report.mended = std::move(*mended);
    if (!line_.dry_run && !report.mended.words.empty()) {
      report.left = count_again();
    }
  }

  const CommandLine& line_;
  Catalog& catalog_;
  omp::Writer writer_;
  omp::Repairer mender_;
  const std::unique_ptr<Writer> writers_;
  std::vector<Report> reports_;
};

std::string finding_json(const Report& report, const Finding& finding) {
  auto json = JsonText::object();
  const std::string path = finding.leftover.empty() ? report.path : visible_line(finding.leftover, kLineLength);
  json.add("session", report.session).add("path", path).add("kind", finding.kind);
  json.add_json("offset", finding.offset ? std::to_string(*finding.offset) : "null");
  json.add_json("length", finding.offset ? std::to_string(finding.length) : "null");
  json.add_json("entry", finding.entry == kNoEntry ? "null" : std::to_string(finding.entry));
  json.add_json("note", finding.is_note ? "true" : "false");
  return json.add("text", finding.text).str();
}

std::string mended_json(const Report& report) {
  auto done = JsonText::array();
  for (const auto& words : report.mended.words) {
    done.item(words);
  }
  auto json = JsonText::object().add("path", report.path).add_json("done", done.str());
  json.add("copy", report.mended.copy);
  return report.not_mended.empty() ? json.str() : json.add("error", report.not_mended).str();
}

std::string left_out_json(const std::vector<LeftOut>& left_out) {
  auto json = JsonText::lines();
  for (const LeftOut& file : left_out) {
    json.item_json(JsonText::object().add("path", file.path).add("reason", file.reason).str());
  }
  return json.str();
}

void print_json(const std::vector<Report>& reports, const std::vector<LeftOut>& left_out, std::size_t examined,
                const CommandLine& line, Terminal& io) {
  auto findings = JsonText::lines();
  auto mended = JsonText::lines();
  std::size_t left = 0;
  for (const auto& report : reports) {
    for (const auto& finding : report.findings) {
      findings.item_json(finding_json(report, finding));
    }
    if (!report.mended.words.empty() || !report.not_mended.empty()) {
      mended.item_json(mended_json(report));
    }
    left += report.left;
  }
  auto json = JsonText::object().add("sessions", examined).add_json("findings", findings.str());
  json.add_json("leftOut", left_out_json(left_out));
  if (line.repair || line.dry_run) {
    json.add("dryRun", line.dry_run).add_json("mended", mended.str()).add("left", left);
  }
  io.out << terminal_safe_json(json.str()) << "\n";
}

void print_mended(const Report& report, const CommandLine& line, Terminal& io) {
  for (const auto& words : report.mended.words) {
    io.out << "  " << styled(io, Style::bold, line.dry_run ? "to repair" : "repaired") << ": " << words << "\n";
  }
  if (!report.mended.copy.empty()) {
    io.out << "  as it was: " << visible_line(report.mended.copy, kLineLength) << "\n";
  }
  if (!report.not_mended.empty()) {
    io.out << "  " << styled(io, Style::bold, "not repaired") << ": " << report.not_mended << "\n";
  }
}

void print_report(const Report& report, Terminal& io) {
  io.out << styled(io, Style::bold, report.path) << "\n";
  if (!report.title.empty()) {
    io.out << "  " << styled(io, Style::dim, report.title) << "\n";
  }
  std::map<std::string_view, std::size_t> shown;
  for (const auto& finding : report.findings) {
    if (shown[finding.kind]++ < kShownOfAKind) {
      const Style style = finding.is_note ? Style::dim : Style::red;
      io.out << "  " << styled(io, style, std::string(finding.kind)) << ": " << finding.text << "\n";
    }
  }
  for (const auto& [kind, count] : shown) {
    if (count > kShownOfAKind) {
      io.out << "  " << kind << ": and " << grouped(count - kShownOfAKind) << " more; --json lists all\n";
    }
  }
}

/// One line for each reason, with the first path.
void print_left_out(const std::vector<LeftOut>& left_out, Terminal& io) {
  std::map<std::string, std::pair<std::size_t, std::string>> by_reason;
  for (const LeftOut& file : left_out) {
    const auto row = by_reason.try_emplace(file.reason, 0, file.path).first;
    ++row->second.first;
  }
  for (const auto& [reason, found] : by_reason) {
    const auto& [number, path] = found;
    io.out << "left out, " << visible_line(reason, kLineLength) << ": " << visible_line(path, kLineLength)
           << (number > 1 ? " and " + grouped(number - 1) + " more; --json lists all" : "") << "\n";
  }
}

std::string result_words(const std::vector<Report>& reports, const CommandLine& line) {
  std::size_t faults = 0;
  std::size_t files = 0;
  std::size_t notes = 0;
  std::size_t left = 0;
  for (const auto& report : reports) {
    const std::size_t in_report = faults_in(report.findings);
    faults += in_report;
    files += in_report == 0 ? 0 : 1;
    notes += report.findings.size() - in_report;
    left += report.left;
  }
  const std::string noted = notes == 0 ? "" : ", " + counted(notes, "note");
  if (faults == 0) {
    return "no damage found" + noted;
  }
  const std::string found = counted(faults, "finding") + " in " + counted(files, "file") + noted;
  if (!line.repair || line.dry_run) {
    return found;
  }
  return found + ", " + (left == 0 ? "none" : grouped(left)) + " left";
}

void print_words(const std::vector<Report>& reports, const std::vector<LeftOut>& left_out, std::size_t examined,
                 const CommandLine& line, Terminal& io) {
  for (const auto& report : reports) {
    print_report(report, io);
    print_mended(report, line, io);
  }
  print_left_out(left_out, io);
  io.out << counted(examined, "session") << " examined, " << result_words(reports, line) << "\n";
}

}  // namespace

int run_doctor(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  const auto sessions = patients(line, **catalog);
  if (!sessions) {
    return fail(io, sessions.error());
  }
  Doctor doctor(line, **catalog);
  const auto reports = doctor.run(*sessions, io);
  const auto left_out = doctor.left_out();
  line.json ? print_json(reports, left_out, sessions->size(), line, io)
            : print_words(reports, left_out, sessions->size(), line, io);
  const bool clean = std::all_of(reports.begin(), reports.end(), [](const Report& report) { return report.left == 0; });
  return clean ? kDone : kFailed;
}

}  // namespace arborfs::cli
