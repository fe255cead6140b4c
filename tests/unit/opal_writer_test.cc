// What arborfs writes to Opal's sessions keeps every other line and is what Opal reads.
#include "core/formats/opal/write/opal_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/formats/opal/opal_format.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kHeader = R"({"odd":1.50,"current_id":"b2","session_id":"feed","metadata":{"x":1}})";
const std::string kLines = R"({"id":"b2","parent_id":"a1","role":"assistant","content":"two","is_error":false})"
                           "\n"
                           R"({"id":"a1","parent_id":null, "role":"user","content":"one","is_error":false})"
                           "\n";

class OpalWriting : public ::testing::Test {
 protected:
  OpalWriting() {
    std::filesystem::create_directories(base_ + "/sessions");
    put(kHeader + "\n" + kLines);
  }
  void put(const std::string& bytes) {
    std::ofstream(log(), std::ios::binary) << bytes;
    start(Disk::real());
  }
  void start(Disk& disk) {
    writer_.reset();
    catalog_ = std::make_unique<Catalog>(make_opal_store(base_, disk), "/home/nobody", "");
    catalog_->rescan();
    writer_ = std::make_unique<OpalWriter>(*catalog_, WriteSettings());
  }
  [[nodiscard]] std::string log() const { return base_ + "/sessions/feed.jsonl"; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(log(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] SessionPtr session() { return catalog_->at({"sessions", "feed.jsonl"}); }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(base_ + "/sessions"), std::filesystem::directory_iterator()));
  }

  testing::TempStore temp_;
  const std::string base_ = temp_.root() + "/opal";
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<OpalWriter> writer_;
};

TEST_F(OpalWriting, AnAppendKeepsEveryOtherLineAndMovesTheLeaf) {
  const auto written = writer_->append_text(session(), {"three \"x\"\n", false, ""});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "b2");
  EXPECT_EQ(bytes(), R"({"odd":1.50,"current_id":")" + written->id + R"(","session_id":"feed","metadata":{"x":1}})" +
                         "\n" + kLines + R"({"id":")" + written->id +
                         R"(","parent_id":"b2","role":"user","content":"three \"x\"","is_error":false})" + "\n");
  EXPECT_EQ(files(), 1U);
  const auto guard = session()->read();
  ASSERT_TRUE(guard);
  EXPECT_EQ(guard->index().id(guard->leaf()).text, written->id);
}

TEST_F(OpalWriting, SeveralMessagesAreWrittenTogetherOrNotAtAll) {
  const auto refused =
      writer_->append_text(session(), {R"({"role":"user","content":"x"}{"role":"bot","content":"y"})", true, ""});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, StartsWith("object 2: role"));
  EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
  const auto written = writer_->append_text(
      session(), {R"({"role":"user","content":"x"}{"role":"assistant","thinking":"t"})", true, "a1"});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->parent_id, "a1");
  EXPECT_THAT(bytes(), HasSubstr(R"("role":"assistant","thinking":"t","content":null,"is_error":false})"));
}

/// Opal's JSON library refuses it, so Opal would start with an empty session and save that.
TEST_F(OpalWriting, HalfOfASurrogatePairIsRefused) {
  for (const std::string member :
       {R"("content":"\ud800")", R"("content":"x\udc00\ud800")",
        R"("content":"","tool_calls":[{"call_id":"c","name":"n","arguments":{"\uD8FF":1}}])"}) {
    const auto refused = writer_->append_text(session(), {R"({"role":"user",)" + member + "}", true, ""});
    ASSERT_FALSE(refused) << member;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  }
  EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
  EXPECT_TRUE(
      writer_->append_text(session(), {R"({"role":"user","content":"\\ud800 \ud83d\ude00 \u0001"})", true, ""}));
}

TEST_F(OpalWriting, ABranchMovesTheLeafWithASummaryIfWanted) {
  const auto moved = writer_->branch(session(), "#1");
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_EQ(moved->leaf, "a1");
  EXPECT_THAT(bytes(), HasSubstr(R"("current_id":"a1")"));
  const auto back = writer_->branch(session(), "#2", "Tried it");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->leaf, back->summary_id);
  EXPECT_THAT(bytes(), HasSubstr("<branch-summary>\\nTried it\\n</branch-summary>"));
  EXPECT_THAT(bytes(), HasSubstr(R"("metadata":{"type":"branch_summary","from_leaf":"a1"}})"));
  EXPECT_EQ(writer_->branch(session(), "nope").error().code, Errc::not_found);
}

TEST_F(OpalWriting, ABranchDoesNotEndBetweenAToolCallAndItsResult) {
  const auto call = writer_->append_text(
      session(), {R"({"role":"assistant","tool_calls":[{"call_id":"c1","name":"n","arguments":{}},)"
                  R"({"call_id":"c2","name":"n","arguments":{}}]})",
                  true, ""});
  const auto one =
      writer_->append_text(session(), {R"({"role":"tool_result","call_id":"c1","content":"1"})", true, ""});
  const auto both =
      writer_->append_text(session(), {R"({"role":"tool_result","call_id":"c2","content":"2"})", true, ""});
  ASSERT_TRUE(call && one && both);
  EXPECT_EQ(writer_->branch(session(), call->id).error().code, Errc::invalid_argument);
  EXPECT_EQ(writer_->branch(session(), one->id).error().code, Errc::invalid_argument);
  EXPECT_TRUE(writer_->branch(session(), both->id));
  EXPECT_TRUE(writer_->branch(session(), "b2"));
  EXPECT_TRUE(writer_->branch(session(), call->id, "", true)) << "forced";
}

