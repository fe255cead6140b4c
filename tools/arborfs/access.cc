#include "tools/arborfs/access.h"

#include <linux/magic.h>
#include <pwd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/error.h"
#include "core/base/suggestion.h"
#include "core/entry/names.h"
#include "core/entry/text.h"
#include "core/entry/tree.h"
#include "core/json/document.h"
#include "core/json/utf8.h"
#include "core/os/file.h"
#include "core/os/state_dir.h"
#include "core/views/session_views.h"
#include "core/write/resolve_target.h"
#include "fs/fuse/errno_map.h"
#include "tools/arborfs/json_text.h"
#include "tools/arborfs/markdown_layout.h"
#include "tools/arborfs/progress.h"
#include "tools/arborfs/run.h"
#include "tools/arborfs/table.h"
#include "tools/arborfs/verbs.h"

namespace arborfs::cli {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;
constexpr std::size_t kShownCandidates = 10;

bool only_looks(const CommandLine& line) {
  return line.access == Access::look && !line.repair;
}

std::string in_form(std::string piece, Form form, TerminalSafeJson& filter) {
  if (form.one_line) {
    std::erase(piece, '\n');
  }
  if (!form.safe_json) {
    return piece;
  }
  std::string safe;
  filter.feed(piece, safe);
  return safe;
}

void print_error_json(const Error& error, Terminal& io) {
  const char* code = ::strerrorname_np(errno_of(error.code));
  auto json = JsonText::object().add("code", code != nullptr ? code : "EIO").add("message", error.message);
  io.err << terminal_safe_json(JsonText::object().add_json("error", json.str()).str()) << "\n";
}

/// True for an agent whose store the command fills, so that nothing needs to be there yet.
bool gets_new_session(const CommandLine& line, std::string_view agent) {
  return (line.run == run_fork || line.run == run_new) && line.agent == agent;
}

/// Warns of stores that cannot be read, and of named ones that are absent, except one that the command fills. Errors:
/// not_found if none can be read, except for the doctor, which examines those that exist. The error names the folders
/// unless no agent has any.
Result<void> check_stores(const StoreSet& stores, bool are_named, const CommandLine& line, Terminal& io) {
  std::vector<std::string> warnings;
  std::string missing;
  std::size_t unreadable = 0;
  std::size_t absent = 0;
  bool is_any_there = false;
  for (const auto& store : stores) {
    const auto problem = problem_of(*store);
    if (!problem) {
      continue;
    }
    const bool has_no_agent = problem->is_absent && !Dir::open_root(store->paths().agent_dir);
    if (are_named || !has_no_agent) {
      missing += (missing.empty() ? "no sessions folder at " : ", nor at ") + visible(store->paths().sessions) +
                 (problem->is_absent ? "" : " (" + visible(problem->words) + ")");
    }
    const bool is_to_be_made = problem->is_absent && gets_new_session(line, store->format().agent);
    if (!is_to_be_made && (are_named || !problem->is_absent)) {
      warnings.push_back(std::string(store->format().agent) + ": " + visible(problem->words));
    }
    is_any_there = is_any_there || !problem->is_absent;
    ++unreadable;
    absent += has_no_agent ? 1 : 0;
  }
  if (!are_named && absent == stores.size()) {
    return Error{Errc::not_found,
                 "no agent has sessions here; 'arborfs stores' lists the folders that arborfs looks in"};
  }
  if (unreadable == stores.size() && !(line.run == run_doctor && is_any_there)) {
    return Error{Errc::not_found, missing + "; --store AGENT=DIR names another folder"};
  }
  for (const std::string& warning : warnings) {
    io.err << (line.json ? "" : "arborfs: " + warning + "\n");
  }
  return {};
}

/// AGENT:ID of the session whose folder in a mount a path leads to or into; "" if there is none, or if it leads to a
/// branch. Only the mount knows the names that its sessions had before.
std::string session_of_mount(const std::string& path) {
  std::error_code failed;
  const bool is_path = path.find('/') != std::string::npos || path == "." || path == "..";
  std::filesystem::path at = is_path ? std::filesystem::absolute(path, failed).lexically_normal() : "";
  std::string below;
  for (; at.has_relative_path(); below = at.filename(), at = at.parent_path()) {
    struct statfs system {};
    std::ifstream file(at / "session.json");
    if (!file || ::statfs(at.c_str(), &system) != 0 || system.f_type != FUSE_SUPER_MAGIC) {
      continue;
    }
    json::Document header;
    json::parse(std::string(std::istreambuf_iterator<char>(file), {}), header);
    const std::string agent = json::text_member(header, "agent");
    const std::string id = json::text_member(header, "id");
    return agent.empty() || id.empty() || below == "branches" ? "" : agent + ":" + id;
  }
  return "";
}

}  // namespace

