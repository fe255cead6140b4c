// Forks to another agent: the sessions of every sample store, forked to every agent that accepts conversations, have
// the same content there. Parts that an agent cannot represent are text, and are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/doctor/examine.h"
#include "core/formats/registry.h"
#include "core/json/base64.h"
#include "core/json/utf8.h"
#include "core/session/catalog.h"
#include "core/write/conversation.h"
#include "core/write/writer.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/paths.h"
#include "tests/support/sanitized.h"
#include "tests/support/sent_messages.h"
#include "tests/support/temp_store.h"

namespace arborfs::conformance {
namespace {

namespace fs = std::filesystem;

/// An agent that conversations are written for.
struct Target {
  std::string_view agent;
  std::string_view store = "";  // below the sources, if not empty
  bool has_reasoning = true;
  bool has_images = true;
  bool has_errors = true;
};
constexpr std::array kTargets = {
    Target{"omp"},
    Target{"pi"},
    Target{.agent = "opal", .has_images = false},
    Target{.agent = "opencode", .store = "tests/opencode/fresh-1.18.33"},
    Target{.agent = "opencode", .store = "tests/opencode/first-sqlite-1.2.1"},
    Target{.agent = "opencode", .store = "tests/opencode/files"},
    Target{.agent = "claude", .has_reasoning = false},
    Target{.agent = "codex", .has_reasoning = false, .has_errors = false},
    Target{.agent = "goat", .has_reasoning = false, .has_errors = false},
};

struct Source {
  std::string_view agent;
  std::string_view folder;  // below the sources
};
constexpr std::string_view kCorpus = "tests/corpus";
constexpr std::array kSources = {
    Source{"omp", kCorpus},
    Source{"omp", "tools/samples/omp"},
    Source{"pi", "tools/samples/pi"},
    Source{"pi", "tests/pi"},
    Source{"opal", "tools/samples/opal"},
    Source{"opal", "tests/opal"},
    Source{"opal", "tests/opal/dets"},
    Source{"opencode", "tools/samples/opencode"},
    Source{"opencode", "tools/samples/opencode-files"},
    Source{"opencode", "tests/opencode/files"},
    Source{"opencode", "tests/opencode/fresh-1.18.33"},
    Source{"claude", "tools/samples/claude"},
    Source{"claude", "tests/claude"},
    Source{"codex", "tools/samples/codex"},
    Source{"codex", "tests/codex/legacy"},
    Source{"codex", "tests/codex/paginated"},
    Source{"goat", "tools/samples/goat"},
    Source{"goat", "tests/goat/nested"},
    Source{"goat", "tests/goat/flat"},
};

/// The content of a conversation, kind by kind.
struct Sayings {
  std::vector<std::string> texts;
  std::vector<std::string> reasoning;
  std::vector<std::string> calls;
  std::vector<std::string> results;
  std::vector<std::string> images;
  std::size_t errors = 0;
};

Sayings sayings_of(const Conversation& conversation) {
  Sayings said;
  for (const Turn& turn : conversation.turns) {
    for (const TurnPart& part : turn.parts) {
      for (const TurnImage& image : part.images) {
        said.images.push_back(image.media_type + " " + image.base64);
      }
      switch (part.kind) {
        case TurnPart::Kind::text:
          said.texts.push_back(part.text);
          break;
        case TurnPart::Kind::reasoning:
          said.reasoning.push_back(part.text);
          break;
        case TurnPart::Kind::tool_call:
          said.calls.push_back(part.tool + " " + part.text);
          break;
        case TurnPart::Kind::tool_result:
          said.results.push_back(part.text);
          said.errors += part.is_error ? 1 : 0;
          break;
        case TurnPart::Kind::image:
          break;
      }
    }
  }
  return said;
}

/// Every file below a folder with its bytes and the time of its last change.
std::map<std::string, std::string> bytes_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.is_regular_file()) {
      std::ifstream in(file.path(), std::ios::binary);
      std::ostringstream bytes;
      bytes << in.rdbuf() << file.last_write_time().time_since_epoch().count();
      files[file.path().string()] = bytes.str();
    }
  }
  return files;
}

