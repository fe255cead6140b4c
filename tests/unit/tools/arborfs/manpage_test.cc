// The program, its manual pages and its completions agree.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/formats/registry.h"
#include "core/views/session_views.h"
#include "core/write/verbs.h"
#include "fs/mount.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"
#include "tests/support/variable.h"
#include "tools/arborfs/command_line.h"

namespace {

using arborfs::cli::VerbOptions;

const std::string kRoot = arborfs::tests::kSourceDir;

std::string text_of(const std::string& path) {
  std::ifstream in(kRoot + "/" + path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(text.empty()) << path;
  return text;
}

/// The page from one heading to the next; "" if there is no such heading.
std::string part_of(const std::string& page, const std::string& heading) {
  const std::size_t begin = page.find(heading + "\n");
  if (begin == std::string::npos) {
    return "";
  }
  const std::size_t end = std::min(page.find("\n.Ss ", begin), page.find("\n.Sh ", begin));
  return page.substr(begin, end - begin);
}

using Options = std::set<std::string>;

/// The options after Fl, as they are typed: "--json", "-n".
Options flags_in(const std::string& text) {
  static const std::regex kFlag(R"(Fl (\\-)?([A-Za-z][A-Za-z-]*))");
  Options found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kFlag); at != std::sregex_iterator(); ++at) {
    found.insert(((*at)[1].matched ? "--" : "-") + (*at)[2].str());
  }
  return found;
}

/// Those of each item of a list that is about options; an item has an option and its other spelling.
std::vector<Options> items_in(const std::string& part) {
  std::vector<Options> items;
  std::istringstream lines(part);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".It ") && !flags_in(line).empty()) {
      items.push_back(flags_in(line));
    }
  }
  return items;
}

Options options_in(const std::string& part) {
  Options found;
  for (const Options& item : items_in(part)) {
    found.insert(item.begin(), item.end());
  }
  return found;
}

const std::set<std::string> kOfEveryVerb = {"--json", "--help", "-h"};

bool takes_store(const std::string& verb) {
  return verb != "umount" && verb != "completion" && verb != "skill";
}

bool changes_session(const std::string& verb) {
  return verb == "append" || verb == "branch" || verb == "label" || verb == "title" || verb == "summary";
}

bool takes_colour(const std::string& verb) {
  static const std::set<std::string> kVerbs = {"ls",   "search", "history", "stats",    "show",
                                               "tree", "text",   "files",   "commands", "changes"};
  return kVerbs.contains(verb);
}

TEST(ManPage, ListsExactlyTheOptionsOfEachVerb) {
  const std::string page = text_of("man/arborfs.1");
  const std::string synopsis = part_of(page, ".Sh SYNOPSIS");
  for (const VerbOptions& of : arborfs::cli::all_options()) {
    if (of.verb.empty()) {
      continue;
    }
    const std::string part = part_of(page, ".Ss " + of.verb);
    ASSERT_FALSE(part.empty()) << "arborfs.1 has no part about " << of.verb;
    EXPECT_TRUE(std::regex_search(synopsis, std::regex("\n\\.Cm ([a-z]+ \\| )*" + of.verb + "\\b")))
        << of.verb << " is not in the synopsis of arborfs.1";
    Options documented = options_in(part);
    documented.insert(kOfEveryVerb.begin(), kOfEveryVerb.end());
    if (takes_store(of.verb)) {
      documented.insert({"--agent-dir", "--store"});
    }
    if (takes_colour(of.verb)) {
      documented.insert("--color");
    }
    if (changes_session(of.verb)) {
      documented.insert({"--force", "--durability"});
    }
    EXPECT_EQ(documented, std::set<std::string>(of.options.begin(), of.options.end())) << of.verb;
  }
  const auto common = options_in(page.substr(0, page.find("\n.Ss ")));
  EXPECT_EQ(common, (std::set<std::string>{"--json", "-h", "--help", "--agent-dir", "--store", "--color", "--force",
                                           "--durability"}));
}