std::string home_of(const Terminal& io) {
  if (const auto home = io.env ? io.env("HOME") : std::nullopt; home && !home->empty()) {
    return *home;
  }
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_dir : "/";
}

namespace {

constexpr std::size_t kNamedByWords = 500;  // sessions without a title whose opening words are looked at

/// True if the name has all words of a text.
bool has_words(const std::string& name, std::string_view text) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(" -_"), rest.size());
    if (name.find(rest.substr(0, end)) == std::string::npos) {
      return false;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return true;
}

/// Those whose title has the words of what the user named, else those whose id nearly begins with it.
std::vector<Listed> probably_meant(const Catalog& catalog, const std::string& spelled) {
  constexpr std::size_t kShortest = 3;
  const auto all = all_sessions(catalog);
  const std::string wanted = folded(spelled);
  std::vector<Listed> meant;
  for (std::size_t i = 0; i < all.size() && wanted.size() >= kShortest; ++i) {
    const std::string title = all[i].session->title();
    const bool is_read = title.empty() && i < kNamedByWords;
    if (has_words(folded(is_read ? session_name(*all[i].session, kTitleCharacters) : title), wanted)) {
      meant.push_back(all[i]);
    }
  }
  if (!meant.empty() || wanted.size() <= kShortest) {
    return meant;
  }
  std::vector<std::string> beginnings;  // of ids and of the words of titles
  for (const Listed& of : all) {
    beginnings.push_back(of.id.substr(0, wanted.size()));
    std::istringstream words(folded(of.session->title()));
    std::copy(std::istream_iterator<std::string>(words), {}, std::back_inserter(beginnings));
  }
  const std::string near = nearest(wanted, beginnings);
  std::copy_if(all.begin(), all.end(), std::back_inserter(meant), [&](const Listed& of) {
    return !near.empty() && (of.id.starts_with(near) || folded(of.session->title()).find(near) != std::string::npos);
  });
  return meant;
}

/// The error about a session that is not found, with the words that were probably meant.
Error with_suggestion(const Catalog& catalog, const std::string& spelled, const Error& error) {
  const auto view = catalog.view();
  std::vector<std::string> words{"latest"};
  for (const auto& [agent, places] : view->by_agent) {
    words.push_back(std::string(agent) + ":");
  }
  const std::size_t colon = spelled.find(':');
  const std::string word = nearest(spelled.substr(0, colon == std::string::npos ? colon : colon + 1), words);
  if (!word.empty() && (word == "latest") == (colon == std::string::npos) && !spelled.starts_with(word)) {
    return {error.code,
            error.message + did_you_mean(word + (colon == std::string::npos ? "" : spelled.substr(colon + 1)))};
  }
  const auto meant = spelled.find('/') == std::string::npos ? probably_meant(catalog, spelled) : std::vector<Listed>();
  return meant.empty() ? error : Error{error.code, error.message + "; did you mean:" + session_lines(meant)};
}

}  // namespace

Result<SessionPtr> find_session(Catalog& catalog, const std::string& spelled) {
  // A mount may number sessions of one name otherwise than this process, and knows their former names.
  const std::string in_mount = session_of_mount(spelled);
  auto found = catalog.find(in_mount.empty() ? spelled : in_mount);
  if (!found && found.error().code == Errc::not_found) {
    RETURN_IF_ERROR(catalog.read_names());  // only now: ids and the names of logs need no reading
    found = catalog.find(spelled);
  }
  if (!found && found.error().code == Errc::not_found) {
    return with_suggestion(catalog, spelled, found.error());
  }
  if (found || found.error().code != Errc::invalid_argument) {
    return found;
  }
  auto fits = all_sessions(catalog);
  const auto view = catalog.view();
  const auto [agent, id] = view->split_agent(spelled);
  std::erase_if(fits, [agent = agent, id = id](const Listed& of) {
    const bool is_of_agent = agent.empty() || of.session->agent() == agent;
    return !is_of_agent || !(of.id.starts_with(id) || of.session->stem() == id);
  });
  return Error{found.error().code, found.error().message + ":" + session_lines(std::move(fits))};
}

