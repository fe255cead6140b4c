// The verb prune: moves sessions that are neither young nor among the newest to the trash.

#include <algorithm>
#include <array>
#include <climits>
#include <string_view>
#include <utility>

#include "core/base/clock.h"
#include "core/base/words.h"
#include "core/entry/text.h"
#include "core/json/date.h"
#include "core/write/retention.h"
#include "tools/arborfs/choice.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/removal.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

/// A session to be removed.
struct Old {
  Listed of;
  Judged judged;
  std::string description;
  std::string trashed;  // its name in the trash
};

struct PrunePlan {
  std::vector<Old> old;
  std::vector<std::pair<Listed, std::string>> refused;  // and why
  std::array<std::size_t, static_cast<std::size_t>(Fate::removed) + 1> counts{};
  [[nodiscard]] std::size_t count(Fate fate) const { return counts.at(static_cast<std::size_t>(fate)); }
};

Retention retention_of(const CommandLine& line) {
  Retention retention;
  retention.now_ms = now_ms();
  retention.keep_days =
      static_cast<unsigned>(std::min<std::size_t>(line.keep_days.value_or(retention.keep_days), UINT_MAX));
  retention.keep_count = line.keep_count.value_or(retention.keep_count);
  retention.labelled = line.labelled;
  return retention;
}

PrunePlan plan_of(const Retention& retention, Writer& writer, const std::vector<Listed>& sessions, Terminal& io) {
  const Progress progress(io, "reading sessions");
  std::vector<Candidate> candidates;
  for (const Listed& of : sessions) {
    candidates.push_back({of.session, of.mtime_ns});
  }
  PrunePlan plan;
  for (Judged& judged : judge(writer, std::move(candidates), retention)) {
    ++plan.counts.at(static_cast<std::size_t>(judged.fate));
    Listed of = listed(writer.catalog(), judged.session);
    of.mtime_ns = judged.written_ns;
    if (judged.fate == Fate::removed) {
      std::string description = described(of);
      plan.old.push_back({std::move(of), std::move(judged), std::move(description), ""});
    } else if (judged.fate == Fate::refused) {
      plan.refused.emplace_back(std::move(of), std::move(judged.why));
    }
  }
  return plan;
}

/// Removes a session unless it must now stay: the user may have taken long to confirm.
Fate remove(Old& old, Writer& writer, const Retention& retention, std::string& why) {
  if (const Fate fate = judge_again(writer, old.judged, retention, why); fate != Fate::removed) {
    return fate;
  }
  const LogPlace place = old.of.session->place();
  if (const auto done = writer.remove(old.of.session); !done) {
    why = done.error().message;
    return done.error().code == Errc::busy ? Fate::live : Fate::refused;
  }
  old.trashed = name_in_trash(Trash(""), old.of.session->store().paths().sessions, place);
  return Fate::removed;
}

/// Removes the sessions of the plan. Sessions that must now stay are counted as such.
void remove_old(PrunePlan& plan, Writer& writer, const Retention& retention, Terminal& io) {
  Progress progress(io, "removing", plan.old.size());
  std::vector<Old> removed;
  for (Old& old : plan.old) {
    std::string why;
    const Fate fate = remove(old, writer, retention, why);
    progress.step();
    if (fate == Fate::removed) {
      removed.push_back(std::move(old));
      continue;
    }
    ++plan.counts.at(static_cast<std::size_t>(fate));
    if (fate == Fate::refused) {
      plan.refused.emplace_back(std::move(old.of), std::move(why));
    }
  }
  plan.counts.at(static_cast<std::size_t>(Fate::removed)) = removed.size();
  plan.old = std::move(removed);
}

constexpr std::array<std::pair<Fate, const char*>, 5> kKept{{{Fate::young, "young"},
                                                             {Fate::newest, "newest"},
                                                             {Fate::labelled, "labelled"},
                                                             {Fate::live, "live"},
                                                             {Fate::refused, "refused"}}};

std::size_t kept(const PrunePlan& plan) {
  std::size_t all = 0;
  for (const auto& [fate, word] : kKept) {
    all += plan.count(fate);
  }
  return all;
}

void print_json(const PrunePlan& plan, bool dry_run, Terminal& io) {
  auto rows = JsonText::array();
  for (const Old& old : plan.old) {
    auto children = JsonText::array();
    for (const SessionPtr& child : old.judged.children) {
      children.item(child->id());
    }
    const Header& header = old.of.session->head().header;
    auto row = JsonText::object();
    row.add("session", old.of.id).add("agent", old.of.session->agent()).add("title", header.title);
    row.add("modified", json::iso_time(old.of.mtime_ns / 1'000'000)).add_json("children", children.str());
    if (!dry_run) {
      row.add("trashed", old.trashed);
    }
    rows.item_json(row.str());
  }
  auto counts = JsonText::object();
  for (const auto& [fate, word] : kKept) {
    counts.add(word, plan.count(fate));
  }
  auto all = JsonText::object();
  all.add("dryRun", dry_run).add_json("removed", rows.str()).add_json("kept", counts.str());
  all.add("remaining", kept(plan));
  io.out << terminal_safe_json(all.str()) << "\n";
}

void print_words(const PrunePlan& plan, const Retention& retention, bool dry_run, Terminal& io) {
  for (const Old& old : plan.old) {
    io.out << (dry_run ? "would remove " : "removed ") << old.description;
    if (!old.judged.children.empty()) {
      io.out << ", with " << counted(old.judged.children.size(), "session") << " that it started";
    }
    io.out << "\n";
  }
  io.out << counted(plan.old.size(), "session") << (dry_run ? " would be removed, " : " removed, ") << kept(plan)
         << " kept";
  std::string reasons;
  for (const auto& [fate, word] : kKept) {
    if (plan.count(fate) > 0) {
      reasons += (reasons.empty() ? ": " : ", ") + std::to_string(plan.count(fate)) + " " +
                 (fate == Fate::newest ? "of the newest " + std::to_string(retention.keep_count) : word);
    }
  }
  io.out << reasons << "\n";
  if (!dry_run && !plan.old.empty()) {
    io.out << "'arborfs restore' lists them and brings them back\n";
  }
}

std::vector<Listed> sessions_of(const PrunePlan& plan) {
  std::vector<Listed> sessions;
  for (const Old& old : plan.old) {
    sessions.push_back(old.of);
  }
  return sessions;
}

}  // namespace

int run_prune(const CommandLine& line, Terminal& io) {
  const auto catalog = open_catalog(line, io);
  if (!catalog) {
    return fail(io, catalog.error());
  }
  const auto sessions = chosen_sessions(line, **catalog);
  if (!sessions) {
    return fail(io, sessions.error());
  }
  WriteSettings settings = write_settings(line);
  settings.allow_delete = true;
  const auto writer = make_writer(**catalog, settings);
  const Retention retention = retention_of(line);
  PrunePlan plan = plan_of(retention, *writer, *sessions, io);
  if (!line.dry_run) {
    const auto confirmed = plan.old.empty() ? Result<void>() : confirm_removal(line, sessions_of(plan), io);
    if (!confirmed) {
      return fail(io, confirmed.error());
    }
    const Operations::Together together((*catalog)->operations(), "prune");
    remove_old(plan, *writer, retention, io);
  }
  line.json ? print_json(plan, line.dry_run, io) : print_words(plan, retention, line.dry_run, io);
  for (const auto& [of, why] : plan.refused) {
    fail(io, {Errc::io, described(of) + ": " + why});
  }
  return plan.refused.empty() ? kDone : kFailed;
}

}  // namespace arborfs::cli