/// The lines of the synopsis about a verb.
std::string usage_of(const std::string& synopsis, const std::string& verb) {
  const std::regex names_verb("\n\\.Cm ([a-z]+ \\| )*" + verb + "\\b");
  std::string usage;
  for (std::size_t begin = synopsis.find("\n.Nm\n"); begin != std::string::npos;) {
    const std::size_t end = synopsis.find("\n.Nm\n", begin + 1);
    const std::string one = synopsis.substr(begin, end - begin);
    usage += std::regex_search(one, names_verb) ? one : "";
    begin = end;
  }
  return usage;
}

TEST(ManPage, SynopsisHasTheOptionsOfEachVerb) {
  const std::string page = text_of("man/arborfs.1");
  const std::string synopsis = part_of(page, ".Sh SYNOPSIS");
  for (const VerbOptions& of : arborfs::cli::all_options()) {
    const Options in_synopsis = flags_in(usage_of(synopsis, of.verb));
    for (const Options& item : items_in(part_of(page, ".Ss " + of.verb))) {
      const bool is_there =
          std::any_of(item.begin(), item.end(), [&](const auto& o) { return in_synopsis.contains(o); });
      EXPECT_TRUE(is_there || item.contains("--durability")) << of.verb << " " << *item.begin();
    }
  }
}

TEST(ManPage, ListsEveryAgent) {
  const std::string page = text_of("man/arborfs.1");
  const std::size_t begin = page.find("\n.It Fl \\-store ");
  ASSERT_NE(begin, std::string::npos);
  const std::string part = page.substr(begin, page.find("\n.It Fl \\-agent-dir", begin) - begin);
  for (const auto known : arborfs::known_agents()) {
    const std::string agent(known);
    EXPECT_TRUE(std::regex_search(part, std::regex("\n\\.Li " + agent + "( |\n)")))
        << agent << " is not among the agents of --store in arborfs.1";
    EXPECT_TRUE(std::regex_search(part, std::regex("\n(\\.It Li " + agent + "|" + agent + " has no default folder)")))
        << "the default folder of " << agent << " is not below --store in arborfs.1";
  }
}

TEST(ManPage, ListsOnlyExistingVerbs) {
  std::set<std::string> verbs;
  for (const VerbOptions& of : arborfs::cli::all_options()) {
    verbs.insert(of.verb);
  }
  const std::string page = text_of("man/arborfs.1");
  static const std::regex kPart(R"(\n\.Ss (\w+))");
  for (auto at = std::sregex_iterator(page.begin(), page.end(), kPart); at != std::sregex_iterator(); ++at) {
    EXPECT_EQ(verbs.count((*at)[1]), 1U) << (*at)[1];
  }
}

/// The mount options that arborfs.1 lists, without their values.
std::set<std::string> documented_mount_options() {
  const std::string part = part_of(text_of("man/arborfs.1"), ".Sh MOUNT OPTIONS");
  std::set<std::string> found;
  static const std::regex kItem(R"(\n\.It Cm ([^\n]+))");
  static const std::regex kWord(R"(([a-z_]+(?:=[a-z]+)?)( Ns = Ns Ar)?)");
  for (auto at = std::sregex_iterator(part.begin(), part.end(), kItem); at != std::sregex_iterator(); ++at) {
    const std::string line = (*at)[1];
    for (auto word = std::sregex_iterator(line.begin(), line.end(), kWord); word != std::sregex_iterator(); ++word) {
      const std::string value = (*word)[1] == "store" ? "=omp=1" : "=1";
      found.insert((*word)[1].str() + ((*word)[2].matched ? value : ""));
    }
  }
  return found;
}

TEST(ManPage, ListsTheMountOptions) {
  const auto documented = documented_mount_options();
  EXPECT_GE(documented.size(), 10U);
  for (const auto& option : documented) {
    const auto parsed = arborfs::parse_mount_options(option);
    EXPECT_TRUE(parsed) << option << ": " << (parsed ? "" : parsed.error().message);
  }
  const std::string source = text_of("fs/mount.cc");
  static const std::regex kFlag(R"x(Flag\{"(\w+(?:=\w+)?)")x");
  for (auto at = std::sregex_iterator(source.begin(), source.end(), kFlag); at != std::sregex_iterator(); ++at) {
    EXPECT_EQ(documented.count((*at)[1]), 1U) << (*at)[1] << " is not in arborfs.1";
  }
}

