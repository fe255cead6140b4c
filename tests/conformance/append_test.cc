// An append to every log of the corpus, including the damaged ones. It is never joined to earlier bytes or swallowed by
// them, changes none of them, and is read back by the rules of the agents (omp/FORMAT.md B; where an agent would lose
// its own line, CONTRACT.md 6.6 forbids it).

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/log/dialect.h"
#include "core/formats/omp/log/reader.h"
#include "core/formats/omp/store/store.h"
#include "core/write/writer.h"
#include "tests/support/corpus.h"
#include "tests/support/paths.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

namespace fs = std::filesystem;

/// A torn line that swallows the whole line after it (omp/FORMAT.md A5) until more lines follow; then the whole line is
/// read again.
constexpr std::string_view kSwallows = "h-open-bracket-swallow";

class CorpusAppend : public ::testing::TestWithParam<std::string> {};

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

INSTANTIATE_TEST_SUITE_P(Corpus, CorpusAppend, ::testing::ValuesIn(logs()), [](const auto& with) {
  std::string title = with.param;
  std::replace_if(
      title.begin(), title.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return title;
});

omp::AppendCommand command() {
  return std::move(*omp::text_command("appended", omp::Dialect::omp13, 1771237231000));
}

TEST_P(CorpusAppend, AppendKeepsAllOtherBytes) {
  const testing::TempStore temp;
  const std::string before =
      conformance::read_bytes((fs::path(arborfs::tests::kTestData) / "corpus" / GetParam() / "session.jsonl").string());
  temp.write("-work", "2026-02-16T10-20-30-000Z_s1", before);
  Catalog catalog(omp::open_store(temp.root()), "/home/dev", temp.root() + "/state");
  catalog.rescan();
  WriteSettings settings;
  settings.durability = Durability::none;
  omp::Writer writer(catalog, settings);
  const auto session = catalog.at({"-work", "2026-02-16T10-20-30-000Z_s1.jsonl"});
  ASSERT_TRUE(session && session->refresh(Depth::index));
  std::string leaf;
  Ordinal entries = 0;
  bool migrated = false;
  bool writable = false;
  {
    const auto guard = session->read();
    const Header& header = guard->index().header();
    entries = guard->index().size();
    leaf = guard->leaf() == kNoEntry ? "" : guard->index().id(guard->leaf()).text;
    migrated = header.migrated;
    writable = header.valid && header.writable_version && !guard->log()->is_decoded();
  }
  for (Ordinal round = 1; round <= 2; ++round) {
    const auto written = writer.append(session, command());
    const std::string after = conformance::read_bytes(temp.log("-work", "2026-02-16T10-20-30-000Z_s1").string());
    if (!writable) {
      EXPECT_EQ(written.error().code, Errc::read_only);
      EXPECT_EQ(after, before);
      return;
    }
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->parent_id, leaf);
    EXPECT_TRUE(migrated || after.starts_with(before));
    const auto fresh = omp::reader().index(*log_from_bytes(after), {});
    ASSERT_TRUE(fresh);
    EXPECT_EQ((*fresh)->size(), entries + round + (GetParam() == kSwallows ? 1 : 0));
    EXPECT_EQ((*fresh)->id((*fresh)->leaf()).text, written->id);
    leaf = written->id;
  }
}

}  // namespace
}  // namespace arborfs