/// The files and folders below a folder.
std::set<std::string> paths_below(const fs::path& folder) {
  std::set<std::string> paths;
  for (const auto& one : fs::recursive_directory_iterator(folder)) {
    paths.insert(one.path().string());
  }
  return paths;
}

/// The store of an agent that arborfs fills. OpenCode's must have been made by the program.
std::string make_target_store(const Target& target, const std::string& root) {
  const std::string place = root + "/to-" + std::string(target.agent);
  if (target.store.empty()) {
    fs::create_directories(place);
  } else {
    fs::copy(fs::path(tests::kSourceDir) / target.store, place, fs::copy_options::recursive);
  }
  return place;
}

/// Copies a store. The corpus has a folder for each log, which becomes a folder of one agent dir.
void copy_store(std::string_view folder, const fs::path& to) {
  const fs::path from = fs::path(tests::kSourceDir) / folder;
  if (folder != kCorpus) {
    return fs::copy(from, to, fs::copy_options::recursive);
  }
  for (const auto& one : fs::directory_iterator(from)) {
    const fs::path log = one.path() / "session.jsonl";
    if (fs::exists(log)) {
      const fs::path made = to / "sessions" / one.path().filename();
      fs::create_directories(made);
      fs::copy(log, made / (one.path().filename().string() + ".jsonl"));
    }
    if (fs::exists(one.path() / "blobs")) {
      fs::copy(one.path() / "blobs", to / "blobs", fs::copy_options::recursive | fs::copy_options::skip_existing);
    }
  }
}

/// What the agent would send to its model from the leaf: the text of context.json.
std::string context_of(const Session& session) {
  const auto guard = session.read();
  if (!guard) {
    return "";
  }
  const auto path = context_path(guard->index(), guard->leaf());
  const auto content = session.format().renderer->context(path, guard->log(), session.store().blobs());
  const auto text = content ? (*content)->read_all() : Result<std::string>(content.error());
  return text ? *text : "";
}

/// True for a text that Codex puts in for the model (codex/FORMAT.md E1).
bool is_inserted(const std::string& text) {
  return text.starts_with("<") || text.starts_with("# AGENTS.md");
}

// Programs wrote most of these sessions, and go on with them.
TEST(ForeignForks, NoSampleHasACallOrAResultThatModelsRefuse) {
  for (const Source& source : kSources) {
    testing::TempStore scratch;
    const fs::path from = fs::path(scratch.root()) / "from";
    copy_store(source.folder, from);
    auto stores = open_stores({{std::string(source.agent), from.string(), false}}, Access::look);
    ASSERT_TRUE(stores);
    Catalog catalog(*stores, "/home/sam", "");
    catalog.rescan();
    for (const auto& [id, session] : catalog.view()->by_id) {
      std::vector<Finding> found;
      if (session->refresh(Depth::index)) {
        find_in_pairs(*session, catalog, found);
      }
      EXPECT_TRUE(found.empty()) << source.folder << " " << id << ": " << found.front().text;
    }
  }
}

class Forks {
 public:
  Forks(const Source& source, const Target& target) : target_(target) {
    const fs::path from = fs::path(scratch_.root()) / "from";
    copy_store(source.folder, from);
    const std::vector<ChosenStore> chosen = {
        {std::string(source.agent), from.string(), false},
        {std::string(target.agent), make_target_store(target, scratch_.root()), false}};
    auto stores = open_stores(chosen, Access::write);
    EXPECT_TRUE(stores);
    catalog_ = std::make_unique<Catalog>(*stores, "/home/sam", "");
    catalog_->rescan();
    WriteSettings settings;
    settings.durability = Durability::none;  // the failing calls below are with it
    writer_ = make_writer(*catalog_, settings);
    before_ = bytes_below(from);
  }

