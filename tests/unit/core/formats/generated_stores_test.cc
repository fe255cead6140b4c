// The eight properties that a store of any agent has, whatever its age and its history, over generated stores:
// K1 numbers count once, K2 ids are the agent's, K3 no log is left out in silence, K4 nor is a record, K5 views for
// people keep everything, K6 names are people's words, K7 trees draw each entry once, K8 normal states are no damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/entry/people_path.h"
#include "core/entry/record_renderer.h"
#include "core/formats/registry.h"
#include "core/json/document.h"
#include "core/log/log_reader.h"
#include "core/session/session_name.h"
#include "core/store/format.h"
#include "core/store/store_parts.h"
#include "core/views/session_views.h"
#include "core/views/stats.h"
#include "tests/support/generated_store.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;
using testing::Additions;
using testing::AgentShapes;
using testing::ExpectedSession;
using testing::ExpectedTotals;
using testing::GeneratedStore;

constexpr unsigned kStores = 1000 / arborfs::testing::kSanitizedShare;

class GeneratedStores : public ::testing::TestWithParam<AgentShapes> {
 protected:
  void for_each(Additions additions, const std::function<void(const GeneratedStore&, Catalog&)>& check) const {
    const testing::TempStore temp(testing::memory_folder());
    for (unsigned number = 0; number < kStores && !HasFailure(); ++number) {
      SCOPED_TRACE(GetParam().agent + ", store " + std::to_string(number));
      const GeneratedStore store(GetParam(), number, temp.root() + "/stores", additions);
      check(store, *store.open());
    }
  }
  /// Calls for each session with what is expected of it; fails if there are others.
  void for_each_session(Additions additions,
                        const std::function<void(const ExpectedSession&, Session&, Catalog&)>& check) const {
    for_each(additions, [&](const GeneratedStore& store, Catalog& catalog) {
      const auto view = catalog.view();
      EXPECT_EQ(view->by_id.size(), store.sessions().size());
      for (const ExpectedSession& expected : store.sessions()) {
        const SessionPtr session = view->by_id_prefix(expected.id);
        ASSERT_TRUE(session) << expected.id;
        const Session::Use use(session);
        ASSERT_TRUE(session->refresh(Depth::details)) << expected.id;
        SCOPED_TRACE(expected.id);
        check(expected, *session, catalog);
      }
    });
  }
  static std::string view_of(const Session& session, const char* name, const Catalog& catalog) {
    const auto view = make_view(session, *find_view(name), 0, catalog);
    EXPECT_TRUE(view) << name << ": " << (view ? "" : view.error().message);
    const auto text = view ? view->content->read_all() : Result<std::string>(view.error());
    return text ? *text : "";
  }
};

std::size_t count(const std::string& text, std::string_view words) {
  std::size_t found = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + words.size())) {
    ++found;
  }
  return found;
}

void expect_totals(const ExpectedTotals& expected, std::uint64_t messages, const Usage& usage,
                   const std::string& about) {
  const auto told = [](double number) { return std::isnan(number) ? 0 : number; };
  EXPECT_EQ(messages, expected.messages) << about;
  EXPECT_EQ(told(usage.input), expected.input) << about;
  EXPECT_EQ(told(usage.output), expected.output) << about;
  EXPECT_EQ(told(usage.cache_read), expected.cache_read) << about;
  EXPECT_NEAR(told(usage.cost), expected.cost, 1e-9) << about;
}

// Sums over sessions. The usage.json of an omp or pi session is not among them: it repeats the agent's own statistics,
// in which a row that stands there twice counts twice.
TEST_P(GeneratedStores, K1NumbersCountOnceWhateverIsCopied) {
  for_each({.copies = true}, [&](const GeneratedStore& store, Catalog& catalog) {
    const auto found = stats::gather(stats::all_counted(*catalog.view()));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->unreadable(), 0U);
    for (const stats::By by : {stats::By::day, stats::By::model, stats::By::session}) {
      stats::Row sum;
      for (const stats::Row& row : found->rows(by)) {
        sum.messages += row.messages;
        add_usage(sum.usage, row.usage);
      }
      expect_totals(store.totals(), sum.messages, sum.usage,
                    "by " + std::string(stats::kByNames.at(static_cast<std::size_t>(by))));
    }
  });
}

TEST_P(GeneratedStores, K2IdIsWhatTheAgentsResumeCommandLooksUp) {
  for_each_session({.names = true}, [&](const ExpectedSession& expected, Session& session, Catalog& catalog) {
    EXPECT_EQ(session.head().header.id, expected.id);
    EXPECT_EQ(catalog.view()->is_child(session.number()), expected.is_child);
    EXPECT_EQ(session.read()->index().header().id, expected.id);
    const ResumeCommand* resume = session.format().resume;
    const LogPlace place = session.place();
    const auto command = resume_command(session.store(), session.format(), {place, expected.id});
    ASSERT_EQ(command.has_value(), resume != nullptr) << expected.id;
    if (resume != nullptr) {
      EXPECT_EQ(command->words.back(), resume->takes_path ? session.store().path_of(place) : expected.id);
    }
  });
}

