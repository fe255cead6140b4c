// A process that removes and restores sessions, and is repeatedly killed in the middle.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "core/formats/registry.h"
#include "core/session/catalog.h"
#include "core/write/trash.h"
#include "core/write/writer.h"

namespace arborfs::testing {

/// Removes sessions and restores them through `disk` until it is killed; writes "." to `out` after each step, "!" if
/// the step failed.
[[noreturn]] inline void remove_forever(Catalog& catalog, Writer& writer, const std::string& trash, Disk& disk,
                                        int out) {
  for (;;) {
    catalog.rescan();
    const auto view = catalog.view();
    for (const auto& [name, session] : view->by_id) {
      if (!writer.check_remove(session)) {
        continue;  // a sub-agent, or one with which another session begins
      }
      const auto done = writer.remove(session);
      const bool is_done = done || done.error().code == Errc::not_found;  // it went with its parent
      if (::write(out, is_done ? "." : "!", 1) != 1) {
        ::_exit(1);
      }
    }
    for (const Trashed& one : Trash(trash).list()) {
      if (::write(out, restore_session(trash, one, catalog.stores(), disk) ? "." : "!", 1) != 1) {
        ::_exit(1);
      }
    }
  }
}

/// Kills remove_forever() after some of its steps so many times, or ARBORFS_KILL_ROUNDS times if that is set, and calls
/// `after` with the number of the round each time, until that fails fatally.
template <class After>
void kill_removals(Catalog& catalog, Writer& writer, const std::string& trash, Disk& disk, int rounds,
                   const After& after) {
  const char* wanted = std::getenv("ARBORFS_KILL_ROUNDS");
  rounds = wanted == nullptr ? rounds : std::atoi(wanted);
  std::mt19937 random(17);
  std::uniform_int_distribution<int> steps(1, 12);
  std::uniform_int_distribution<int> pause_us(0, 6000);
  for (int round = 0; round < rounds && !::testing::Test::HasFatalFailure(); ++round) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      remove_forever(catalog, writer, trash, disk, pipe[1]);
    }
    ::close(pipe[1]);
    std::string steps_done(static_cast<std::size_t>(steps(random)), ' ');
    for (char& step : steps_done) {
      ASSERT_EQ(::read(pipe[0], &step, 1), 1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us(random)));  // the point where it is killed
    ::kill(child, SIGKILL);
    ::close(pipe[0]);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(steps_done.find('!'), std::string::npos) << round;
    after(round);
  }
}

}  // namespace arborfs::testing
