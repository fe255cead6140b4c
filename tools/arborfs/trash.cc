// The verbs that move sessions to the trash and bring them back: rm, restore.

#include "core/writer/trash.h"

#include <algorithm>

#include "core/base/result_macros.h"
#include "core/formats/registry.h"
#include "core/json/date.h"
#include "core/os/state_dir.h"
#include "core/render/text.h"
#include "core/session/erased_entries.h"
#include "tools/arborfs/access.h"
#include "tools/arborfs/removal.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/terminal/json_text.h"
#include "tools/arborfs/terminal/progress.h"
#include "tools/arborfs/terminal/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::size_t kShown = 4096;

std::string shown_title(const std::string& title) {
  return title.empty() ? "-" : visible_line(title, kTitleCharacters);
}

void print_trash(const std::vector<Trashed>& all, bool json, Terminal& io) {
  auto rows = JsonText::lines();
  Table table({{"REMOVED"}, {"TITLE", false, true}, {"FOLDER", false, true}, {"NAME"}});
  for (const auto& one : all) {
    rows.item_json(JsonText::object()
                       .add("name", one.name)
                       .add("title", one.title)
                       .add("removed", json::iso_time(one.removed_ms))
                       .add("log", one.path)
                       .str());
    table.add({time_words(one.removed_ms * 1'000'000), shown_title(one.title), visible_line(one.place.folder, kShown),
               visible_line(one.name, kShown)});
  }
  if (json) {
    io.out << terminal_safe_json(rows.str()) << "\n";
    return;
  }
  if (all.empty()) {
    io.out << "the trash is empty\n";
    return;
  }
  const auto lines = table.lines(io.out_is_terminal ? io.width : 0);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    io.out << styled(io, i == 0 ? Style::bold : Style::plain, lines[i]) << "\n";
  }
}

Result<Trashed> find_trashed(const std::vector<Trashed>& all, const std::string& spelled) {
  if (spelled == "latest" && !all.empty()) {
    return all.front();
  }
  std::vector<const Trashed*> fits;
  for (const auto& one : all) {
    if (one.name == spelled) {
      return one;
    }
    if (one.name.starts_with(spelled)) {
      fits.push_back(&one);
    }
  }
  if (fits.size() == 1) {
    return *fits.front();
  }
  return fits.empty()
             ? Result<Trashed>(Errc::not_found, "nothing in the trash has that name; 'arborfs restore' lists the trash")
             : Result<Trashed>(
                   Errc::invalid_argument,
                   std::to_string(fits.size()) + " names in the trash have this prefix; give more of the name");
}

/// Removes one session. Returns its name in the trash.
Result<std::string> remove(const Listed& of, Catalog& catalog, const CommandLine& line, Terminal& io) {
  const LogPlace place = of.session->place();
  WriteSettings settings = write_settings(line);
  settings.allow_delete = true;
  const auto writer = make_writer(catalog, settings);
  const Progress progress(io, "removing");
  RETURN_IF_ERROR(writer->remove(of.session, line.force));
  return name_in_trash(Trash(""), of.session->store().paths().sessions, place);
}

/// Restores a session, and protects again the entries that arborfs protected before the removal.
Result<void> restore(const Trash& trash, const Trashed& trashed, Terminal& io) {
  const Progress progress(io, "restoring");
  const std::string written = trash.written_to(trashed);
  auto restored = restore_session("", trashed);
  if (restored && !written.empty()) {
    ErasedEntries(state_path(""), trashed.sessions, Disk::real()).acknowledge(trashed.place.file, written);
  }
  return restored;
}

}  // namespace

std::string described(const Listed& of) {
  return visible_line(of.id, kShown) + " (" + shown_title(of.session->head().header.title) + ")";
}

bool is_confirmed(const CommandLine& line, const std::vector<Listed>& sessions, Terminal& io) {
  if (line.force || line.yes || io.in == nullptr || !io.in_is_terminal) {
    return true;
  }
  if (sessions.size() == 1) {
    io.err << "remove session " << described(sessions.front()) << "? [y/N] " << std::flush;
  } else {
    for (const auto& of : sessions) {
      io.err << "  " << described(of) << "\n";
    }
    io.err << "remove these " << sessions.size() << " sessions? [y/N] " << std::flush;
  }
  std::string answer;
  std::getline(*io.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

std::string name_in_trash(const Trash& trash, const std::string& sessions, const LogPlace& place) {
  const auto all = trash.list();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Trashed& one) {
    return one.sessions == sessions && one.place.has_names_of(place);
  });
  return found == all.end() ? "" : found->name;
}

int run_rm(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  const auto sessions = listed_all(**catalog, line.sessions);
  if (!sessions) {
    return fail(io, sessions.error());
  }
  if (!is_confirmed(line, *sessions, io)) {
    return fail(io, {Errc::interrupted, "not removed"});
  }
  int status = kDone;
  auto rows = JsonText::lines();
  std::string row;
  for (const auto& of : *sessions) {
    const auto name = remove(of, **catalog, line, io);
    if (!name) {
      status = fail(io, {name.error().code,
                         sessions->size() == 1 ? name.error().message : described(of) + ": " + name.error().message});
      continue;
    }
    row = JsonText::object().add("session", of.id).add("trashed", *name).str();
    rows.item_json(row);
    io.out << (line.json ? "" : "removed; to bring it back: arborfs restore " + visible_line(*name, kShown) + "\n");
  }
  if (line.json && (sessions->size() > 1 || status == kDone)) {
    io.out << terminal_safe_json(sessions->size() > 1 ? rows.str() : row) << "\n";
  }
  return status;
}

int run_restore(const CommandLine& line, Terminal& io) {
  const Trash trash("");
  const auto all = trash.list();
  if (line.trashed.empty()) {
    print_trash(all, line.json, io);
    return kDone;
  }
  const auto chosen = find_trashed(all, line.trashed);
  if (!chosen) {
    return fail(io, chosen.error());
  }
  if (auto restored = restore(trash, *chosen, io); !restored) {
    return fail(io, restored.error());
  }
  const std::string& log = chosen->path;
  if (line.json) {
    io.out << terminal_safe_json(JsonText::object().add("restored", chosen->name).add("log", log).str()) << "\n";
  } else {
    io.out << "restored " << visible_line(log, kShown) << "\n";
  }
  return kDone;
}

}  // namespace arborfs::cli