TEST_P(GeneratedStores, K3EveryNameOfALogIsASessionOnceOrCounted) {
  for_each({.links = true}, [&](const GeneratedStore& store, Catalog& catalog) {
    const auto file_of = [](const fs::path& path) {
      struct stat st {};
      EXPECT_EQ(::stat(path.c_str(), &st), 0) << path;
      return std::pair(st.st_dev, st.st_ino);
    };
    std::set<fs::path> shown;
    std::set<fs::path> left_out;
    std::multiset<std::pair<dev_t, ino_t>> shown_files;
    std::set<std::pair<dev_t, ino_t>> files;
    for (const auto& [id, session] : catalog.view()->by_id) {
      const fs::path path = session->store().path_of(session->place());
      if (path.filename() != "opencode.db") {
        shown.insert(path);
        shown_files.insert(file_of(path));
      }
    }
    for (const LeftOut& out : catalog.left_out()) {
      EXPECT_FALSE(out.reason.empty()) << out.path;
      left_out.insert(out.path);
    }
    for (const fs::path& name : store.names()) {
      EXPECT_NE(shown.contains(name), left_out.contains(name)) << name;
      std::error_code failed;
      if (fs::is_regular_file(name, failed)) {
        files.insert(file_of(name));
      }
    }
    EXPECT_THAT(std::vector(shown_files.begin(), shown_files.end()), ::testing::ElementsAreArray(files));
  });
}

TEST_P(GeneratedStores, K4WordsOfEachRecordAreShownOrItsTypeIsCounted) {
  for_each_session({.census = true}, [&](const ExpectedSession& expected, Session& session, Catalog& /*catalog*/) {
    const auto guard = session.read();
    const LogIndex& index = guard->index();
    const auto log = session.raw()->log;
    std::string text;
    for (Ordinal ordinal = 1; ordinal <= index.size(); ++ordinal) {
      const auto record = log->read(index.entry(ordinal).offset, index.length(ordinal));
      ASSERT_TRUE(record);
      session.format().renderer->render(index.entry(ordinal).type, *record, text);
    }
    for (const std::string& words : expected.words) {
      ASSERT_NE(text.find(words), std::string::npos) << words;
    }
    EXPECT_EQ(index.not_shown().by_type(), expected.not_shown);
    EXPECT_EQ(index.damage().empty(), !expected.has_damage);
    for (const Damage& run : index.damage()) {
      json::Document value;
      const auto bytes = log->read(run.offset, run.length);
      EXPECT_FALSE(json::parse(*bytes, value)) << *bytes;
    }
  });
}

TEST_P(GeneratedStores, K5TranscriptKeepsWhatPeopleSawAndSaysWhatIsMissing) {
  for_each_session(
      {.repeats = true, .gaps = true}, [&](const ExpectedSession& expected, Session& session, Catalog& catalog) {
        const std::string transcript = view_of(session, "transcript.md", catalog);
        std::size_t at = 0;
        for (const std::string& words : expected.said) {
          at = transcript.find(words + "\n", at);
          ASSERT_NE(at, std::string::npos) << words << " in\n" << transcript;
          EXPECT_EQ(count(transcript, words + "\n"), 1U) << words << " in\n" << transcript;
        }
        EXPECT_EQ(count(transcript, "*Compacted: "), expected.compactions) << transcript;
        EXPECT_EQ(
            count(transcript, " not connected with what follows") + count(transcript, "does not have what came before"),
            expected.gaps)
            << transcript;
        const auto guard = session.read();
        EXPECT_EQ(conversation_ends(guard->index(), guard->leaf()).size(), expected.ends) << transcript;
      });
}

TEST_P(GeneratedStores, K6NamesAreTitlesOrPeoplesWords) {
  for_each_session({.repeats = true, .gaps = true},
                   [&](const ExpectedSession& expected, Session& session, Catalog& /*catalog*/) {
                     EXPECT_EQ(session_name(session, 200), expected.name);
                   });
}

TEST_P(GeneratedStores, K7TreeDrawsEachEntryOnce) {
  for_each_session({.copies = true, .gaps = true, .census = true},
                   [&](const ExpectedSession& /*expected*/, Session& session, Catalog& catalog) {
                     const std::string tree = view_of(session, "tree.txt", catalog);
                     std::vector<unsigned long> drawn;
                     for (std::size_t at = 0; at < tree.size(); at = tree.find('\n', at) + 1) {
                       drawn.push_back(std::stoul(tree.substr(tree.find_first_of("0123456789", at), 6)));
                     }
                     std::sort(drawn.begin(), drawn.end());
                     const auto guard = session.read();
                     ASSERT_EQ(drawn.size(), guard->index().size()) << tree;
                     for (std::size_t i = 0; i < drawn.size(); ++i) {
                       ASSERT_EQ(drawn[i], i + 1) << tree;
                     }
                     EXPECT_EQ(guard->index().tips().size(), guard->index().tip_count());
                   });
}

TEST_P(GeneratedStores, K8StoresAsProgramsLeaveThemHaveNoFinding) {
  for_each({.repeats = true}, [&](const GeneratedStore& /*store*/, Catalog& catalog) {
    for (const auto& [id, session] : catalog.view()->by_id) {
      for (const Finding& finding : examine_session(*session, catalog)) {
        EXPECT_TRUE(finding.is_note) << id << ": " << finding.kind << ": " << finding.text;
      }
      EXPECT_EQ(session->head().problem, "") << id;
    }
    for (const auto& store : catalog.stores()) {
      for (const FileFinding& fault : faults_of(*store)) {
        EXPECT_TRUE(fault.finding.is_note) << fault.path << ": " << fault.finding.kind << ": " << fault.finding.text;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Agents, GeneratedStores, ::testing::ValuesIn(testing::agent_shapes()),
                         [](const auto& agent) { return agent.param.agent; });

}  // namespace
}  // namespace arborfs