TEST(ManPage, ListsEveryKindOfFinding) {
  const std::string part = part_of(text_of("man/arborfs.1"), ".Ss doctor");
  static const std::regex kKind(R"x("([a-z]+_[a-z_]+|orphan|cycle|unreadable)")x");
  for (const char* file : {"core/formats/omp/edit/log_faults.cc", "core/doctor/examine.cc", "core/doctor/examine.cc",
                           "core/formats/omp/edit/orphan_files.cc"}) {
    const std::string source = text_of(file);
    for (auto at = std::sregex_iterator(source.begin(), source.end(), kKind); at != std::sregex_iterator(); ++at) {
      EXPECT_NE(part.find(".It Li " + (*at)[1].str() + "\n"), std::string::npos) << (*at)[1];
    }
  }
  // What follows a kind is a sentence, not one more name, as in a list of tables.
  static const std::regex kOfAFormat(R"x(\{"([a-z]+_[a-z_]+)",(?! "[a-z_]+",))x");
  for (const char* file : {"core/sqlite/database.cc", "core/formats/codex/store.cc", "core/formats/goat/store.cc",
                           "core/formats/opencode/json_archive.cc", "core/formats/opencode/sqlite_archive.cc"}) {
    const std::string source = text_of(file);
    auto at = std::sregex_iterator(source.begin(), source.end(), kOfAFormat);
    EXPECT_NE(at, std::sregex_iterator()) << file;
    for (; at != std::sregex_iterator(); ++at) {
      EXPECT_NE(part.find(".It Li " + (*at)[1].str() + "\n"), std::string::npos) << (*at)[1];
    }
  }
}

/// True if a part of arborfs.5 has an item for this name of the mount.
bool has_item(const std::string& part, std::string_view name) {
  const std::string exact = std::regex_replace(std::string(name), std::regex(R"(\.)"), "\\.");
  return std::regex_search(part, std::regex("\\n\\.It Pa ([^\\n]* )?" + exact + "( |\\n)"));
}

TEST(ManPage, ListsEveryNameOfTheMount) {
  const std::string page = text_of("man/arborfs.5");
  for (const char* name :
       {"README.md",  "status.json", "events",       "projects/", "by-id/",    "by-agent/", "recent/",
        "terminals/", "search/",     "excerpts.md",  "hits.json", "stats/",    "blobs/",    "cwd",
        "leaf",       "entries/",    "text/",        "images/",   "branches/", "current",   "labels/",
        "damage/",    "artifacts/",  "checkpoints/", "native/",   "children/"}) {
    EXPECT_TRUE(has_item(page, name)) << name << " is not an item of arborfs.5";
  }
}

TEST(ManPage, ListsEveryViewOfASession) {
  const std::string part = part_of(text_of("man/arborfs.5"), ".Ss A session");
  for (const arborfs::ViewRow& row : arborfs::session_views()) {
    EXPECT_TRUE(has_item(part, row.name)) << row.name << " is not an item of 'A session' in arborfs.5";
  }
}

/// The verbs that the sessions of some agent take.
std::set<std::string_view> taken_verbs() {
  const arborfs::testing::TempStore scratch;
  std::set<std::string_view> taken;
  for (const auto agent : arborfs::known_agents()) {
    const std::string dir = scratch.root() + "/" + std::string(agent);
    std::filesystem::create_directories(dir);
    const auto stores = arborfs::find_stores({{std::string(agent), dir}}, arborfs::Access::look);
    EXPECT_TRUE(stores && stores->front().store) << agent;
    if (stores && stores->front().store) {
      const auto verbs = stores->front().store->format().verbs;
      taken.insert(verbs.begin(), verbs.end());
    }
  }
  return taken;
}

TEST(ManPage, ListsExactlyTheControlFilesThatExist) {
  const std::string page = text_of("man/arborfs.5");
  const std::string part = page.substr(page.find("\n.Sh WRITING\n"));
  const auto taken = taken_verbs();
  for (const arborfs::Verb& verb : arborfs::all_verbs()) {
    EXPECT_EQ(has_item(part, verb.name), verb.is_for_all || taken.count(verb.name) != 0) << verb.name;
  }
}