std::string session_lines(std::vector<Listed> sessions) {
  const std::size_t left_out = sessions.size() - std::min(sessions.size(), kShownCandidates);
  sessions.resize(sessions.size() - left_out);
  Table table({{""}, {""}, {""}, {""}});
  for (const auto& of : sessions) {
    table.add({of.id, time_words(of.mtime_ns), of.project->name, session_name(*of.session, kTitleCharacters)});
  }
  auto lines = table.lines(0);
  std::string all;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    all += "\n  " + lines[i];
  }
  return all + (left_out == 0 ? "" : "\n  and " + grouped(left_out) + " more");
}

Result<std::vector<ChosenStore>> chosen_stores(const CommandLine& line) {
  std::vector<ChosenStore> chosen;
  if (!line.agent_dir.empty()) {
    chosen.push_back({"omp", line.agent_dir, true});
  }
  for (const std::string& word : line.stores) {
    ASSIGN_OR_RETURN(auto store, parse_chosen_store(word));
    chosen.push_back(std::move(store));
  }
  return chosen;
}

Result<std::unique_ptr<Catalog>> open_catalog(const CommandLine& line, Terminal& io) {
  ASSIGN_OR_RETURN(const auto chosen, chosen_stores(line));
  ASSIGN_OR_RETURN(auto stores, open_stores(chosen, only_looks(line) ? Access::look : Access::write));
  RETURN_IF_ERROR(check_stores(stores, !chosen.empty(), line, io));
  auto catalog = std::make_unique<Catalog>(std::move(stores), home_of(io), state_path(""));
  const Progress progress(io, "looking for sessions");
  catalog->rescan();
  return catalog;
}

namespace {

Listed listed_at(const CatalogView& view, const ShownAt& shown) {
  const auto starter = view.where.find(shown.starter);
  return {shown.session(), shown.project, view.id_of(shown), shown.session()->mtime_ns(),
          starter == view.where.end() ? "" : view.id_of(starter->second)};
}

}  // namespace

std::vector<Listed> all_sessions(const Catalog& catalog) {
  const auto view = catalog.view();
  std::vector<Listed> all;
  for (const ShownAt* shown : view->shown) {
    all.push_back(listed_at(*view, *shown));
  }
  std::stable_sort(all.begin(), all.end(), [](const Listed& a, const Listed& b) { return a.mtime_ns > b.mtime_ns; });
  return all;
}

Listed listed(const Catalog& catalog, const SessionPtr& session) {
  const auto view = catalog.view();
  const auto found = view->where.find(session->number());
  return found != view->where.end() ? listed_at(*view, found->second) : Listed{session, nullptr, "", 0, ""};
}

std::string short_id(const CatalogView& view, const std::string& id) {
  constexpr std::size_t kLeastPrefix = 8;
  const auto common = [&id](const std::string& other) {
    return static_cast<std::size_t>(std::mismatch(id.begin(), id.end(), other.begin(), other.end()).first - id.begin());
  };
  const auto at = std::lower_bound(view.by_id.begin(), view.by_id.end(), id,
                                   [](const auto& entry, const std::string& key) { return entry.first < key; });
  std::size_t needed = kLeastPrefix;
  if (at != view.by_id.end() && at != view.by_id.begin()) {
    needed = std::max(needed, common(std::prev(at)->first) + 1);
  }
  if (at != view.by_id.end() && std::next(at) != view.by_id.end()) {
    needed = std::max(needed, common(std::next(at)->first) + 1);
  }
  return id.substr(0, needed);
}

Result<std::vector<Listed>> listed_all(Catalog& catalog, const std::vector<std::string>& spelled) {
  std::vector<Listed> all;
  for (const auto& word : spelled) {
    ASSIGN_OR_RETURN(const auto session, find_session(catalog, word));
    const bool is_there = std::any_of(all.begin(), all.end(), [&](const Listed& of) { return of.session == session; });
    if (!is_there) {
      all.push_back(listed(catalog, session));
    }
  }
  return all;
}

Result<Opened> open_session(const CommandLine& line, Depth depth, Terminal& io) {
  ASSIGN_OR_RETURN(auto catalog, open_catalog(line, io));
  ASSIGN_OR_RETURN(auto session, find_session(*catalog, line.session));
  const Progress progress(io, "reading the log");
  RETURN_IF_ERROR(session->refresh(depth));
  auto of = listed(*catalog, session);
  return Opened{std::move(catalog), std::move(of)};
}

