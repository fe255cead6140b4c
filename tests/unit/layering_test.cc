// The dependencies between the folders of the code, checked by reading the include lines. CMakeLists.txt links them the
// same way, but would not notice the use of only a header. The map in CONTRIBUTING.md shows them to people.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = arborfs::tests::kSourceDir;

using Rooms = std::set<std::string>;

/// The folders that each folder builds on, as CMakeLists.txt links them. A folder may also include what these build on.
const std::map<std::string, Rooms> kArrows = {
    {"core/base", {}},
    {"core/json", {"core/base"}},
    {"core/os", {"core/base"}},
    {"core/sqlite", {"core/os"}},
    {"core/redact", {"core/json", "core/os"}},
    {"core/log", {"core/redact"}},
    {"core/entry", {"core/log"}},
    {"core/store", {"core/entry"}},
    {"core/session", {"core/store"}},
    {"core/html", {"core/entry"}},
    {"core/views", {"core/session", "core/html"}},
    {"core/doctor", {"core/views"}},
    {"core/search", {"core/views", "core/sqlite"}},
    {"core/write", {"core/views", "core/sqlite"}},
    {"core/formats/omp/log", {"core/log"}},
    {"core/formats/omp/context", {"core/formats/omp/log", "core/entry"}},
    {"core/formats/omp/store", {"core/formats/omp/context", "core/session", "core/sqlite"}},
    {"core/formats/omp/edit", {"core/formats/omp/store", "core/doctor", "core/write"}},
    {"core/formats/opal", {"core/write"}},
    {"core/formats/opencode", {"core/write"}},
    {"core/formats/claude", {"core/write"}},
    {"core/formats/codex", {"core/write"}},
    {"core/formats/goat", {"core/write"}},
    {"core/formats",
     {"core/formats/omp/edit", "core/formats/opal", "core/formats/opencode", "core/formats/claude",
      "core/formats/codex", "core/formats/goat"}},
    {"fs/nodes", {"core/write", "core/search"}},
    {"fs/control", {"fs/nodes"}},
    {"fs/fuse", {"fs/control"}},
    {"fs", {"fs/fuse", "core/formats"}},
    {"tools", {"fs"}},
};

/// With more lines than this a file is hard to read.
constexpr std::ptrdiff_t kMostLines = 800;

/// A library, and the only files, by the beginning of their path, that may include it.
struct Reserved {
  std::regex header;
  std::vector<std::string> users;
};
const std::vector<Reserved> kReserved = {
    {std::regex("fuse_lowlevel\\.h|fuse3?/fuse.*"), {"fs/fuse/"}},
    {std::regex("rapidjson/.*"), {"core/json/"}},
    {std::regex("simdjson.*"), {"core/json/", "core/entry/", "core/formats/"}},
    {std::regex("openssl/.*"), {"core/base/hash.cc"}},
    {std::regex("CLI/.*"), {"tools/"}},
    {std::regex("sqlite3\\.h"), {"core/sqlite/"}},
    {std::regex("zstd\\.h"), {"core/log/zstd_log.cc"}},
    {std::regex("cmark-gfm.*"), {"core/html/markdown_html.cc"}},
    {std::regex("re2/.*"), {"core/redact/"}},
};

struct Include {
  std::string file;  // relative to the root
  std::string header;
};

bool is_source(const fs::path& path) {
  return path.extension() == ".cc" || path.extension() == ".h" || path.extension() == ".in";
}

std::vector<std::string> sources() {
  std::vector<std::string> found;
  for (const char* top : {"core", "fs", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (entry.is_regular_file() && is_source(entry.path())) {
        found.push_back(fs::relative(entry.path(), kRoot).string());
      }
    }
  }
  return found;
}

std::vector<Include> includes_of(const std::string& file) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::vector<Include> found;
  std::ifstream in(kRoot / file);
  for (std::string line; std::getline(in, line);) {
    if (std::smatch match; std::regex_search(line, match, kInclude)) {
      found.push_back({file, match[1]});
    }
  }
  return found;
}

/// "core/log" for core/log/x.cc, "fs/nodes" for fs/nodes/x.cc, "tools" for what is in no smaller room of tools/; ""
/// outside the code.
std::string room_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  if (kArrows.count(folder) == 1) {
    return folder;
  }
  return path.starts_with("tools/") ? "tools" : "";
}

/// Every folder that `room` builds on, directly or not.
Rooms rooms_below(const std::string& room) {
  Rooms found;
  for (const auto& next : kArrows.at(room)) {
    found.insert(next);
    found.merge(rooms_below(next));
  }
  return found;
}

