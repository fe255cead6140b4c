// The sample store of each agent (tools/samples): every session is read without damage, except the one that
// demonstrates damage, and has the title and the leaf that its generator gave it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/formats/registry.h"
#include "core/entry/record_renderer.h"
#include "core/session/catalog.h"
#include "tests/support/paths.h"

namespace arborfs::conformance {
namespace {

constexpr std::string_view kDamaged = "Kite string physics";

std::unique_ptr<Catalog> open_samples(const std::string& agent, const std::string& folder) {
  const std::string place = std::string(tests::kSourceDir) + "/tools/samples/" + folder;
  auto stores = open_stores({{agent, place, false}}, Access::look);
  EXPECT_TRUE(stores);
  auto catalog = std::make_unique<Catalog>(*stores, "/home/sam", "");
  catalog->rescan();
  return catalog;
}

std::string leaf_text(const Session& session) {
  const auto guard = session.read();
  if (!guard || guard->leaf() == kNoEntry) {
    return "";
  }
  const Entry& entry = guard->index().entry(guard->leaf());
  const auto bytes = guard->log()->read(entry.offset, guard->index().length(guard->leaf()));
  EXPECT_TRUE(bytes);
  std::string text;
  session.format().renderer->render(entry.type, bytes ? *bytes : "", text);
  return text;
}

/// A store in which every session must be read.
class Samples {
 public:
  Samples(const std::string& agent, const std::string& folder) : catalog_(open_samples(agent, folder)) {
    const auto view = catalog_->view();
    for (const auto& [id, session] : view->by_id) {
      EXPECT_EQ(session->agent(), agent);
      EXPECT_TRUE(session->refresh(Depth::index)) << id;
      EXPECT_EQ(session->head().problem, "") << id;
      const auto guard = session->read();
      EXPECT_TRUE(guard && guard->index().size() > 0) << id;
      EXPECT_EQ(guard && !guard->index().damage().empty(), session->title() == kDamaged) << id;
    }
  }
  explicit Samples(const std::string& agent) : Samples(agent, agent) {}

  /// Expects a session with this title whose leaf has this text in it.
  Samples& expect(std::string_view title, std::string_view leaf) {
    std::string leaves;
    const auto view = catalog_->view();
    for (const auto& [id, session] : view->by_id) {
      if (session->title() == title) {
        leaves += leaf_text(*session) + "\n";
      }
    }
    EXPECT_NE(leaves, "") << "no session has the title '" << title << "'";
    EXPECT_NE(leaves.find(leaf), std::string::npos) << title << ": " << leaves;
    return *this;
  }

 private:
  std::unique_ptr<Catalog> catalog_;
};

TEST(Samples, OfOmp) {
  Samples("omp")
      .expect("Fix the flaky upload test", "green")
      .expect("Retry policy for the sync command", "done")
      .expect("Bars for the yearly page", "Größe: 120×48 px")
      .expect("", "Renamed 31 notes")
      .expect(kDamaged, "");
}

TEST(Samples, OfPi) {
  Samples("pi").expect("The weak bridle point", "The weak bridle point");
}

TEST(Samples, OfOpal) {
  Samples("opal").expect("Umlauts in the list of notes", "ex_cldr_collation");
}

TEST(Samples, OfOpenCode) {
  Samples("opencode")
      .expect("Import of the flight logs", "11 logs are imported")
      .expect("Clients that sync twice", "`main` starts another one");
}

TEST(Samples, OfOlderOpenCode) {
  Samples("opencode", "opencode-files").expect("Import of the flight logs", "11 logs are imported");
}

TEST(Samples, OfClaudeCode) {
  Samples("claude").expect("Drag of the tail", "Measure it again").expect("Uploads without a retry", "cmd/push.go:19");
}

TEST(Samples, OfCodex) {
  Samples("codex").expect("Speed of the note index", "20 out").expect("The sync protocol", "39 out");
}

TEST(Samples, OfGoat) {
  Samples("goat")
      .expect("Tide table for the quay", "3.9 m, on day 4")
      .expect("Tide table for the quay", "I need the constants");
}

}  // namespace
}  // namespace arborfs::conformance