Error about_word(const std::string& word, const Error& error) {
  return {error.code, "'" + visible_line(word, 80) + "': " + error.message};
}

Error about_entry(const Session::Guard& guard, const std::string& word, const Error& error) {
  std::vector<std::string> words{"leaf", "last", "last-user", "last-assistant"};
  for (const NamedLabel& label : named_labels(guard.index())) {
    words.push_back(label.name);
  }
  const Error about = about_word(word, error);
  return {about.code, about.message + did_you_mean(visible_line(nearest(word, words), 80))};
}

Error before_the_first() {
  return {Errc::not_found, "there is no entry before the first one"};
}

Result<std::optional<Ordinal>> word_meant(const Session::Guard& guard, const std::string& word) {
  auto meant = find_by_word(guard.index(), guard.leaf(), word);
  return meant ? meant : about_word(word, meant.error());
}

Result<Ordinal> find_entry(const Session& session, const std::string& spelled) {
  ASSIGN_OR_RETURN(const auto guard, session.read_index());
  if (spelled.empty()) {
    return guard.leaf();
  }
  ASSIGN_OR_RETURN(const auto meant, word_meant(guard, spelled));
  if (meant && *meant == kNoEntry && spelled.ends_with('^')) {
    return about_word(spelled, before_the_first());
  }
  if (meant) {
    return *meant;
  }
  auto found = find_target(guard.index(), spelled);
  return found ? found : about_entry(guard, spelled, found.error());
}

Result<Ordinal> find_branch(const Session& session, const std::string& spelled) {
  {
    ASSIGN_OR_RETURN(const auto guard, session.read_index());
    const LogIndex& index = guard.index();
    const auto tip = names::leading_ordinal(spelled);
    if (tip && *tip != kNoEntry && *tip <= index.size() && names::branch_stem(index, *tip) == spelled) {
      return *tip;
    }
  }
  return find_entry(session, spelled == "current" ? "" : spelled);
}

WriteSettings write_settings(const CommandLine& line) {
  WriteSettings settings;
  settings.durability = line.durability == "none" ? Durability::none : Durability::synced;
  settings.write_live = line.force;
  return settings;
}

std::string log_path(const Session& session) {
  return visible_line(session.store().path_of(session.place()), 4096);
}

std::string first_words(const Session& session, Ordinal ordinal, const Catalog& catalog, std::size_t characters) {
  constexpr std::uint64_t kBytesACharacter = 16;  // allows for leading white space and combining characters
  const auto document = make_view(session, item_views::entry_text, ordinal, catalog);
  if (!document) {
    return "";
  }
  const auto text = document->content->read(0, std::min(document->content->size(), characters * kBytesACharacter));
  if (!text) {
    return "";
  }
  const std::size_t begin = text->find_first_not_of(" \t\n");
  return begin == std::string::npos
             ? ""
             : visible_line(text->substr(begin, text->find_last_not_of('\n') + 1 - begin), characters);
}

Result<void> write_content(const Content& content, Form form, Terminal& io) {
  TerminalSafeJson filter;
  MarkdownLayout layout(io, form.width);
  for (std::uint64_t at = 0; at < content.size() && io.out; at += kPiece) {
    ASSIGN_OR_RETURN(auto piece, content.read(at, std::min(kPiece, content.size() - at)));
    if (form.coloured || form.width > 0) {
      std::string coloured;
      layout.feed(piece, coloured);
      io.out << coloured;
    } else {
      io.out << in_form(std::move(piece), form, filter);
    }
  }
  std::string rest;
  filter.finish(rest);
  layout.finish(rest);
  io.out << rest << (form.one_line ? "\n" : "");
  return {};
}

int fail(Terminal& io, const Error& error) {
  if (io.json_errors) {
    print_error_json(error, io);
  } else {
    io.err << "arborfs: " << visible(error.message) << "\n";
  }
  return kFailed;
}

int misused(Terminal& io, const std::string& verb, const std::string& complaint) {
  if (io.json_errors) {
    print_error_json({Errc::invalid_argument, complaint}, io);
    return kUsage;
  }
  io.err << "arborfs: " << complaint << "\nTry 'arborfs " << verb << (verb.empty() ? "" : " ") << "--help'.\n";
  return kUsage;
}

}  // namespace arborfs::cli