TEST(Layering, EverySourceIsInARoom) {
  const auto all = sources();
  EXPECT_GT(all.size(), 40U);
  for (const auto& file : all) {
    EXPECT_NE(room_of(file), "") << file << " is in no room: add its folder to kArrows here, to CMakeLists.txt and to "
                                 << "the map in CONTRIBUTING.md";
  }
}

TEST(Layering, IncludesFollowTheArrows) {
  for (const auto& file : sources()) {
    const std::string from = room_of(file);
    const Rooms below = from.empty() ? Rooms() : rooms_below(from);  // EverySourceIsInARoom reports a file outside
    for (const auto& include : includes_of(file)) {
      const std::string to = room_of(include.header);
      EXPECT_TRUE(from.empty() || to.empty() || to == from || below.count(to) == 1)
          << file << " includes " << include.header << ", but there is no arrow from " << from << " to " << to;
    }
  }
}

TEST(Layering, NoFileHasTooManyLines) {
  for (const auto& file : sources()) {
    std::ifstream in(kRoot / file);
    EXPECT_LE(std::count(std::istreambuf_iterator<char>(in), {}, '\n'), kMostLines) << file;
  }
}

TEST(Layering, OwnHeadersAreNamedFromTheRoot) {
  for (const auto& file : sources()) {
    for (const auto& include : includes_of(file)) {
      const bool is_beside = fs::exists((kRoot / file).parent_path() / include.header);
      EXPECT_FALSE(is_beside && room_of(include.header).empty())
          << file << " includes " << include.header << " without its folder";
    }
  }
}

TEST(Layering, LibrariesStayInTheirRooms) {
  for (const auto& file : sources()) {
    for (const auto& include : includes_of(file)) {
      for (const auto& reserved : kReserved) {
        if (!std::regex_match(include.header, reserved.header)) {
          continue;
        }
        const bool may = std::any_of(reserved.users.begin(), reserved.users.end(),
                                     [&](const std::string& user) { return file.starts_with(user); });
        EXPECT_TRUE(may) << file << " includes " << include.header;
      }
    }
  }
}

/// Lines without one of the words cannot match, and a regular expression would take a hundred times as long to say so.
bool has_word(const std::string& line, const std::vector<const char*>& words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return line.find(word) < line.size(); });
}

/// What only the folder of a format may know: the ending of its logs and omp's dialects.
const std::regex kOfAFormat(R"(\.jsonl"|\bDialect::|\bomp1[38]\b|core/formats/)");
const std::vector<const char*> kWordsOfAFormat = {"jsonl", "Dialect", "omp1", "core/formats/"};

/// The files outside core/formats that may have such words, and why.
const std::map<std::string, std::string> kNamesAFormat = {
    {"core/session/notes.h", "a file that arborfs itself keeps"},
    {"core/session/store_state.cc", "the files that arborfs itself keeps"},
    {"core/views/session_views.cc", "the view raw.jsonl"},
    {"core/write/trash.cc", "a file that arborfs itself keeps"},
    {"fs/mount.h", "the list of formats"},
    {"fs/mount.cc", "the list of formats"},
};

TEST(Layering, OnlyFormatsKnowTheirLogs) {
  std::set<std::string> naming;
  for (const auto& file : sources()) {
    if (file.starts_with("core/formats/") || file.starts_with("tools/")) {
      continue;
    }
    std::ifstream in(kRoot / file);
    for (std::string line; std::getline(in, line);) {
      if (has_word(line, kWordsOfAFormat) && std::regex_search(line.substr(0, line.find("//")), kOfAFormat)) {
        naming.insert(file);
        EXPECT_EQ(kNamesAFormat.count(file), 1U) << file << " knows a format: " << line;
      }
    }
  }
  for (const auto& [file, what] : kNamesAFormat) {
    EXPECT_EQ(naming.count(file), 1U) << file << " (" << what << ") needs no exception";
  }
}

