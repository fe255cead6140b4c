// Forks to other agents of 10,000 generated sessions: each has what the model had, or its whole path; nothing that the
// model never gets is in any byte of the new store; and the interface of a model accepts each (CONTRACT.md 4.9).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/writer/writer.h"
#include "tests/support/accepted_request.h"
#include "tests/support/generated_sessions.h"
#include "tests/support/paths.h"
#include "tests/support/sent_messages.h"
#include "tests/support/temp_store.h"

namespace arborfs::conformance {
namespace {

namespace fs = std::filesystem;
using arborfs::testing::GeneratedSession;
using arborfs::testing::Lines;
using arborfs::testing::SentMessages;

constexpr unsigned kEach = 240;  // of 7 agents, for each of 6: more than 10,000
constexpr unsigned kBatch = 40;  // in one store

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

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The lines of a conversation as another agent can represent them.
Lines as_written_for(const std::string& agent, Lines lines) {
  const bool has_reasoning = agent != "claude" && agent != "goat";
  for (std::string& line : lines) {
    if (line.starts_with("reasoning ") && !has_reasoning) {
      line = "text <thinking>\n" + line.substr(10) + "\n</thinking>";
    } else if (line.starts_with("failure ") && agent == "goat") {
      line = "result [failed]\n" + line.substr(8);
    } else if (line.starts_with("image ") && agent == "opal") {
      line = "text [image: image/png, 8 bytes]";
    }
  }
  return lines;
}

/// The sessions of one agent, and the store of another.
class Batch {
 public:
  Batch(const std::string& from, const std::string& to, unsigned first_seed) : from_(from), to_(to) {
    const fs::path root = scratch_.root();
    for (unsigned seed = first_seed; seed < first_seed + kBatch; ++seed) {
      auto session = arborfs::testing::generated_session(from, seed);
      for (const auto& [path, bytes] : session->files()) {
        fs::create_directories((root / "from" / path).parent_path());
        std::ofstream(root / "from" / path, std::ios::binary) << bytes;
      }
      sessions_.emplace(session->id(), std::move(session));
    }
    if (to == "opencode") {  // which must have made its database
      fs::copy(fs::path(tests::kTestData) / "opencode" / "fresh-1.18.33", root / "to");
    }
    fs::create_directories(root / "to");
    const auto stores =
        open_stores({{to, (root / "to").string(), false}, {from, (root / "from").string(), false}}, Access::write);
    EXPECT_TRUE(stores);
    catalog_ = std::make_unique<Catalog>(*stores, "/home/sam", "");
    catalog_->rescan();
    WriteSettings settings;
    settings.durability = Durability::none;
    writer_ = make_writer(*catalog_, settings);
  }

  void check() {
    const auto view = catalog_->view();
    for (const auto& [id, generated] : sessions_) {
      const auto found = view->by_id.find(id);
      ASSERT_NE(found, view->by_id.end()) << id;
      const SessionPtr& session = found->second;
      SCOPED_TRACE(session->store().path_of(session->place()));
      check_fork(session, *generated, ++forks_ % 3 == 0 ? Reach::path : Reach::context);
    }
    check_bytes();
  }

 private:
  void check_fork(const SessionPtr& session, const GeneratedSession& generated, Reach reach) {
    ASSERT_TRUE(session->refresh(Depth::index));
    ASSERT_EQ(SentMessages(from_, context_of(*session)).lines(), generated.context);
    const auto forked = writer_->fork_to(session, {to_, "", "", "", reach});
    ASSERT_TRUE(forked) << forked.error().message;
    const SessionPtr made = forked->made.session;
    ASSERT_TRUE(made->refresh(Depth::index));
    const SentMessages sent(to_, context_of(*made));
    const Lines& lines = reach == Reach::path ? generated.path : generated.context;
    EXPECT_EQ(sent.lines(), from_ == to_ ? lines : as_written_for(to_, lines));
    EXPECT_EQ(why_refused(sent), "");
  }

  /// Nothing that no model gets is in any file of the new store.
  void check_bytes() const {
    for (const auto& file : fs::recursive_directory_iterator(fs::path(scratch_.root()) / "to")) {
      if (file.is_regular_file()) {
        EXPECT_EQ(bytes_of(file.path()).find("secret"), std::string::npos) << file.path();
      }
    }
  }

  arborfs::testing::TempStore scratch_;
  const std::string from_;
  const std::string to_;
  std::map<std::string, std::unique_ptr<GeneratedSession>> sessions_;  // by id
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<Writer> writer_;
  unsigned forks_ = 0;
};

class GeneratedForks : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(GeneratedForks, HaveWhatTheModelHadOrTheWholePath) {
  const auto& [from, to] = GetParam();
  for (unsigned seed = 1; seed <= kEach && !HasFailure(); seed += kBatch) {
    Batch(from, to, seed).check();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Agents, GeneratedForks,
    ::testing::Combine(::testing::Values("omp", "pi", "opal", "opencode", "claude", "codex", "goat"),
                       ::testing::Values("omp", "pi", "opal", "opencode", "claude", "goat")),
    [](const auto& info) { return std::string(std::get<0>(info.param)) + "_to_" + std::get<1>(info.param); });

}  // namespace
}  // namespace arborfs::conformance