  [[nodiscard]] std::vector<SessionPtr> sources() const {
    std::vector<SessionPtr> sessions;
    const auto view = catalog_->view();
    for (const auto& [id, session] : view->by_id) {
      if (session->store_number() == 0) {
        sessions.push_back(session);
      }
    }
    return sessions;
  }

  Result<AdoptResult> fork(const std::string& cwd) {
    return writer_->fork_to(sources().front(), {std::string(target_.agent), "", "", cwd});
  }
  /// The working directory of a fork for which this one is wanted.
  std::string cwd_of_fork(const std::string& wanted) {
    for (const SessionPtr& session : sources()) {
      if (const auto forked = writer_->fork_to(session, {std::string(target_.agent), "", "", wanted})) {
        return forked->made.session->head().header.cwd;
      }
    }
    return "no session has content";
  }
  /// Forks a session and compares; false if it has no content.
  bool check(const SessionPtr& session) {
    const auto said = read_conversation(session, "");
    const auto forked = writer_->fork_to(session, {std::string(target_.agent), "", "", ""});
    if (!said) {
      EXPECT_FALSE(forked);
      EXPECT_EQ(said.error().code, Errc::invalid_argument) << said.error().message;
      return false;
    }
    EXPECT_TRUE(forked) << (forked ? "" : forked.error().message);
    if (!forked) {
      return false;
    }
    const SessionPtr made = forked->made.session;
    expect_context(*session, *said);
    EXPECT_EQ(made->store_number(), 1);
    EXPECT_EQ(made->agent(), target_.agent);
    EXPECT_TRUE(made->refresh(Depth::index));
    EXPECT_EQ(made->head().problem, "");
    if (target_.agent != "pi") {  // whose logs arborfs does not change
      EXPECT_EQ(made->head().header.problem, "");
    }
    {
      const auto guard = made->read();
      EXPECT_TRUE(guard && guard->index().damage().empty() && guard->index().tip_count() == 1);
    }
    const auto read = read_conversation(made, "");
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    if (read) {
      compare(*said, *read, forked->as_text);
    }
    return read.has_value();
  }

  void expect_sources_unchanged() const { EXPECT_EQ(bytes_below(fs::path(scratch_.root()) / "from"), before_); }

 private:
  void compare(const Conversation& before, const Conversation& after, const AsText& counts) const {
    const Sayings was = sayings_of(before);
    const Sayings now = sayings_of(after);
    EXPECT_EQ(now.calls, was.calls);
    EXPECT_EQ(now.reasoning, target_.has_reasoning ? was.reasoning : std::vector<std::string>());
    EXPECT_EQ(now.images, target_.has_images ? was.images : std::vector<std::string>());
    EXPECT_EQ(now.errors, target_.has_errors ? was.errors : 0);
    EXPECT_EQ(counts.reasoning, before.as_text.reasoning + (target_.has_reasoning ? 0 : was.reasoning.size()));
    EXPECT_EQ(counts.images, before.as_text.images + (target_.has_images ? 0 : was.images.size()));
    EXPECT_EQ(counts.errors, before.as_text.errors + (target_.has_errors ? 0 : was.errors));
    EXPECT_EQ(counts.notes, before.as_text.notes);
    if (target_.has_reasoning && target_.has_images) {
      EXPECT_EQ(now.texts, was.texts);
    } else {
      expect_all(was.texts, now.texts);
      expect_all(target_.has_reasoning ? std::vector<std::string>() : was.reasoning, now.texts);
    }
    EXPECT_EQ(now.results.size(), was.results.size());
    for (std::size_t i = 0; i < std::min(now.results.size(), was.results.size()); ++i) {
      EXPECT_NE(now.results[i].find(was.results[i]), std::string::npos) << now.results[i];
    }
    if (!before.title.empty() || target_.agent != "opencode") {  // which has a title for sessions without one
      EXPECT_EQ(after.title, before.title);
    }
    EXPECT_EQ(after.as_text.calls + after.as_text.results, 0U);
  }