TEST(ManPage, PassesTheLinter) {
  if (std::system("command -v mandoc >/dev/null") != 0) {
    GTEST_SKIP() << "mandoc is not installed";
  }
  for (const char* page : {"man/arborfs.1", "man/arborfs.5"}) {
    EXPECT_EQ(std::system(("mandoc -T lint -W warning '" + kRoot + "/" + page + "'").c_str()), 0) << page;
  }
}

/// The script, with the program's folder in PATH.
std::string with_program(const std::string& script) {
  const std::string binary = arborfs::tests::kBinary;
  return "PATH='" + binary.substr(0, binary.rfind('/')) + "':\"$PATH\"; export PATH; " + script;
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return text;
  }
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    text += static_cast<char>(c);
  }
  ::pclose(pipe);
  return text;
}

std::string quoted(const std::string& script) {
  return "'" + std::regex_replace(script, std::regex("'"), "'\\''") + "'";
}

void need(const std::string& shell) {
  if (std::system(("command -v " + shell + " >/dev/null").c_str()) != 0) {
    GTEST_SKIP() << shell << " is not installed";
  }
}

/// COMP_TYPE when bash lists the completions, for which titles are offered.
constexpr char kListing[] = "63";

/// The completions that bash offers for a line whose last word is being typed.
std::string bash_offers(const std::string& line, const std::string& word, const std::string& folder = "/",
                        const std::string& type = "9") {
  const std::string script = "cd '" + folder + "'; COMP_TYPE=" + type +
                             "; source <(arborfs completion bash); COMP_WORDS=(" + line + " " + word +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _arborfs; printf '%s\\n' \"${COMPREPLY[@]}\"";
  return output_of(with_program("bash --norc -c " + quoted(script) + " 2>&1"));
}

TEST(Completion, BashKnowsEveryVerbAndOption) {
  need("bash");
  const std::string verbs = bash_offers("arborfs", "''");
  for (const VerbOptions& of : arborfs::cli::all_options()) {
    EXPECT_NE(verbs.find(of.verb), std::string::npos) << of.verb << " is not among " << verbs;
    const std::string options = of.verb.empty() ? verbs : bash_offers("arborfs " + of.verb, "--");
    for (const auto& option : of.options) {
      if (option.starts_with("--")) {
        EXPECT_NE(options.find(option + "\n"), std::string::npos) << of.verb << " " << option;
      }
    }
  }
}

TEST(Completion, EveryShellOffersEveryAgent) {
  for (const char* script : {"arborfs.bash", "_arborfs", "arborfs.fish"}) {
    const std::string text = text_of("packaging/completions/" + std::string(script));
    const bool is_fish = std::string_view(script) == "arborfs.fish";
    for (const auto agent : arborfs::known_agents()) {
      const std::regex offer("[ '({,]" + std::string(agent) + (is_fish ? "[,}]" : "="));
      EXPECT_TRUE(std::regex_search(text, offer)) << script << " does not offer " << agent << " after --store";
    }
  }
}

TEST(Completion, BashOffersSessions) {
  need("bash");
  const std::string samples = kRoot + "/tools/samples/omp";
  const std::string offers = bash_offers("arborfs show --agent-dir '" + samples + "'", "14");
  EXPECT_EQ(offers, "1472050ec0006b29\n143d3bdfc00a7937\n");
  const std::string listed = bash_offers("arborfs show --agent-dir '" + samples + "'", "14", "/", kListing);
  EXPECT_NE(listed.find("1472050ec0006b29  (Retry policy for the sync command)\n"), std::string::npos) << listed;
}

TEST(Completion, BashOffersSessionsByTheWordsOfTheirTitles) {
  need("bash");
  const std::string line = "arborfs show --agent-dir '" + kRoot + "/tools/samples/omp'";
  EXPECT_EQ(bash_offers(line, "retry"), "1472050ec0006b29\n");
  EXPECT_EQ(bash_offers(line, "str"), "019c752b-a300-7041-80f0-c27c00e8018f\n");
  EXPECT_NE(bash_offers(line, "the").find("\n \n"), std::string::npos) << "of several, none replaces the word";
}

