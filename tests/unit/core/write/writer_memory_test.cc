// If memory runs out during a write, the writer gets an error and the next write works as usual.
#include <gtest/gtest.h>

#include <new>

#include "core/json/document.h"
#include "tests/support/failing_memory.h"
#include "tests/support/stage.h"

namespace arborfs {
namespace {

using testing::FailingMemory;
using testing::Stage;
using testing::Storage;

class OutOfMemoryTest : public ::testing::TestWithParam<Storage> {
 protected:
  Stage stage_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Storages, OutOfMemoryTest, ::testing::Values(Storage::files, Storage::memory),
                         testing::storage_name);

struct Tried {
  bool has_failed = false;  // an allocation failed
  bool is_written = false;
};
Tried try_to_append(Stage& stage, const SessionPtr& session, std::size_t skipped) {
  auto command = Stage::text("short of memory");
  const FailingMemory memory(skipped);
  bool is_written = false;
  try {
    is_written = stage.writer().append(session, std::move(command)).has_value();
  } catch (const std::bad_alloc&) {
  }
  return {memory.has_failed(), is_written};
}

TEST_P(OutOfMemoryTest, FailedAppendLeavesTheLogIntact) {
  const auto session = stage_.add_small();
  for (std::size_t skipped = 0;; ++skipped) {
    const std::size_t before = stage_.lines(session).size();
    const Tried tried = try_to_append(stage_, session, skipped);
    const auto next = stage_.writer().append(session, Stage::text("enough of it"));
    ASSERT_TRUE(next) << "after allocation " << skipped << " failed: " << next.error().message;
    const auto lines = stage_.lines(session);
    ASSERT_GE(lines.size(), before + (tried.is_written ? 2 : 1)) << skipped;
    ASSERT_LE(lines.size(), before + 2) << skipped;
    for (std::size_t i = before; i < lines.size(); ++i) {
      json::Document document;
      ASSERT_TRUE(json::parse(lines[i], document)) << lines[i];
    }
    if (!tried.has_failed) {
      ASSERT_TRUE(tried.is_written);
      ASSERT_GT(skipped, 20U);  // it needs at least as many allocations
      return;
    }
  }
}

}  // namespace
}  // namespace arborfs