  /// Every text of the source's context.json is in the conversation.
  static void expect_context(const Session& session, const Conversation& said) {
    std::vector<std::string> wanted;
    const testing::SentMessages sent(session.agent(), context_of(session));
    for (const testing::SentMessage& message : sent.list()) {
      for (const testing::SentItem& item : message.items) {
        const bool is_text = item.kind == testing::SentItem::Kind::text ||
                             item.kind == testing::SentItem::Kind::reasoning ||
                             item.kind == testing::SentItem::Kind::result;
        if (message.role != testing::SentMessage::Role::other && is_text && !is_inserted(item.text) &&
            item.text.find_first_not_of(" \t\r\n") != std::string::npos) {
          wanted.push_back(json::replace_lone_surrogates(item.text));
        }
      }
    }
    const Sayings found = sayings_of(said);
    std::vector<std::string> texts = found.texts;
    texts.insert(texts.end(), found.reasoning.begin(), found.reasoning.end());
    texts.insert(texts.end(), found.results.begin(), found.results.end());
    expect_all(wanted, texts);
  }

  /// Every one of `wanted` is part of one of `texts`.
  static void expect_all(const std::vector<std::string>& wanted, const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) {
      all += text + "\n";
    }
    for (const std::string& text : wanted) {
      EXPECT_NE(all.find(text), std::string::npos) << text;
    }
  }

  testing::TempStore scratch_;
  const Target target_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<Writer> writer_;
  std::map<std::string, std::string> before_;
};

class ForeignFork : public ::testing::TestWithParam<std::tuple<Source, Target>> {};

TEST_P(ForeignFork, SaysWhatItsSourceSays) {
  const auto& [source, target] = GetParam();
  Forks forks(source, target);
  std::size_t said = 0;
  const std::vector<SessionPtr> sources = forks.sources();
  const std::size_t step = sources.size() > 50 ? testing::kSanitizedShare : 1;  // those of the corpus
  for (std::size_t i = 0; i < sources.size(); i += step) {
    const SessionPtr& session = sources[i];
    if (session->agent() != target.agent) {
      SCOPED_TRACE(session->stem());
      said += forks.check(session) ? 1 : 0;
    } else {
      ++said;
    }
  }
  EXPECT_GT(said, 0U);
  forks.expect_sources_unchanged();
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Source, Target>>& info) {
  std::string name = std::string(std::get<0>(info.param).folder) + "_to_" + std::string(std::get<1>(info.param).agent) +
                     std::string(std::get<1>(info.param).store);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Samples, ForeignFork,
                         ::testing::Combine(::testing::ValuesIn(kSources), ::testing::ValuesIn(kTargets)), name_of);

/// The names of the files below a folder.
std::set<std::string> files_below(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& [name, bytes] : bytes_below(folder)) {
    names.insert(name);
  }
  return names;
}

/// A session of Codex and the store of another agent, on a disk whose operations can fail.
struct ForkOfCodex {
  explicit ForkOfCodex(const Target& to) : target(to), place(make_target_store(to, scratch.root())) {
    const std::string from = scratch.root() + "/from";
    copy_store("tools/samples/codex", from);
    const auto stores =
        open_stores({{"codex", from, false}, {std::string(to.agent), place, false}}, Access::write, disk);
    EXPECT_TRUE(stores);
    catalog = std::make_unique<Catalog>(*stores, "/home/sam", "");
    catalog->rescan();
    writer = make_writer(*catalog, {});
    const auto found = catalog->find("019c4740-4400-7084-801f-7a603712c18d");
    EXPECT_TRUE(found);
    session = *found;
  }
  Result<AdoptResult> fork() { return writer->fork_to(session, {std::string(target.agent), "", "", ""}); }

  testing::TempStore scratch;
  testing::FaultyDisk disk;
  const Target target;
  const std::string place;  // the other agent's store
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<Writer> writer;
  SessionPtr session;
};