TEST_F(OpalWriting, ATitleGoesIntoTheMetadata) {
  ASSERT_TRUE(writer_->set_title(session(), "New\ntitle"));
  EXPECT_THAT(bytes(), HasSubstr(R"("metadata":{"x":1,"title":"New title"}})"));
}

TEST_F(OpalWriting, ADamagedLogIsNotWritten) {
  put(kHeader + "\n" + kLines + "{\"id\":\n");
  const std::string before = bytes();
  EXPECT_EQ(writer_->append_text(session(), {"x", false, ""}).error().code, Errc::read_only);
  EXPECT_EQ(bytes(), before);
}

/// Another program saves the session while arborfs writes its new file.
class BusyDisk final : public Disk {
 public:
  explicit BusyDisk(std::string log) : log_(std::move(log)) {}
  Result<void> sync(int fd) override {
    std::ofstream(log_, std::ios::app) << "{\"id\":\"c3\",\"parent_id\":\"b2\",\"role\":\"user\",\"content\":\"x\"}\n";
    return Disk::sync(fd);
  }

 private:
  const std::string log_;
};

TEST_F(OpalWriting, AnotherProgramsSaveIsNeverReplaced) {
  BusyDisk disk(log());
  start(disk);
  EXPECT_EQ(writer_->append_text(session(), {"mine", false, ""}).error().code, Errc::stale);
  EXPECT_THAT(bytes(), StartsWith(kHeader + "\n" + kLines + R"({"id":"c3")"));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OpalWriting, ALogThatAnotherArborfsReplacesIsNotReplaced) {
  const UniqueFd other(::open(log().c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  EXPECT_EQ(writer_->append_text(session(), {"mine", false, ""}).error().code, Errc::stale);
  EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
  EXPECT_EQ(files(), 1U);
  ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
  EXPECT_TRUE(writer_->append_text(session(), {"mine", false, ""}));
}

/// The log goes right after it was written.
class GoneDisk final : public Disk {
 public:
  explicit GoneDisk(std::string log) : log_(std::move(log)) {}
  Result<void> sync_folder(const Dir& folder) override {
    std::filesystem::remove(log_);
    return Disk::sync_folder(folder);
  }

 private:
  const std::string log_;
};

TEST_F(OpalWriting, AnErrorAfterTheWriteSaysThatItWasWritten) {
  GoneDisk disk(log());
  start(disk);
  const auto written = writer_->append_text(session(), {"mine", false, ""});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::io);
  EXPECT_THAT(written.error().message, StartsWith("it was written, but"));
}

/// Fails the call with a number, and counts the calls.
class FailingDisk final : public Disk {
 public:
  int fails = 0;
  int calls = 0;
  Result<UniqueFd> create(const Dir& folder, const std::string& name, mode_t mode) override {
    return is_next() ? Result<UniqueFd>(failure()) : Disk::create(folder, name, mode);
  }
  Result<std::size_t> write(int fd, std::string_view bytes) override {
    return is_next() ? Result<std::size_t>(failure()) : Disk::write(fd, bytes);
  }
  Result<void> set_mode(int fd, mode_t mode) override { return is_next() ? failure() : Disk::set_mode(fd, mode); }
  Result<void> sync(int fd) override { return is_next() ? failure() : Disk::sync(fd); }
  Result<void> rename(const Dir& from, const std::string& name, const Dir& to, const std::string& new_name,
                      Existing existing) override {
    return is_next() ? failure() : Disk::rename(from, name, to, new_name, existing);
  }

 private:
  bool is_next() { return ++calls == fails; }
  static Error failure() { return {Errc::no_space, "the disk is full"}; }
};

TEST_F(OpalWriting, AFailingCallLeavesTheLogAsItWas) {
  FailingDisk disk;
  start(disk);
  for (disk.fails = 1;; ++disk.fails) {
    disk.calls = 0;
    const auto written = writer_->append_text(session(), {"x", false, ""});
    if (written) {
      break;
    }
    EXPECT_EQ(written.error().code, Errc::no_space);
    EXPECT_EQ(bytes(), kHeader + "\n" + kLines);
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_GT(disk.fails, 6);
}

TEST_F(OpalWriting, AppendsOfManyThreadsAreAllThereOneAfterTheOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([this] { EXPECT_TRUE(writer_->append_text(session(), {"m", false, ""})); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto guard = session()->read();
  ASSERT_TRUE(guard);
  std::size_t depth = 0;
  for (Ordinal at = guard->leaf(); at != kNoEntry; at = guard->index().parent(at)) {
    ++depth;
  }
  EXPECT_EQ(depth, 18U);
}

}  // namespace
}  // namespace arborfs
