// The doctor's repairs of the logs of the corpus: no readable entry is lost, moved or changed, nothing is left to
// repair, and damage that destroyed no byte of an entry is undone, so that the agents read the log as in the corpus
// (CONTRACT.md 6.11).

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "core/formats/omp/edit/log_faults.h"
#include "core/formats/omp/edit/repairer.h"
#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/store.h"
#include "tests/support/corpus.h"
#include "tests/support/faulty_disk.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "2026-02-16T10-20-30-000Z_s1";

std::vector<std::string> logs() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(arborfs::tests::kTestData) / "corpus")) {
    if (fs::exists(entry.path() / "session.jsonl")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CorpusRepair : public ::testing::TestWithParam<std::string> {
 protected:
  CorpusRepair() { catalog_.rescan(); }
  [[nodiscard]] std::string original() const {
    return conformance::read_bytes(
        (fs::path(arborfs::tests::kTestData) / "corpus" / GetParam() / "session.jsonl").string());
  }
  [[nodiscard]] std::string now() const { return conformance::read_bytes(temp_.log("-work", kName).string()); }
  /// A log with these bytes that has not been written for long.
  SessionPtr put(const std::string& bytes) {
    temp_.write("-work", kName, bytes);
    fs::last_write_time(temp_.log("-work", kName), fs::file_time_type::clock::now() - std::chrono::hours(1));
    catalog_.rescan();
    auto session = catalog_.at({"-work", std::string(kName) + ".jsonl"});
    EXPECT_TRUE(session && session->refresh(Depth::index));
    return session;
  }
  /// The entries without headers: a header elsewhere is an entry only while the log has none at its head.
  [[nodiscard]] static std::vector<std::string> entries(const SessionPtr& session) {
    std::vector<std::string> texts;
    const auto guard = session->read();
    for (Ordinal ordinal = 1; ordinal <= guard->index().size(); ++ordinal) {
      if (guard->index().entry(ordinal).type == EntryType::session) {
        continue;
      }
      texts.push_back(*guard->log()->read(guard->index().entry(ordinal).offset, guard->index().length(ordinal)));
    }
    return texts;
  }
  Result<omp::RepairResult> mend(const SessionPtr& session) {
    return omp::Repairer(writer_, {false, false, temp_.root() + "/copies"}).mend(session);
  }

  const testing::TempStore temp_;
  testing::FaultyDisk disk_;  // has no faults; used because it syncs nothing
  Catalog catalog_{omp::open_store(temp_.root(), disk_), "/home/dev", temp_.root() + "/state"};
  omp::Writer writer_{catalog_, {}};
};

INSTANTIATE_TEST_SUITE_P(Corpus, CorpusRepair, ::testing::ValuesIn(logs()), [](const auto& with) {
  std::string title = with.param;
  std::replace_if(
      title.begin(), title.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return title;
});

TEST_P(CorpusRepair, LosesNoEntryAndLeavesNothingToRepair) {
  const auto session = put(original());
  const auto before = entries(session);
  const auto mended = mend(session);
  if (!mended) {
    EXPECT_EQ(mended.error().code, Errc::read_only) << mended.error().message;
    EXPECT_EQ(now(), original());
    return;
  }
  if (now() == original()) {
    EXPECT_TRUE(mended->words.empty());
    return;
  }
  ASSERT_FALSE(mended->copy.empty()) << "changed without a copy";
  EXPECT_EQ(conformance::read_bytes(mended->copy), original());
  EXPECT_TRUE(session->refresh(Depth::index));
  const auto after = entries(session);
  auto at = after.begin();
  for (const auto& entry : before) {
    at = std::find(at, after.end(), entry);
    ASSERT_NE(at, after.end()) << "lost or moved: " << entry.substr(0, 100);
    ++at;
  }
  const auto again = omp::plan_repairs(*session, catalog_);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->edits.empty()) << again->words.front();
  EXPECT_TRUE(session->head().header.valid);
  EXPECT_EQ(omp::message_behind_dead_end(session->read()->index()), kNoEntry);
}

/// True if each record has its own line, and all can be distinguished from the bytes around them.
bool is_plain(const LogIndex& index, const std::string& bytes) {
  bool plain = index.header().valid && !index.header().migrated && index.header().writable_version &&
               index.damage().empty() && !index.has_duplicate_ids() && bytes.ends_with('\n') && index.size() >= 2 &&
               omp::message_behind_dead_end(index) == kNoEntry;
  for (Ordinal ordinal = 1; plain && ordinal <= index.size(); ++ordinal) {
    const std::string_view text = std::string_view(bytes).substr(index.entry(ordinal).offset, index.length(ordinal));
    plain = index.id(ordinal).kind == EntryId::Kind::string && !index.id(ordinal).text.empty() &&
            index.entry(ordinal).type != EntryType::none && index.entry(ordinal).type != EntryType::session &&
            text.find('\n') == std::string_view::npos;
  }
  return plain;
}

TEST_P(CorpusRepair, RestoresTheLogAfterLosslessDamage) {
  const std::string bytes = original();
  const auto session = put(bytes);
  std::vector<std::uint64_t> begins;
  {
    const auto guard = session->read();
    if (guard->log()->is_decoded() || !is_plain(guard->index(), bytes)) {
      return;
    }
    for (Ordinal ordinal = 1; ordinal <= guard->index().size(); ++ordinal) {
      begins.push_back(guard->index().entry(ordinal).offset);
    }
  }
  for (const std::size_t which : {std::size_t{0}, begins.size() / 2, begins.size() - 1}) {
    const std::uint64_t at = begins[which];
    const bool is_line = bytes[at - 1] == '\n';
    const std::vector<std::pair<const char*, std::string>> damages = {
        {"a line of garbage", bytes.substr(0, at) + "#garbage\n" + bytes.substr(at)},
        {"a line of NULs", bytes.substr(0, at) + std::string(300, '\0') + "\n" + bytes.substr(at)},
        {"NULs before the record", bytes.substr(0, at) + std::string(5, '\0') + bytes.substr(at)},
        {"the newline before it lost", bytes.substr(0, at - 1) + bytes.substr(at)},
        {"a torn record before it", bytes.substr(0, at) + "{\"type\":\"mess\n" + bytes.substr(at)},
    };
    for (const auto& [what, damaged] : damages) {
      const auto patient = put(damaged);
      const bool harmless = patient->read()->index().damage().empty();
      if (!is_line || harmless) {
        continue;
      }
      const auto mended = mend(patient);
      EXPECT_TRUE(mended) << what << " at entry " << which + 1 << (mended ? "" : ": " + mended.error().message);
      EXPECT_EQ(now(), bytes) << what << " at entry " << which + 1;
    }
  }
}

}  // namespace
}  // namespace arborfs