// Then the same things have the same names: omp::Writer and opal::Writer, each in writer.h.
TEST(Layering, EachFormatHasANamespace) {
  for (const auto& file : sources()) {
    static const std::regex kOfAnAgent(R"(core/formats/([a-z]+)/(.+/)?([a-z_]+)\.(h|cc))");
    std::smatch parts;
    if (!std::regex_match(file, parts, kOfAnAgent)) {
      continue;
    }
    const std::string agent = parts[1];
    EXPECT_EQ(parts[3].str().find(agent + "_"), std::string::npos) << file << " repeats the name of its folder";
    std::ifstream in(kRoot / file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NE(text.find("\nnamespace arborfs::" + agent + " {\n"), std::string::npos) << file;
    EXPECT_EQ(text.find("\nnamespace arborfs {\n"), std::string::npos) << file;
  }
}

/// Calls that change a disk, in any C++ spelling.
const std::regex kChangesADisk(
    R"((^|\W)::(p?writev?2?|pwrite64|rename(at2?)?|unlink(at)?|rmdir|mkdir(at)?|f?truncate|f(data)?sync|sync(fs)?)"
    R"(|sync_file_range|(sym)?link(at)?|creat|(posix_)?fallocate|utimensat|futimens|f?chmod(at)?|f?chown(at)?)"
    R"(|sendfile|copy_file_range|mk(os?)?temps?|mkdtemp|mknod(at)?|mkfifo(at)?|syscall)\()"
    R"(|(fs|filesystem)::(copy\w*|rename|remove\w*|create_\w+|resize_file|permissions|last_write_time)\()"
    R"(|std::(o?fstream|rename)\b|\b(fopen|filebuf)\b|\bO_(CREAT|TMPFILE|TRUNC)\b)");

const std::vector<const char*> kWordsOfChanges = {"fs::",  "filesystem::", "fstream", "std::rename",
                                                  "fopen", "filebuf",      "O_"};

/// A name of the global namespace: `::` without a name before it.
bool has_global_name(const std::string& code) {
  for (std::size_t at = code.find("::"); at != std::string::npos; at = code.find("::", at + 2)) {
    if (at == 0 || (std::isalnum(static_cast<unsigned char>(code[at - 1])) == 0 && code[at - 1] != '_')) {
      return true;
    }
  }
  return false;
}

/// The files that may make such calls, and why.
const std::map<std::string, std::string> kChangesNoStore = {
    {"core/os/disk.cc", "the disk itself"},
    {"core/base/log.cc", "what the program tells of itself"},
    {"core/os/links.cc", "where a link leads, opened for reading"},
    {"core/os/file.cc", "a nameless temporary file for what is decoded"},
    {"core/sqlite/connection.cc", "space for the memory that SQLite shares through a file"},
    {"fs/mount.cc", "a pipe between the program and its background"},
    {"fs/fuse/fuse_operations.cc", "a flag that a client gave"},
    {"core/base/threads.cc", "how threads are scheduled"},
    {"fs/fuse/mountpoint.cc", "the control file of a FUSE connection"},
    {"tools/arborfs/draft.cc", "a temporary file for an editor"},
    {"tools/arborfs/programs.cc", "the rows that fzf shows, in memory"},
};

// Tests that make the disk fail do not reach code that bypasses core/os/disk.h.
TEST(Layering, DiskIsChangedOnlyThroughDisk) {
  std::set<std::string> changing;
  for (const auto& file : sources()) {
    if (file.starts_with("tools/generate/") || file.starts_with("tools/benchmarks/")) {
      continue;  // programs for developers that never write a user's store
    }
    std::ifstream in(kRoot / file);
    for (std::string line; std::getline(in, line);) {
      const std::string code = line.substr(0, line.find("//"));
      const bool may = has_global_name(code) || has_word(code, kWordsOfChanges);
      if (may && std::regex_search(code, kChangesADisk)) {
        changing.insert(file);
        EXPECT_EQ(kChangesNoStore.count(file), 1U) << file << " changes the disk without Disk: " << line;
      }
    }
  }
  for (const auto& [file, what] : kChangesNoStore) {
    EXPECT_EQ(changing.count(file), 1U) << file << " (" << what << ") needs no exception";
  }
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Layering, BuildLinksFollowTheArrows) {
  const std::string text = text_of(kRoot / "CMakeLists.txt");
  static const std::regex kLibrary(R"(arborfs_library\((\w+) ([\w/]+)([^)]*)\))");
  std::map<std::string, std::string> folder_of;
  std::vector<std::smatch> calls;
  Rooms built;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kLibrary); at != std::sregex_iterator(); ++at) {
    folder_of[(*at)[1]] = (*at)[2];
    built.insert((*at)[2]);
    calls.push_back(*at);
  }
  for (const auto& [room, below] : kArrows) {
    EXPECT_EQ(built.count(room) == 1, room != "tools")
        << room << ": each room has a library in CMakeLists.txt, except tools, which has its own CMakeLists.txt";
  }
  for (const auto& call : calls) {
    if (kArrows.count(call[2]) == 0) {
      ADD_FAILURE() << call[2] << " has a library in CMakeLists.txt, but no row in kArrows here";
      continue;
    }
    Rooms linked;
    for (const auto& [library, folder] : folder_of) {
      if (std::regex_search(call[3].str(), std::regex("\\b" + library + "\\b"))) {
        linked.insert(folder);
      }
    }
    EXPECT_EQ(linked, kArrows.at(call[2])) << call[1] << " links other rooms than kArrows here has for " << call[2];
  }
}

