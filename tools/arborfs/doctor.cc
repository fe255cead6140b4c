#include <algorithm>
#include <map>

#include "core/render/text.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/examine.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/verbs.h"
#include "tools/arborfs/words.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kShownOfAKind = 10;
constexpr std::size_t kLineLength = 4096;

/// Everything found about one file.
struct Report {
  std::string session;  // "" for a leftover
  std::string path;
  std::string title;
  std::vector<Finding> findings;
};

Result<std::vector<Listed>> patients(const CommandLine& line, const Catalog& catalog) {
  if (line.sessions.empty()) {
    return all_sessions(catalog);
  }
  std::vector<Listed> chosen;
  for (const auto& spelled : line.sessions) {
    const auto session = catalog.find(spelled);
    if (!session) {
      return session.error();
    }
    chosen.push_back(listed(catalog, *session));
  }
  return chosen;
}

bool belongs_to(const Leftover& leftover, const std::vector<Listed>& sessions) {
  return std::any_of(sessions.begin(), sessions.end(), [&](const Listed& of) {
    const LogPlace place = of.session->place();
    return place.folder == leftover.place.folder && place.file == leftover.log_file;
  });
}

std::vector<Report> examine(const CommandLine& line, const std::vector<Listed>& sessions, const Catalog& catalog,
                            Terminal& io) {
  Progress progress(io, "examining sessions", sessions.size());
  std::vector<Report> reports;
  for (const auto& of : sessions) {
    if (auto findings = examine_session(*of.session, catalog); !findings.empty()) {
      reports.push_back({of.id, log_path(*of.session, catalog), of.session->head().header.title, std::move(findings)});
    }
    progress.step();
  }
  for (auto& leftover : examine_folders(catalog.store())) {
    if (line.sessions.empty() || belongs_to(leftover, sessions)) {
      const std::string path =
          catalog.store().paths().sessions + "/" + leftover.place.folder + "/" + leftover.place.file;
      leftover.finding.text = visible_line(leftover.finding.text, kLineLength);
      reports.push_back({"", visible_line(path, kLineLength), "", {std::move(leftover.finding)}});
    }
  }
  return reports;
}

std::string finding_json(const Report& report, const Finding& finding) {
  auto json = JsonText::object();
  json.add("session", report.session).add("path", report.path).add("kind", finding.kind);
  json.add_json("offset", finding.offset ? std::to_string(*finding.offset) : "null");
  json.add_json("length", finding.offset ? std::to_string(finding.length) : "null");
  json.add_json("entry", finding.entry == kNoEntry ? "null" : std::to_string(finding.entry));
  return json.add("text", finding.text).str();
}

void print_json(const std::vector<Report>& reports, std::size_t examined, Terminal& io) {
  auto findings = JsonText::lines();
  for (const auto& report : reports) {
    for (const auto& finding : report.findings) {
      findings.item_json(finding_json(report, finding));
    }
  }
  const auto json = JsonText::object().add("sessions", examined).add_json("findings", findings.str());
  io.out << terminal_safe_json(json.str()) << "\n";
}

void print_report(const Report& report, Terminal& io) {
  io.out << styled(io, Style::bold, report.path) << "\n";
  if (!report.title.empty()) {
    io.out << "  " << styled(io, Style::dim, visible_line(report.title, kLineLength)) << "\n";
  }
  std::map<std::string_view, std::size_t> shown;
  for (const auto& finding : report.findings) {
    if (shown[finding.kind]++ < kShownOfAKind) {
      io.out << "  " << styled(io, Style::red, std::string(finding.kind)) << ": " << finding.text << "\n";
    }
  }
  for (const auto& [kind, count] : shown) {
    if (count > kShownOfAKind) {
      io.out << "  " << kind << ": and " << grouped(count - kShownOfAKind) << " more; --json names all\n";
    }
  }
}

void print_words(const std::vector<Report>& reports, std::size_t examined, Terminal& io) {
  std::size_t findings = 0;
  for (const auto& report : reports) {
    print_report(report, io);
    findings += report.findings.size();
  }
  const std::string result =
      findings == 0 ? "no damage found" : counted(findings, "finding") + " in " + counted(reports.size(), "file");
  io.out << counted(examined, "session") << " examined, " << result << "\n";
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
  const auto reports = examine(line, *sessions, **catalog, io);
  line.json ? print_json(reports, sessions->size(), io) : print_words(reports, sessions->size(), io);
  return reports.empty() ? kDone : kFailed;
}

}  // namespace arborfs::cli
