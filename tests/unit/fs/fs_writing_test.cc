// The steps between a write and its answer: notifications of the kernel, counting descriptors, recursive removal of a
// session, and control files on a real store without a kernel.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "core/formats/omp/edit/writer.h"
#include "core/formats/omp/store/store.h"
#include "fs/control/client_process.h"
#include "fs/control/write_ops.h"
#include "fs/fuse/fuse_request.h"
#include "fs/nodes/invalidation.h"
#include "tests/support/scarce.h"
#include "tests/support/temp_store.h"

namespace arborfs {
namespace {

using namespace std::chrono_literals;
using testing::TempStore;

const NodeId kLabels(Kind::labels, 7, 0);

pid_t own_thread() {
  return static_cast<pid_t>(::syscall(SYS_gettid));
}

TEST(InvalidationQueue, RequestWaitsForItsInvalidations) {
  ChangeFeed feed;
  InvalidationQueue queue(feed);
  queue.open([](NodeId) {});
  feed.publish({});
  auto answered = std::async(std::launch::async, [&] { queue.notify_and_wait({{kLabels, "a"}}); });
  std::vector<Invalidation> told;
  std::size_t changes = 0;
  while (told.empty()) {
    InvalidationQueue::Work work;
    ASSERT_TRUE(queue.wait(work));
    changes += work.changes.size();
    told.insert(told.end(), work.more.begin(), work.more.end());
    if (told.empty()) {
      EXPECT_EQ(answered.wait_for(10ms), std::future_status::timeout);
    }
    queue.note_notified(work);
  }
  EXPECT_EQ(answered.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(changes, 1U);
  EXPECT_EQ(told[0].name, "a");
  queue.close();
}

TEST(InvalidationQueue, NamesInHeldFoldersAreDeferredUntilTheReply) {
  ChangeFeed feed;
  InvalidationQueue queue(feed);
  queue.open([](NodeId) {});
  auto first = queue.hold({kLabels});
  auto second = queue.hold({kLabels});
  EXPECT_TRUE(queue.defer({kLabels, "a"}));
  EXPECT_TRUE(queue.defer({kLabels, "a"}));
  EXPECT_FALSE(queue.defer({NodeId::root(), "a"}));
  first.reset();
  EXPECT_TRUE(queue.defer({kLabels, "b"}));
  second.reset();
  InvalidationQueue::Work work;
  ASSERT_TRUE(queue.wait(work));
  EXPECT_EQ(work.more.size(), 2U);
  EXPECT_FALSE(queue.defer({kLabels, "a"}));
  queue.close();
}

TEST(InvalidationQueue, WaitsAreBoundedAndEndOnClose) {
  ChangeFeed feed;
  InvalidationQueue queue(feed);
  feed.publish({});
  auto start = std::chrono::steady_clock::now();
  queue.notify_and_wait({});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 100ms);
  queue.open([](NodeId) {});
  start = std::chrono::steady_clock::now();
  queue.notify_and_wait({});
  EXPECT_GE(std::chrono::steady_clock::now() - start, InvalidationQueue::kPatience);
  auto waiting = std::async(std::launch::async, [&] { queue.notify_and_wait({}); });
  queue.close();
  waiting.wait();
  InvalidationQueue::Work work;
  EXPECT_FALSE(queue.wait(work));
}

TEST(InvalidationQueue, RequestsInvalidateNodesDirectly) {
  ChangeFeed feed;
  InvalidationQueue queue(feed);
  std::vector<NodeId> told;
  EXPECT_TRUE(queue.notify_at_once({{kLabels, ""}})) << "there is nobody to tell";
  queue.open([&](NodeId node) { told.push_back(node); });
  EXPECT_FALSE(queue.notify_at_once({{kLabels, ""}, {kLabels, "a"}})) << "a name may have to wait";
  EXPECT_TRUE(told.empty());
  EXPECT_TRUE(queue.notify_at_once({{kLabels, ""}}));
  EXPECT_EQ(told, std::vector<NodeId>{kLabels});
  queue.close();
}

TEST(ClientProcess, CountsDescriptorsByPath) {
  const std::string tail = "/arborfs-links-" + std::to_string(::getpid());
  const std::string path = ::testing::TempDir() + tail;
  const auto is_path = [&](std::string_view one) { return one.ends_with(tail); };
  EXPECT_EQ(open_links(::getpid(), is_path), 0U);
  const UniqueFd one(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd two(::dup(one.get()));
  EXPECT_EQ(open_links(::getpid(), is_path), 2U);
  ::unlink(path.c_str());
  EXPECT_EQ(open_links(::getpid(), is_path), 2U);
  EXPECT_EQ(open_links(0, is_path), std::nullopt);
}

TEST(ClientProcess, UnreadableProcessIsNotTakenForDead) {
  const testing::NoDescriptors scarce;
  EXPECT_FALSE(is_killed(::getpid()));
  EXPECT_FALSE(is_asked_to_stop(::getpid()));
  EXPECT_EQ(open_links(::getpid(), [](std::string_view) { return true; }), SIZE_MAX);
}

TEST(ClientProcess, FindsTheProcessOfAThread) {
  std::thread([] {
    EXPECT_NE(own_thread(), ::getpid());
    EXPECT_EQ(thread_group_of(own_thread()), ::getpid());
    EXPECT_FALSE(is_killed_by_signal(own_thread()));
  }).join();
  EXPECT_EQ(thread_group_of(0), 0);
  EXPECT_NE(identity_of(::getpid()), 0U);
  EXPECT_EQ(identity_of(0), 0U);
}

TEST(RecursiveRemoves, ProcessIsTrackedByTheSessionItUnlinkedIn) {
  RecursiveRemoves removals;
  EXPECT_FALSE(removals.is_at_work(::getpid(), 1));
  removals.note(own_thread(), 1);
  EXPECT_TRUE(removals.is_at_work(::getpid(), 1));
  EXPECT_FALSE(removals.is_at_work(::getpid(), 2));
  EXPECT_FALSE(removals.is_at_work(::getppid(), 1));
  removals.forget(1);
  EXPECT_FALSE(removals.is_at_work(::getpid(), 1));
}

constexpr char kFolder[] = "--work-pi--";
constexpr char kName[] = "2026-02-16T10-20-30-000Z_aaaa000011112222";

class WriteOpsTest : public ::testing::Test {
 protected:
  WriteOpsTest()
      : catalog(omp::open_store(temp.root()), "/home/dev"),
        vfs(catalog, false),
        queue(catalog.feed()),
        writer(catalog, {Durability::none, true, false, "", temp.root() + "/trash"}),
        changes(vfs, writer, queue, "/nowhere") {
    temp.write(kFolder, kName,
               TempStore::header("aaaa000011112222", "/work/pi") + "\n" + TempStore::user("e1aaaaaa", "", "one") +
                   "\n" + TempStore::user("e2aaaaaa", "e1aaaaaa", "two") + "\n");
    catalog.rescan();
  }

  NodeId in(NodeId folder, std::string_view name) {
    auto call = RequestContext::in_pool();
    const auto found = vfs.lookup(call, folder, name);
    EXPECT_TRUE(found) << name;
    return found ? found->attr.node : NodeId();
  }
  NodeId session() { return in(in(in(NodeId::root(), "projects"), "work-pi"), kName); }
  ControlFilePtr open(NodeId node) {
    auto call = RequestContext::in_pool();
    auto file = changes.open_control(call, node, own_thread());
    EXPECT_TRUE(file);
    return file ? *file : nullptr;
  }
  std::string read(ControlFile& file) {
    auto call = RequestContext::in_pool();
    const auto bytes = file.read(call, 4096);
    return bytes ? *bytes : "error: " + bytes.error().message;
  }
  std::string log() {
    std::ifstream in(temp.root() + "/sessions/" + kFolder + "/" + kName + ".jsonl");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string leaf() { return read(*open(in(session(), "branch"))); }

  TempStore temp;
  Catalog catalog;
  Vfs vfs;
  InvalidationQueue queue;
  omp::Writer writer;
  WriteOps changes;
};

TEST_F(WriteOpsTest, WriterKeepsItsInodeUntilClose) {
  const NodeId folder = session();
  const NodeId first = in(folder, "append");
  const auto control = open(first);
  ASSERT_TRUE(control);
  EXPECT_NE(in(folder, "append"), first);
  const auto other = open(in(folder, "append"));
  EXPECT_EQ(control->node(), other->node()) << "both are handles of one file, which are counted together";
  control->release_inode();
  other->release_inode();
  EXPECT_EQ(in(folder, "append"), first);
}

TEST_F(WriteOpsTest, TextIsAppendedAtTheLastClose) {
  const auto file = open(in(session(), "append"));
  const std::string before = log();
  ASSERT_TRUE(file->write("one ", false, own_thread()));
  ASSERT_TRUE(file->write("message\n", false, own_thread()));
  EXPECT_EQ(log(), before);
  ASSERT_TRUE(file->close_one(file->judge_close(own_thread())));  // this process has no descriptor on the file
  EXPECT_NE(log().find("one message\""), std::string::npos);
  EXPECT_TRUE(read(*file).starts_with("{\"id\":"));
  EXPECT_EQ(read(*file), "");
}

TEST_F(WriteOpsTest, ContentOfAFreshHandleIsReadOnce) {
  const auto file = open(in(session(), "branch"));
  EXPECT_EQ(read(*file), "e2aaaaaa\n");
  EXPECT_EQ(read(*file), "");
  ASSERT_TRUE(file->write("#1\n", false, own_thread()));
  EXPECT_EQ(read(*file), "{\"leaf\":\"e1aaaaaa\",\"agentLeaf\":\"e2aaaaaa\"}\n");
  EXPECT_EQ(read(*open(in(session(), "branch"))), "e1aaaaaa\n");
}

TEST_F(WriteOpsTest, RefusedSummaryMovesTheLeafBack) {
  const std::string before = log();
  for (const std::string& bad : {std::string("caf\xE9\n"), std::string(kMaxLinesBytes, 'x')}) {
    const auto file = open(in(session(), "branch"));
    ASSERT_TRUE(file->write("#1\n", false, own_thread()));
    EXPECT_EQ(leaf(), "e1aaaaaa\n");
    ASSERT_TRUE(file->write("Tried ", false, own_thread()));
    EXPECT_FALSE(file->write(bad, false, own_thread()));
    EXPECT_FALSE(file->write("root\n", false, own_thread()));
    EXPECT_EQ(leaf(), "e2aaaaaa\n");
    EXPECT_TRUE(file->close_one(file->judge_close(own_thread())));
    EXPECT_EQ(read(*file), "");
  }
  EXPECT_EQ(leaf(), "e2aaaaaa\n");
  EXPECT_EQ(log(), before);
}

TEST_F(WriteOpsTest, RefusedCommandKeepsEarlierOnes) {
  const auto file = open(in(session(), "branch"));
  ASSERT_TRUE(file->write("{\"target\":\"#1\"}\n", false, own_thread()));
  EXPECT_FALSE(file->write("{\"target\":\"nowhere\"}\n", false, own_thread()));
  EXPECT_EQ(leaf(), "e1aaaaaa\n");
}

TEST_F(WriteOpsTest, RefusedTextReturnsTheLeafToItsEarlierMove) {
  ASSERT_TRUE(open(in(session(), "branch"))->write("#1\n", false, own_thread()));
  const auto file = open(in(session(), "branch"));
  ASSERT_TRUE(file->write("root\n", false, own_thread()));
  EXPECT_EQ(leaf(), "root\n");
  EXPECT_FALSE(file->write("\xFF", false, own_thread()));
  EXPECT_EQ(leaf(), "e1aaaaaa\n");
}

TEST_F(WriteOpsTest, SummaryAndTargetMoveTheLeafTogether) {
  const auto file = open(in(session(), "branch"));
  ASSERT_TRUE(file->write("#1\nTried", false, own_thread()));
  EXPECT_EQ(leaf(), "e2aaaaaa\n");
  ASSERT_TRUE(file->write(" X\nfailed\n", false, own_thread()));
  const std::string before = log();
  EXPECT_TRUE(file->sync());
  const std::string line = log().substr(before.size());
  EXPECT_NE(line.find("\"parentId\":\"e1aaaaaa\""), std::string::npos) << line;
  EXPECT_NE(line.find("\"summary\":\"Tried X\\nfailed\""), std::string::npos) << line;
}

TEST_F(WriteOpsTest, UnknownSummaryTargetFailsTheWrite) {
  const std::string before = log();
  const auto file = open(in(session(), "branch"));
  EXPECT_EQ(file->write("nowhere\nTried X\n", false, own_thread()).error().code, Errc::not_found);
  EXPECT_EQ(file->write("#1\n", false, own_thread()).error().code, Errc::not_found);
  EXPECT_TRUE(file->sync());
  EXPECT_EQ(log(), before);
  EXPECT_EQ(leaf(), "e2aaaaaa\n");
}

TEST_F(WriteOpsTest, TruncatedHandleStartsOver) {
  const std::string before = log();
  const auto branch = open(in(session(), "branch"));
  EXPECT_FALSE(branch->write("nowhere\n", false, own_thread()));
  EXPECT_FALSE(branch->write("#1\n", false, own_thread()));
  branch->truncate();
  EXPECT_TRUE(branch->write("#1\n", false, own_thread()));
  EXPECT_TRUE(branch->write("Tried X", false, own_thread()));
  branch->truncate();
  EXPECT_EQ(leaf(), "e2aaaaaa\n");
  const auto append = open(in(session(), "append"));
  EXPECT_TRUE(append->write("dropped", false, own_thread()));
  append->truncate();
  EXPECT_TRUE(append->sync());
  EXPECT_EQ(log(), before);
}

TEST_F(WriteOpsTest, RestOfARefusedCommandIsRefused) {
  const std::string before = log();
  const auto title = open(in(session(), "title"));
  for (int piece = 0; piece < 16; ++piece) {
    EXPECT_TRUE(title->write(std::string(4096, 'x'), false, own_thread()));
  }
  EXPECT_EQ(title->write(std::string(4096, 'x'), false, own_thread()).error().code, Errc::too_large);
  EXPECT_EQ(title->write("the rest\n", false, own_thread()).error().code, Errc::too_large);
  EXPECT_TRUE(title->sync());
  EXPECT_EQ(log(), before);
  EXPECT_TRUE(title->write("Kites\n", false, own_thread()));
  EXPECT_NE(log(), before);
}

TEST_F(WriteOpsTest, UsageTextIsRefused) {
  const std::string before = log();
  for (const char* name : {"append", "branch", "label", "fork"}) {
    const auto file = open(in(session(), name));
    const std::string usage = "# " + std::string(find_verb(name)->usage);  // as an editor reads its first line
    const auto done = file->write(usage + "fix the bug\n", false, own_thread());
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().code, Errc::invalid_argument) << name;
    EXPECT_NE(done.error().message.find("write only the new text"), std::string::npos) << done.error().message;
    EXPECT_FALSE(file->write("fix the bug\n", false, own_thread())) << name;
    EXPECT_TRUE(file->sync());
  }
  EXPECT_EQ(log(), before);
  EXPECT_EQ(catalog.view()->by_id.size(), 1U);
}

TEST_F(WriteOpsTest, InvalidJsonWithoutLineFeedFailsTheWrite) {
  const std::string before = log();
  const auto file = open(in(session(), "append"));
  EXPECT_EQ(file->write(R"({"type":"no such type"})", false, own_thread()).error().code, Errc::invalid_argument);
  EXPECT_TRUE(file->sync());
  EXPECT_EQ(log(), before);
}

TEST_F(WriteOpsTest, SymlinksSetMoveAndClearLabels) {
  auto call = RequestContext::in_pool();
  const NodeId labels = in(session(), "labels");
  ASSERT_TRUE(changes.symlink(call, {labels, "a%2Fb"}, "../entries/000001-user-e1aaaaaa.json"));
  EXPECT_NE(log().find("\"label\":\"a/b\""), std::string::npos);
  EXPECT_EQ(changes.symlink(call, {labels, "a%2Fb"}, "#2").error().code, Errc::already_exists);
  EXPECT_EQ(changes.symlink(call, {labels, "a%2fb"}, "#2").error().code, Errc::invalid_argument);
  EXPECT_EQ(changes.symlink(call, {labels, "x"}, "zzzzzzzz").error().code, Errc::not_found);
  EXPECT_EQ(changes.symlink(call, {session(), "x"}, "#2").error().code, Errc::not_permitted);
  ASSERT_TRUE(changes.rename(call, {labels, "a%2Fb"}, {labels, "c"}, RenameMode::no_replace));
  EXPECT_EQ(changes.rename(call, {labels, "a%2Fb"}, {labels, "d"}, RenameMode::replace).error().code, Errc::not_found);
  EXPECT_EQ(changes.rename(call, {labels, "c"}, {labels, "d"}, RenameMode::exchange).error().code,
            Errc::invalid_argument);
  ASSERT_TRUE(changes.unlink(call, {labels, "c"}, own_thread()));
  EXPECT_FALSE(vfs.lookup(call, labels, "c"));
}

TEST_F(WriteOpsTest, RecursiveRemoveClearsNoLabel) {
  auto call = RequestContext::in_pool();
  const NodeId labels = in(session(), "labels");
  ASSERT_TRUE(changes.symlink(call, {labels, "kept"}, "#1"));
  EXPECT_EQ(changes.unlink(call, {session(), "title"}, own_thread()).error().code, Errc::not_permitted);
  EXPECT_EQ(changes.unlink(call, {labels, "kept"}, own_thread()).error().code, Errc::not_permitted);
  EXPECT_TRUE(vfs.lookup(call, labels, "kept"));
}

TEST_F(WriteOpsTest, OwnWriteMakesAnEarlierLookupStale) {
  const NodeId before = in(session(), "title");
  ASSERT_TRUE(open(before)->write("New\n", false, own_thread()));
  auto call = RequestContext::in_pool();
  EXPECT_EQ(vfs.open(call, before).error().code, Errc::stale);
  EXPECT_NE(in(session(), "title"), before);
}

}  // namespace
}  // namespace arborfs