/// The rooms of `all` that the words after an arrow of the map name: a word is the end of a room's path.
Rooms named_rooms(const std::string& words, const Rooms& all) {
  Rooms found;
  static const std::regex kWord(R"([\w/]+)");
  for (auto at = std::sregex_iterator(words.begin(), words.end(), kWord); at != std::sregex_iterator(); ++at) {
    for (const std::string& room : all) {
      if (("/" + room).ends_with("/" + at->str())) {
        found.insert(room);
      }
    }
  }
  return found;
}

TEST(Layering, MapOfContributingHasTheArrows) {
  const std::string text = text_of(kRoot / "CONTRIBUTING.md");
  static const std::regex kLine(R"(\n    ([\w/]+)  [^\n]*?(?:->([^\n]*)|\(nothing\)))");
  std::map<std::string, std::string> map;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kLine); at != std::sregex_iterator(); ++at) {
    map[(*at)[1]] = (*at)[2];
  }
  for (const auto& [room, below] : kArrows) {
    const std::string shown = room == "tools" ? "tools/arborfs" : room;
    const auto line = map.find(shown);
    if (line == map.end()) {
      ADD_FAILURE() << shown << " is not in the map of CONTRIBUTING.md";
    } else if (line->second.find("others above") == std::string::npos) {
      EXPECT_EQ(named_rooms(line->second, below), below) << "the map of CONTRIBUTING.md lacks an arrow of " << shown;
    }
    map.erase(shown);
  }
  for (const auto& [room, words] : map) {
    ADD_FAILURE() << room << " is in the map of CONTRIBUTING.md, but has no row in kArrows here";
  }
}

// No test is left out: every file in tests/ is built, run, or read by something that is.
TEST(Layering, EveryTestIsBuilt) {
  const std::string cmake = text_of(kRoot / "tests/CMakeLists.txt");
  const std::string preloaded = text_of(kRoot / "tests/mount/CMakeLists.txt");
  std::set<std::string> folders;
  static const std::regex kProgram(R"(arborfs_test_program\(\w+ (\w+) )");
  for (auto at = std::sregex_iterator(cmake.begin(), cmake.end(), kProgram); at != std::sregex_iterator(); ++at) {
    folders.insert((*at)[1]);
  }
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "tests")) {
    const std::string path = fs::relative(entry.path(), kRoot / "tests").string();
    const std::string folder = path.substr(0, path.find('/'));
    if (!entry.is_regular_file() || folder == "corpus") {
      continue;
    }
    if (entry.path().extension() == ".cc") {
      const bool is_case = path.ends_with("_test.cc") && folders.count(folder) == 1;
      const bool is_fuzz = path.starts_with("fuzz/fuzz_") || path.starts_with("fuzz/support/");
      const bool is_shim =
          folder == "mount" && preloaded.find(" " + entry.path().filename().string() + ")") < preloaded.size();
      const bool is_program = cmake.find("CMAKE_CURRENT_SOURCE_DIR}/" + path + ")") != std::string::npos;
      EXPECT_TRUE(is_case || is_fuzz || is_shim || is_program || folder == "support") << path << " is built by nothing";
    }
    if (entry.path().extension() == ".py" && folder == "mount") {
      EXPECT_TRUE(path == "mount/run.py" || path.starts_with("mount/cases_")) << path << " is run by nothing";
    }
  }
}

TEST(Layering, FuzzTargetsAndInputsMatch) {
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/fuzz")) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name != "support") {
      EXPECT_TRUE(fs::exists(entry.path().string() + ".cc")) << name << " are inputs of no target";
    } else if (entry.path().extension() == ".cc") {
      const auto inputs = kRoot / "tests/fuzz" / entry.path().stem();
      EXPECT_TRUE(fs::is_directory(inputs) && !fs::is_empty(inputs)) << name << " has no inputs to replay";
    }
  }
}

TEST(Layering, EveryCorpusCaseIsInItsIndex) {
  const std::string index = text_of(kRoot / "tests/corpus/INDEX.jsonl");
  for (const auto& entry : fs::directory_iterator(kRoot / "tests/corpus")) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.front() != '_') {
      EXPECT_NE(index.find('"' + name + '"'), std::string::npos) << name << " is not in INDEX.jsonl";
    }
  }
}

}  // namespace