class FailedForeignFork : public ::testing::TestWithParam<Target> {};

TEST_P(FailedForeignFork, LeavesNothing) {
  ForkOfCodex of_codex(GetParam());
  testing::FaultyDisk& disk = of_codex.disk;
  unsigned failures = 0;
  for (unsigned operation = 1;; ++operation) {
    const auto before = files_below(of_codex.place);
    disk.arm(testing::Fault::io, operation, 1);
    const auto forked = of_codex.fork();
    const bool is_met = !disk.met().empty();
    const bool is_synced_late = is_met && disk.met().front() == "sync_folder";
    disk.disarm();
    if (!is_met) {
      EXPECT_TRUE(forked);
      break;
    }
    if (!forked) {
      ++failures;
      EXPECT_EQ(forked.error().code, Errc::io) << operation;
    }
    if (!forked && files_below(of_codex.place) != before) {
      EXPECT_TRUE(is_synced_late) << operation;
      EXPECT_THAT(forked.error().message, ::testing::HasSubstr(" is there, but may not survive a power cut"))
          << operation;
    }
  }
  EXPECT_GT(failures, 3U);
}

TEST(ForeignForks, TakeTheWorkingDirectoryThatIsGiven) {
  Forks forks(kSources[0], Target{"claude"});
  EXPECT_EQ(forks.cwd_of_fork("/given"), "/given");
  EXPECT_NE(forks.cwd_of_fork(""), "/given");
}

TEST(ForeignForks, ToAnAgentWithoutWorkingDirectoriesRefuseOne) {
  Forks forks(kSources[0], Target{"opal"});
  const auto refused = forks.fork("/given");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("do not record a working directory"));
  EXPECT_TRUE(forks.fork(""));
}

/// Temporary files of the last minute, which the next writer leaves alone.
void remove_drafts(const fs::path& folder) {
  for (const std::string& path : paths_below(folder)) {
    const std::string name = fs::path(path).filename().string();
    if (name.starts_with(".arborfs-") && name.ends_with(".tmp")) {
      fs::remove(path);
    }
  }
}

/// From some operation on all fail, as after a kill, for each operation of a fork. The next writer removes what is left
/// of an incomplete session, and leaves everything else.
TEST(LeftoversOfForks, AKilledForkToFilesOfOpenCodeLeavesNothing) {
  ForkOfCodex of_codex(Target{"opencode", "tests/opencode/files"});
  testing::FaultyDisk& disk = of_codex.disk;
  const fs::path opencode = of_codex.place;
  ASSERT_TRUE(of_codex.fork()) << "the project is there from now on";
  auto before = paths_below(opencode);
  ASSERT_TRUE(of_codex.fork());
  const std::size_t whole = paths_below(opencode).size() - before.size();
  unsigned left = 0;
  for (unsigned operation = 1;; ++operation) {
    before = paths_below(opencode);
    disk.arm(testing::Fault::io, operation, testing::FaultyDisk::kForGood);
    const auto forked = of_codex.fork();
    const bool is_met = !disk.met().empty();
    disk.disarm();
    left += paths_below(opencode) != before ? 1 : 0;
    of_codex.writer->take_back_parts();
    remove_drafts(opencode);
    const auto now = paths_below(opencode);
    ASSERT_TRUE(std::includes(now.begin(), now.end(), before.begin(), before.end())) << "operation " << operation;
    const std::size_t made = now.size() - before.size();
    ASSERT_TRUE(made == whole || (!forked && made == 0)) << "operation " << operation << " leaves " << made;
    if (!is_met) {
      break;
    }
  }
  EXPECT_GT(left, 10U);
}

