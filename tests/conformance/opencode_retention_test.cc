// Which sessions a retention removes: a store with children, and an answer that is being written.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/write/retention.h"
#include "tests/support/opencode_database.h"

namespace arborfs {
namespace {

using conformance::Program;
using conformance::WritesToOpenCode;

constexpr std::int64_t kNow = 1'770'000'000'000;
constexpr std::int64_t kDay = 24LL * 3600 * 1000;

class RetainsSessions : public WritesToOpenCode {
 protected:
  /// s1 to s5, the children c1 of s1 and c2 of s2, g2 of c2, and a child whose parent is gone.
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    WriteSettings settings;
    settings.allow_delete = true;
    settings.durability = Durability::none;
    settings.trash = temp_.root() + "/trash";
    open("first-sqlite-1.2.1", "Explore with subagent", settings);
    Program program(database);
    program.run("PRAGMA foreign_keys=ON; DELETE FROM session");
    add(program, "s1", "NULL", kNow - kDay);
    add(program, "s2", "NULL", kNow - 40 * kDay);
    add(program, "s3", "NULL", kNow - 35 * kDay);
    add(program, "s4", "NULL", kNow - 30 * kDay);
    add(program, "s5", "NULL", kNow - 30 * kDay - 1);
    add(program, "c1", "'s1'", kNow - 90 * kDay);
    add(program, "c2", "'s2'", kNow);
    add(program, "g2", "'c2'", kNow);
    add(program, "orphan", "'gone'", kNow - 90 * kDay);
    catalog->rescan();
  }
  static void add(Program& program, const std::string& id, const std::string& parent, std::int64_t updated) {
    program.run(
        "INSERT INTO session(id, project_id, parent_id, slug, directory, title, version, time_created, "
        "time_updated) SELECT '" +
        id + "', id, " + parent + ", 'a', '/w', '" + id + "', '1', " + std::to_string(updated - 1000) + ", " +
        std::to_string(updated) + " FROM project LIMIT 1");
  }
  std::vector<Judged> judged(std::size_t count, unsigned days) {
    std::vector<Candidate> candidates;
    const auto view = catalog->view();
    for (const auto& [id, one] : view->by_id) {
      candidates.push_back({one, one->stat().mtime_ns});
    }
    Retention retention;
    retention.now_ms = kNow;
    retention.keep_days = days;
    retention.keep_count = count;
    return judge(*writer, std::move(candidates), retention);
  }
  /// The ids of the sessions to be removed, each followed by its children.
  std::string removed(std::size_t count, unsigned days) {
    std::string ids;
    for (const Judged& one : judged(count, days)) {
      if (one.fate == Fate::removed) {
        ids += " " + one.session->stem();
        for (const SessionPtr& child : one.children) {
          ids += " " + child->stem();
        }
      }
    }
    return ids;
  }
};

TEST_F(RetainsSessions, YoungOrNewestStayAndChildrenGoAlong) {
  EXPECT_EQ(removed(1, 30), " s5 s3 s2 c2 g2");
  EXPECT_EQ(removed(3, 30), " s3 s2 c2 g2");
  EXPECT_EQ(removed(0, 0), " s1 c1 s4 s5 s3 s2 c2 g2");
  EXPECT_EQ(removed(0, 365), "");
  EXPECT_EQ(removed(5, 0), "");
  EXPECT_EQ(removed(0, 4'000'000'000U), "");
}

TEST_F(RetainsSessions, WhatIsJudgedIsRemovedAndNothingElse) {
  for (const Judged& one : judged(1, 30)) {
    if (one.fate == Fate::removed) {
      const auto done = writer->remove(one.session);
      EXPECT_TRUE(done) << done.error().message;
    }
  }
  EXPECT_EQ(Program(database).run("SELECT id FROM session ORDER BY id"), "c1\norphan\ns1\ns4\n");
}

TEST_F(RetainsSessions, ASessionThatIsWrittenWhileOthersAreJudgedStays) {
  std::vector<Candidate> candidates;
  const auto written = catalog->view()->by_id_prefix("s3");
  candidates.push_back({written, written->stat().mtime_ns});
  Program(database).run("UPDATE session SET time_updated = " + std::to_string(kNow) + " WHERE id = 's3'");
  Retention retention;
  retention.now_ms = kNow;
  retention.keep_count = 0;
  const auto all = judge(*writer, std::move(candidates), retention);
  ASSERT_EQ(all.size(), 1U);
  std::string why;
  EXPECT_EQ(judge_again(*writer, all.front(), retention, why), Fate::young);
}

TEST_F(RetainsSessions, ASessionWithALiveChildStays) {
  const std::string now = std::to_string(now_ms());
  Program(database).run("INSERT INTO message(id, session_id, time_created, time_updated, data) VALUES('m', 'g2', " +
                        now + ", " + now + ", '{\"role\":\"assistant\",\"time\":{}}')");
  EXPECT_EQ(removed(1, 30), " s5 s3");
  const auto all = judged(1, 30);
  EXPECT_EQ(all.back().fate, Fate::live);
  EXPECT_NE(all.back().why.find("answering"), std::string::npos) << all.back().why;
}

}  // namespace
}  // namespace arborfs
