// Forks to other agents of 10,000 generated sessions: each has what the model had, or its whole path; nothing that the
// model never gets is in any byte of the new store; and the interface of a model accepts each, also without entries
// that are chosen at random (CONTRACT.md 4.9).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/write/conversation.h"
#include "core/write/writer.h"
#include "tests/support/accepted_request.h"
#include "tests/support/generated_sessions.h"
#include "tests/support/paths.h"
#include "tests/support/sanitized.h"
#include "tests/support/sent_messages.h"
#include "tests/support/temp_store.h"

namespace arborfs::conformance {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using arborfs::testing::GeneratedSession;
using ::testing::HasSubstr;
using arborfs::testing::Lines;
using arborfs::testing::SentMessages;

constexpr unsigned kEach = 240 / arborfs::testing::kSanitizedShare;  // of 7 agents, for each of 6: more than 10,000
constexpr unsigned kBatch = 40;                                      // in one store

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
  const bool has_reasoning = agent != "claude" && agent != "codex" && agent != "goat";
  for (std::string& line : lines) {
    if (line.starts_with("reasoning ") && !has_reasoning) {
      line = "text <thinking>\n" + line.substr(10) + "\n</thinking>";
    } else if (line.starts_with("failure ") && (agent == "codex" || agent == "goat")) {
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
    for (const auto& [id, generated] : sessions_) {
      const auto found = catalog_->find(id);
      ASSERT_TRUE(found) << id << ": " << found.error().message;
      const SessionPtr& session = *found;
      SCOPED_TRACE(session->store().path_of(session->place()));
      check_fork(session, *generated, ++forks_ % 3 == 0 ? Reach::path : Reach::context);
      check_lighter_fork(session, forks_ % 3 == 0 ? Reach::path : Reach::context);
    }
    EXPECT_GT(lighter_, sessions_.size() / 2) << "this tries too little";
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

  /// Whatever entries are left out, calls and results stay in pairs, and nothing is added.
  void check_lighter_fork(const SessionPtr& session, Reach reach) {
    const auto spoken = spoken_path(session, "", reach);
    ASSERT_TRUE(spoken);
    const auto said = said_turns(*session->format().renderer, *spoken);
    ASSERT_TRUE(said);
    std::vector<Ordinal> entries;
    for (const SaidTurn& turn : *said) {
      if (turn.entry != kNoEntry) {
        entries.push_back(turn.entry);
      }
    }
    ContextEdit edit;
    std::string trace = "without";
    for (int left_out = 0; left_out < 3 && !entries.empty(); ++left_out) {
      const std::size_t at = std::uniform_int_distribution<std::size_t>(0, entries.size() - 1)(random_);
      edit.without.push_back("#" + std::to_string(entries[at]));
      trace += " " + edit.without.back();
    }
    SCOPED_TRACE(trace);
    const auto forked = writer_->fork_to(session, {to_, "", "", "", reach, edit});
    if (!forked) {  // an entry without content, or all that the model had
      EXPECT_THAT(forked.error().message, AnyOf(HasSubstr("is not in the context"), HasSubstr("nothing to fork")));
      return;
    }
    ++lighter_;
    ASSERT_TRUE(forked->made.session->refresh(Depth::index));
    const SentMessages sent(to_, context_of(*forked->made.session));
    EXPECT_EQ(why_refused(sent), "");
  }

  /// Nothing that no model gets is in any file of the new store.
  void check_bytes() const {
    for (const auto& file : fs::recursive_directory_iterator(fs::path(scratch_.root()) / "to")) {
      if (file.is_regular_file()) {
        EXPECT_EQ(bytes_of(file.path()).find("keptfromthemodel"), std::string::npos) << file.path();
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
  unsigned lighter_ = 0;
  std::mt19937 random_{19};
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
                       ::testing::Values("omp", "pi", "opal", "opencode", "claude", "codex", "goat")),
    [](const auto& row) { return std::string(std::get<0>(row.param)) + "_to_" + std::get<1>(row.param); });

/// A log of omp with everything that the interfaces of models refuse.
std::string refused_log() {
  std::string log = arborfs::testing::TempStore::header("1f9d2a6b9c0d1234", "/work") + "\n";
  std::string last;
  const auto add = [&](const std::string& message) {
    const std::string id = "e" + std::to_string(log.size());
    log += R"({"type":"message","id":")" + id + R"(","parentId":)" + (last.empty() ? "null" : "\"" + last + "\"") +
           R"(,"timestamp":"2026-02-16T10:20:30.000Z","message":{)" + message + "}}\n";
    last = id;
  };
  const auto result = [&](const std::string& call) {
    add(R"("role":"toolResult","toolCallId":")" + call +
        R"(","toolName":"x","isError":false,"content":[{"type":"text","text":" "},)"
        R"({"type":"image","data":"Qk0=","mimeType":"image/bmp"}])");
  };
  add(R"("role":"assistant","provider":"p","model":"m","content":[{"type":"text","text":"I begin"},)"
      R"({"type":"toolCall","id":"a b","name":"mcp.find/all","arguments":{}},)"
      R"({"type":"toolCall","id":"a b","name":"","arguments":[1]},)"
      R"({"type":"toolCall","id":"open","name":"x","arguments":{}}])");
  result("a b");
  add(R"("role":"user","content":[{"type":"text","text":" \n"},{"type":"text","text":"between"},)"
      R"({"type":"image","data":"PHN2Zy8+","mimeType":"image/svg+xml"},)"
      R"({"type":"image","data":"/9j/4AAQ","mimeType":"image/png"}])");
  result("a b");
  result("nobody");
  add(R"("role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":" "}])");
  add(R"("role":"user","content":"end")");
  return log;
}

class RefusedContent : public ::testing::TestWithParam<const char*> {};

TEST_P(RefusedContent, IsWrittenSoThatTheInterfaceOfAModelAcceptsIt) {
  const arborfs::testing::TempStore source;
  const arborfs::testing::TempStore target;
  const std::string agent = GetParam();
  source.write("-work", "2026-02-16T10-20-30-000Z_1f9d2a6b9c0d1234", refused_log());
  if (agent == "opencode") {
    fs::copy(fs::path(tests::kTestData) / "opencode" / "fresh-1.18.33", target.root());
  }
  const auto stores = open_stores({{agent, target.root(), false}, {"omp", source.root(), false}}, Access::write);
  ASSERT_TRUE(stores);
  Catalog catalog(*stores, "/home/sam", "");
  catalog.rescan();
  const auto session = catalog.find("1f9d2a6b9c0d1234");
  ASSERT_TRUE(session && (*session)->refresh(Depth::index));
  ASSERT_NE(why_refused(SentMessages("omp", context_of(**session))), "");
  const auto forked = make_writer(catalog, {})->fork_to(*session, {agent, "", "", ""});
  ASSERT_TRUE(forked) << forked.error().message;
  ASSERT_TRUE(forked->made.session->refresh(Depth::index));
  EXPECT_EQ(why_refused(SentMessages(agent, context_of(*forked->made.session))), "");
  EXPECT_EQ(forked->as_text.names, 2U);
  EXPECT_EQ(forked->as_text.blanks, 2U);
  EXPECT_EQ(forked->as_text.starts, 1U);
  EXPECT_EQ(forked->as_text.calls, 1U);
  EXPECT_EQ(forked->as_text.results, 1U);
}

INSTANTIATE_TEST_SUITE_P(Agents, RefusedContent,
                         ::testing::Values("pi", "opal", "opencode", "claude", "codex", "goat"));

}  // namespace
}  // namespace arborfs::conformance
