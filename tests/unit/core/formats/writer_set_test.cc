// The writers of all formats as one: where calls go, and how formats refuse the verbs that they do not support.
#include <gtest/gtest.h>

#include "core/formats/omp/edit/writer.h"
#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/write/writer.h"
#include "tests/support/foreign_store.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using testing::ForeignStore;
using testing::TempStore;

/// Takes appends and nothing else.
class AppendingWriter final : public Writer {
 public:
  explicit AppendingWriter(Catalog& catalog) : Writer(catalog, {}) {}
  Result<AppendResult> append_text(const SessionPtr& /*session*/, AppendText text) override {
    return AppendResult{std::move(text.text), ""};
  }
};

class OfTwoFormats : public ::testing::Test {
 protected:
  OfTwoFormats() {
    omp.write("-work", "2222", TempStore::header("o1", "/work"));
    foreign.write("-work", "1111", TempStore::header("h1", "/work"));
    catalog.rescan();
    ours = catalog.at({"-work", "2222.jsonl", 0});
    theirs = catalog.at({"-work", "1111.jsonl", 1});
  }
  TempStore omp;
  TempStore foreign;
  Catalog catalog{StoreSet({omp::open_store(omp.root()), std::make_shared<ForeignStore>(foreign.root())}), "/home/dev",
                  ""};
  SessionPtr ours;
  SessionPtr theirs;
};

TEST_F(OfTwoFormats, SessionsOfAFormatThatIsOnlyReadTakeNothing) {
  const auto writer = make_writer(catalog, {});
  ASSERT_TRUE(theirs);
  for (const Error& error : {writer->append_text(theirs, {"hello", false, ""}).error(),
                             writer->rewind(theirs, "c", true).error(), writer->replace(theirs, {"a", "b", {}}).error(),
                             writer->summarize(theirs, "").error(), writer->remove(theirs).error()}) {
    EXPECT_EQ(error.code, Errc::read_only);
    EXPECT_EQ(error.message, "sessions of heron can be read but not changed");
  }
}

TEST_F(OfTwoFormats, LabelsAndTitlesOfAFormatThatIsOnlyReadAreNoted) {
  foreign.write("-work", "1111", TempStore::header("h1", "/work") + "\n" + TempStore::user("e1", "", "one") + "\n");
  catalog.rescan();
  const auto writer = make_writer(catalog, {});
  const auto labelled = writer->label(theirs, {{"#1", "start"}});
  ASSERT_TRUE(labelled) << labelled.error().message;
  EXPECT_EQ(labelled->id, "e1");
  EXPECT_EQ(*writer->set_title(theirs, " Kites\tat dawn "), "Kites at dawn");
  EXPECT_EQ(*writer->set_title(theirs, "made", false, "auto"), "Kites at dawn") << "a title of a user stays";
  EXPECT_EQ(theirs->title(), "Kites at dawn");
  EXPECT_EQ(theirs->read()->index().labels().at(0).text, "start");
  foreign.append("-work", "1111", TempStore::user("e2", "e1", "two") + "\n");
  ASSERT_TRUE(theirs->refresh(Depth::index));
  EXPECT_EQ(theirs->title(), "Kites at dawn") << "the log has grown";
  EXPECT_EQ(theirs->read()->index().labels().size(), 1U);
  EXPECT_EQ(writer->label(theirs, {{"e2", "end"}, {"e9", "none"}}).error().code, Errc::not_found);
  EXPECT_EQ(theirs->noted()->labels.size(), 1U) << "all changes or none";
  EXPECT_EQ(*writer->set_title(theirs, ""), "");
}

TEST_F(OfTwoFormats, VerbsThatAFormatDoesNotTakeAreNotPermitted) {
  const auto writer = make_writer(catalog, {});
  ASSERT_TRUE(ours);
  EXPECT_TRUE(writer->append_text(ours, {"hello", false, ""}));
  const auto refused = writer->checkpoint(ours, {"c", {}});
  EXPECT_EQ(refused.error().code, Errc::not_permitted);
  EXPECT_EQ(refused.error().message, "sessions of omp do not take 'checkpoint'");
}

TEST_F(OfTwoFormats, CallsGoToTheWriterOfTheFormat) {
  WriterSet writers(catalog, {});
  writers.add({"omp"}, std::make_unique<AppendingWriter>(catalog));
  EXPECT_EQ(writers.append_text(ours, {"to omp", false, ""})->id, "to omp");
  EXPECT_EQ(writers.set_title(ours, "a title", false, "user").error().code, Errc::not_permitted);
  EXPECT_EQ(writers.append_text(theirs, {"to nobody", false, ""}).error().code, Errc::read_only);
  EXPECT_EQ(writers.create({"/tmp", "", "", "", "heron"}).error().message,
            "cannot create a session of heron, only of ");
}

}  // namespace
}  // namespace arborfs
