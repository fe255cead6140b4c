// Every file that has the name of a log is a session once, or is counted with a reason: generated stores of all formats
// with links, loops, depths, other types of files and compressed copies.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/registry.h"
#include "core/os/state_dir.h"
#include "core/session/catalog.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using Rng = std::mt19937;

constexpr int kStores = 1000 / arborfs::testing::kSanitizedShare;  // of each format

std::string uuid(std::uint32_t number) {
  std::string digits = std::to_string(100'000'000 + number);
  return "01a1ffe5-09c1-7be0-82ef-000" + digits;
}

/// A format's names of folders of logs and of logs.
struct Layout {
  const char* agent;
  std::vector<std::string> folders;
  /// The path of a log with this number below a folder.
  std::string (*log)(std::uint32_t number);
  std::string content;
};

std::string omp_log(std::uint32_t number) {
  return "2026-02-16T10-20-30-000Z_" + std::to_string(100'000 + number) + ".jsonl";
}

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {
      {"omp", {"sessions/--a--", "sessions/--b--"}, omp_log, testing::TempStore::two_entries()},
      {"pi", {"sessions/--a--", "sessions"}, omp_log, testing::TempStore::two_entries()},
      {"opal",
       {"sessions"},
       [](std::uint32_t number) { return uuid(number) + ".jsonl"; },
       R"({"type":"session","session_id":"x","current_id":null,"metadata":{}})"},
      {"opencode",
       {"storage/session/p1", "storage/session/p2"},
       [](std::uint32_t number) { return "ses_" + std::to_string(100'000 + number) + ".json"; },
       R"({"id":"ses_1","projectID":"p1","directory":"/w","title":"t","time":{"created":1,"updated":2}})"},
      {"claude",
       {"projects/-a", "projects/-b", "projects/-a/" + uuid(900) + "/subagents",
        "projects/-a/" + uuid(900) + "/subagents/workflows/one/deeper"},
       [](std::uint32_t number) { return uuid(number) + ".jsonl"; },
       R"({"type":"user","uuid":"u1","sessionId":"s1","cwd":"/w","message":{"role":"user","content":"hi"}})"},
      {"codex",
       {"sessions/2026/01/02", "sessions/2026/01/02/deeper", "sessions", "archived_sessions", "archived_sessions/x"},
       [](std::uint32_t number) { return "rollout-2026-01-02T03-04-05-" + uuid(number) + ".jsonl"; },
       R"({"type":"session_meta","payload":{"id":"x","cwd":"/w"}})"},
      {"goat",
       {"."},
       [](std::uint32_t number) { return "session-" + std::to_string(number) + "/messages.jsonl"; },
       R"({"uuid":"u1","message":{"role":"user","content":"hi"}})"},
  };
  return all;
}

/// A generated store, and every name of a log in it.
class Generated {
 public:
  Generated(const Layout& layout, Rng& rng)
      : layout_(layout), rng_(rng), root_(temp_.root()), outside_(root_ / "outside") {
    root_ /= "store";
    fs::create_directories(outside_);
    for (const std::string& folder : layout.folders) {
      fs::create_directories(root_ / folder);
    }
    write(new_name());
    for (int i = 0; i < 6; ++i) {
      add_something();
    }
  }
  [[nodiscard]] fs::path root() const { return root_; }
  [[nodiscard]] const std::vector<fs::path>& names() const { return names_; }

 private:
  std::uint32_t below(std::size_t end) { return static_cast<std::uint32_t>(rng_() % end); }
  /// The name of a log that is not there yet.
  fs::path new_name() {
    const fs::path folder = root_ / layout_.folders[below(layout_.folders.size())];
    names_.push_back((folder / layout_.log(++number_)).lexically_normal());
    fs::create_directories(names_.back().parent_path());
    return names_.back();
  }
  void write(const fs::path& path) { std::ofstream(path) << layout_.content << "\n"; }
  fs::path outside_log() {
    const fs::path path = outside_ / ("log" + std::to_string(++number_));
    write(path);
    return path;
  }
  void add_something() {
    switch (below(9)) {
      case 0:
      case 1:
        return write(new_name());
      case 2:
        return fs::create_symlink(outside_log(), new_name());
      case 3: {
        const fs::path other = names_[below(names_.size())];
        return fs::create_symlink(other, new_name());
      }
      case 4:
        return fs::create_symlink(outside_ / "nowhere", new_name());
      case 5: {
        const fs::path name = new_name();
        return fs::create_symlink(name, name);
      }
      case 6:
        ASSERT_EQ(::mkfifo(new_name().c_str(), 0600), 0);
        return;
      case 7:
        return add_linked_folder();
      default: {
        // OpenCode's sessions are several files each: second names of one of them are known only if they are links.
        const bool may_link = std::string(layout_.agent) != "opencode";
        const fs::path other = names_[below(names_.size())];
        const fs::path name = new_name();
        if (may_link && fs::is_regular_file(fs::symlink_status(other))) {
          return fs::create_hard_link(other, name);
        }
        fs::create_directory(name);
      }
    }
  }
  /// A folder outside with one log and a link back to the store, beside the first folder of logs.
  void add_linked_folder() {
    const std::string name = std::string(layout_.agent) == "opal" ? "" : "linked" + std::to_string(++number_);
    if (name.empty()) {
      return;  // its logs are in one folder
    }
    const fs::path target = outside_ / name;
    const bool is_goat = std::string(layout_.agent) == "goat";
    const fs::path log = is_goat ? "messages.jsonl" : layout_.log(++number_);
    fs::create_directories(target);
    fs::create_directory_symlink(root_, target / "loop");
    write(target / log);
    const fs::path link = (is_goat ? root_ : (root_ / layout_.folders.front()).parent_path()) / name;
    fs::create_directory_symlink(target, link);
    names_.push_back(link / log);
  }

  const Layout& layout_;
  Rng& rng_;
  testing::TempStore temp_;
  fs::path root_;
  fs::path outside_;
  std::uint32_t number_ = 0;
  std::vector<fs::path> names_;
};

class Checked {
 public:
  explicit Checked(const Layout& layout, const Generated& store) {
    auto stores = open_stores({{layout.agent, store.root().string(), false}}, Access::look);
    EXPECT_TRUE(stores) << stores.error().message;
    Catalog catalog(*std::move(stores), "", "");
    catalog.rescan();
    for (const auto& [id, session] : catalog.view()->by_id) {
      const fs::path path = session->store().path_of(session->place());
      paths_.insert(path);
      ++files_[file_of(path)];
    }
    for (const LeftOut& out : catalog.left_out()) {
      EXPECT_FALSE(out.reason.empty()) << out.path;
      left_out_.insert(out.path);
    }
  }
  void check(const std::vector<fs::path>& names) const {
    std::set<File> wanted;
    for (const fs::path& name : names) {
      std::error_code failed;
      const bool is_log = fs::is_regular_file(name, failed);
      if (is_log) {
        wanted.insert(file_of(name));
      }
      EXPECT_TRUE(paths_.contains(name) != left_out_.contains(name))
          << name << (is_log ? " a file" : "") << (paths_.contains(name) ? " is both" : " is neither") << "\nsessions "
          << ::testing::PrintToString(paths_) << "\nleft out " << ::testing::PrintToString(left_out_);
    }
    std::set<File> shown;
    for (const auto& [file, number] : files_) {
      EXPECT_EQ(number, 1U) << "sessions of one file";
      shown.insert(file);
    }
    EXPECT_EQ(shown, wanted);
  }

 private:
  using File = std::pair<dev_t, ino_t>;
  static File file_of(const fs::path& path) {
    struct stat st {};
    EXPECT_EQ(::stat(path.c_str(), &st), 0) << path;
    return {st.st_dev, st.st_ino};
  }
  std::set<fs::path> paths_;
  std::map<File, std::size_t> files_;
  std::set<fs::path> left_out_;
};

class StoreCompletenessTest : public ::testing::TestWithParam<std::size_t> {};

TEST_P(StoreCompletenessTest, EveryNameOfALogIsASessionOnceOrCounted) {
  const Layout& layout = layouts()[GetParam()];
  for (int seed = 0; seed < kStores && !HasFailure(); ++seed) {
    Rng rng(static_cast<std::uint32_t>(seed));
    const Generated store(layout, rng);
    SCOPED_TRACE(std::string(layout.agent) + ", seed " + std::to_string(seed));
    Checked(layout, store).check(store.names());
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, StoreCompletenessTest, ::testing::Range(std::size_t{0}, layouts().size()),
                         [](const auto& row) { return std::string(layouts()[row.param].agent); });

}  // namespace
}  // namespace arborfs