TEST(Completion, BashExecutesNoTitle) {
  need("bash");
  const arborfs::testing::TempStore store;
  for (const char* id : {"aaaa1111", "aaaa2222"}) {
    store.write("-x", id,
                R"({"type":"session","version":3,"id":")" + std::string(id) +
                    R"(","title":"x$(touch${IFS}ran)`touch${IFS}ran` \" y","cwd":"/x"})" + "\n");
  }
  const std::string line = "arborfs rm --agent-dir '" + store.root() + "'";
  EXPECT_EQ(bash_offers(line, "aaaa1", store.root(), kListing), "aaaa1111\n");
  EXPECT_NE(bash_offers(line, "aaaa", store.root(), kListing).find("$(touch"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(store.root() + "/ran"));
}

/// The completions that fish offers for a line, each with a tab and its description.
std::string fish_offers(const std::string& line) {
  const std::string script = "arborfs completion fish | source; complete -C " + quoted(line);
  return output_of(with_program("HOME=/nonexistent fish --no-config -c " + quoted(script) + " 2>&1"));
}

TEST(Completion, FishOffersSessionsWithTitlesAndEntries) {
  need("fish");
  const std::string store = "--agent-dir " + kRoot + "/tools/samples/omp ";
  EXPECT_EQ(fish_offers("arborfs show " + store + "147"), "1472050ec0006b29\tRetry policy for the sync command\n");
  EXPECT_EQ(fish_offers("arborfs text " + store + "1472050ec0006b29 b11"), "b116c08d\t#3 user\n");
  EXPECT_EQ(fish_offers("arborfs label " + store + "1472050ec0006b29 do"), "done\t#10 assistant\n");
  EXPECT_NE(fish_offers("arborfs fork " + store + "1472050ec0006b29 last").find("last-user\n"), std::string::npos);
  EXPECT_EQ(fish_offers("arborfs title " + store + "1472050ec0006b29 "), "");
}

/// True if zsh lists the text at the end of a line.
bool zsh_lists(const std::string& text, const std::string& line) {
  const std::string script =
      "zmodload zsh/zpty; zpty z 'COLUMNS=200 zsh -f -i'; "
      "zpty -w z 'PS1=; autoload -Uz compinit; compinit -u -D; source <(arborfs completion zsh); LISTMAX=1000; "
      "print loa\"\"ded'; zpty -r z said '*loaded*'; zpty -n -w z '" +
      line + "'$'\\t\\t'; zpty -r z said '*" + text + "*' && print found; zpty -d z";
  return output_of(with_program("HOME=/nonexistent timeout 20 zsh -f -c " + quoted(script) + " 2>&1")) == "found\n";
}

TEST(Completion, ZshOffersSessionsWithTitlesAndEntries) {
  need("zsh");
  const std::string store = "--agent-dir " + kRoot + "/tools/samples/omp ";
  EXPECT_TRUE(zsh_lists("Kite string physics", "arborfs show " + store));
  EXPECT_TRUE(zsh_lists("[#]3 user", "arborfs text " + store + "1472050ec0006b29 b"));
  EXPECT_TRUE(zsh_lists("1472050ec0006b29", "arborfs show " + store + "retr")) << "by a word of its title";
}

TEST(Completion, EveryShellOffersTheSessionsOfAnAgent) {
  need("bash");
  need("fish");
  need("zsh");
  const std::string stores =
      "--store codex=" + kRoot + "/tools/samples/codex --store claude=" + kRoot + "/tools/samples/claude ";
  constexpr char kSession[] = "3de02c36-68c7-4f2d-876a-9a969253a5af";
  EXPECT_EQ(bash_offers("arborfs show " + stores + "claude :", "3"), std::string(kSession) + "\n");
  EXPECT_NE(bash_offers("arborfs show " + stores + "claude", ":").find(kSession), std::string::npos);
  EXPECT_EQ(bash_offers("arborfs show " + stores + "codex :", "3"), "\n");
  EXPECT_EQ(bash_offers("arborfs show " + stores, "claude:3"), "claude:" + std::string(kSession) + "\n")
      << "not broken";
  EXPECT_NE(bash_offers("arborfs text " + stores + "claude : 3de02c36", "''").find("last-user\n"), std::string::npos);
  EXPECT_TRUE(fish_offers("arborfs show " + stores + "claude:3").starts_with("claude:" + std::string(kSession) + "\t"));
  EXPECT_EQ(fish_offers("arborfs show " + stores + "codex:3").find(kSession), std::string::npos);
  EXPECT_TRUE(zsh_lists(kSession, "arborfs show " + stores + "claude:"));
}