/// Files that a killed process left go with the next start of a writer, unless they may still be in use.
TEST(LeftoversOfForks, GoWhenTheyAreOldAndNotInUse) {
  const testing::TempStore scratch;
  const fs::path claude = fs::path(scratch.root()) / "claude";
  const fs::path opencode = fs::path(scratch.root()) / "opencode";
  fs::create_directories(claude);
  fs::copy(fs::path(tests::kTestData) / "opencode" / "files", opencode, fs::copy_options::recursive);
  const auto stores =
      open_stores({{"claude", claude.string(), false}, {"opencode", opencode.string(), false}}, Access::write);
  ASSERT_TRUE(stores);
  Catalog catalog(*stores, "/home/sam", "");
  catalog.rescan();
  std::vector<fs::path> left{claude / "projects" / "-work"};
  left.push_back(opencode / "storage" / "project");
  left.push_back(fs::directory_iterator(opencode / "storage" / "session")->path());
  for (const fs::path& folder : left) {
    fs::create_directories(folder);
    for (const char* name : {".arborfs-old.tmp", ".arborfs-used.tmp", ".arborfs-young.tmp", "mine.tmp"}) {
      std::ofstream(folder / name) << "part";
      if (std::string_view(name) != ".arborfs-young.tmp") {
        fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::hours(1));
      }
    }
    const std::ofstream user(folder / ".arborfs-used.tmp", std::ios::app);
    make_writer(catalog, {})->take_back_parts();
    EXPECT_FALSE(fs::exists(folder / ".arborfs-old.tmp")) << folder;
    for (const char* name : {".arborfs-used.tmp", ".arborfs-young.tmp", "mine.tmp"}) {
      EXPECT_TRUE(fs::exists(folder / name)) << folder / name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, FailedForeignFork,
                         ::testing::Values(Target{"omp"}, Target{"pi"}, Target{"opal"}, Target{"claude"},
                                           Target{"goat"}, Target{"opencode", "tests/opencode/files"}),
                         [](const auto& target) { return std::string(target.param.agent); });

/// The amount of content in the sample sessions of an agent, counted in their files by hand.
struct Amount {
  Source source;
  std::size_t texts;
  std::size_t reasoning;
  std::size_t calls;
  std::size_t results;
  std::size_t errors;
  std::size_t images;
};

class SampleConversations : public ::testing::TestWithParam<Amount> {};

TEST_P(SampleConversations, AreReadWhole) {
  const Amount& amount = GetParam();
  Forks forks(amount.source, kTargets[0]);
  Amount found{amount.source, 0, 0, 0, 0, 0, 0};
  for (const SessionPtr& session : forks.sources()) {
    const auto read = read_conversation(session, "");
    ASSERT_TRUE(read) << session->stem();
    const Sayings said = sayings_of(*read);
    found.texts += said.texts.size();
    found.reasoning += said.reasoning.size();
    found.calls += said.calls.size();
    found.results += said.results.size();
    found.errors += said.errors;
    found.images += said.images.size();
  }
  EXPECT_EQ(found.texts, amount.texts);
  EXPECT_EQ(found.reasoning, amount.reasoning);
  EXPECT_EQ(found.calls, amount.calls);
  EXPECT_EQ(found.results, amount.results);
  EXPECT_EQ(found.errors, amount.errors);
  EXPECT_EQ(found.images, amount.images);
}

INSTANTIATE_TEST_SUITE_P(Samples, SampleConversations,
                         ::testing::Values(Amount{{"opal", "tools/samples/opal"}, 5, 1, 2, 2, 1, 0},
                                           Amount{{"opencode", "tools/samples/opencode"}, 8, 0, 5, 5, 1, 1},
                                           Amount{{"claude", "tools/samples/claude"}, 10, 1, 5, 5, 1, 1},
                                           Amount{{"codex", "tools/samples/codex"}, 8, 1, 4, 4, 0, 1},
                                           Amount{{"goat", "tools/samples/goat"}, 9, 0, 5, 5, 0, 2}),
                         [](const auto& amount) { return std::string(amount.param.source.agent); });

}  // namespace
}  // namespace arborfs::conformance