TEST(Completion, BashExecutesNoNameOfTheTrash) {
  need("bash");
  const arborfs::testing::TempStore scratch;
  const arborfs::testing::Variable data("XDG_DATA_HOME", scratch.root());
  for (const std::string name : {"plain_name", "x$(touch${IFS}ran)", "x`touch${IFS}ran`"}) {
    const auto folder = std::filesystem::path(scratch.root()) / "arborfs" / "trash" / name;
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "from.json") << R"({"sessions":"/s","folder":"f","file":"x.jsonl"})";
  }
  ASSERT_NE(output_of(with_program("arborfs restore")).find("touch"), std::string::npos);
  EXPECT_EQ(bash_offers("arborfs restore", "''", scratch.root()), "latest\nplain_name\n");
  EXPECT_FALSE(std::filesystem::exists(scratch.root() + "/ran"));
}

TEST(Completion, BashOffersEntriesAfterASession) {
  need("bash");
  const std::string line = " --agent-dir '" + kRoot + "/tools/samples/omp' 1472050ec0006b29";
  for (const std::string verb : {"text", "context", "branch", "label", "fork"}) {
    const std::string offers = bash_offers("arborfs " + verb + line, "''");
    EXPECT_NE(offers.find("b116c08d\n"), std::string::npos) << verb << ": " << offers;
    EXPECT_EQ(offers.find("1472050ec0006b29"), std::string::npos) << verb << ": " << offers;
  }
  EXPECT_NE(bash_offers("arborfs append" + line + " --at", "b1").find("b116c08d\n"), std::string::npos);
  for (const std::string rest : {"show", "append", "title"}) {
    EXPECT_EQ(bash_offers("arborfs " + rest + line, "''"), "\n") << rest;
  }
  EXPECT_NE(bash_offers("arborfs text --agent-dir = '" + kRoot + "/tools/samples/omp' 1472050ec0006b29", "b1")
                .find("b116c08d"),
            std::string::npos);
  EXPECT_EQ(bash_offers("arborfs mount -f -o ro", kRoot + "/packag"), kRoot + "/packaging\n");
  EXPECT_EQ(bash_offers("arborfs new --title x", kRoot + "/packag"), kRoot + "/packaging\n");
  for (const std::string several : {"doctor", "rm"}) {
    EXPECT_NE(bash_offers("arborfs " + several + line, "14").find("1472050ec0006b29\n"), std::string::npos) << several;
  }
}

TEST(Completion, FishKnowsEveryVerbAndOption) {
  need("fish");
  const std::string verbs = fish_offers("arborfs ");
  for (const VerbOptions& of : arborfs::cli::all_options()) {
    EXPECT_NE(verbs.find(of.verb), std::string::npos) << of.verb << " is not among " << verbs;
    const std::string options = fish_offers("arborfs " + of.verb + (of.verb.empty() ? "--" : " --"));
    for (const auto& option : of.options) {
      if (option.starts_with("--")) {
        EXPECT_NE(options.find(option), std::string::npos) << of.verb << " " << option << " is not among " << options;
      }
    }
  }
}

TEST(Completion, ZshLoadsAndNamesEveryOption) {
  need("zsh");
  const std::string script =
      "autoload -Uz compinit && compinit -u -D && source <(arborfs completion zsh) && "
      "print -r -- ${_comps[arborfs]}";
  EXPECT_EQ(output_of(with_program("HOME=/nonexistent zsh -f -c " + quoted(script) + " 2>&1")), "_arborfs\n");
  const std::string text = text_of("packaging/completions/_arborfs");
  for (const VerbOptions& of : arborfs::cli::all_options()) {
    EXPECT_TRUE(of.verb.empty() || text.find("'" + of.verb + ":") != std::string::npos) << of.verb;
    for (const auto& option : of.options) {
      EXPECT_NE(text.find(option), std::string::npos) << of.verb << " " << option;
    }
  }
}

}  // namespace
