// Runs independent pieces of work on the calling thread and one helper.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <system_error>

#include "core/base/helper_thread.h"

namespace arborfs {

/// Calls work(i) once for each i below `count`, on two threads, in roughly ascending order; returns when all are done.
/// If `work` throws in either thread, no further calls start, and the exception is rethrown when both have ended.
template <class Work>
void parallel_for(std::size_t count, const Work& work) {
  constexpr std::size_t kTurns = 256;  // enough to share out work that is unequal, few enough to cost little
  const std::size_t step = std::max<std::size_t>(1, count / kTurns);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stops{false};
  const auto run = [&](std::exception_ptr& thrown) {
    try {
      for (std::size_t begin = next.fetch_add(step); begin < count; begin = next.fetch_add(step)) {
        for (std::size_t i = begin; i < std::min(begin + step, count) && !stops; ++i) {
          work(i);
        }
      }
    } catch (...) {
      thrown = std::current_exception();
      stops = true;
    }
  };
  std::exception_ptr thrown_here;
  std::exception_ptr thrown_there;
  std::optional<HelperThread> helper;
  if (count > 1) {
    try {
      helper.emplace([&] { run(thrown_there); });
    } catch (const std::system_error&) {  // no thread available: this one does all the work
    }
  }
  run(thrown_here);
  if (helper) {
    helper->drop_unless_begun();  // the kernel may need longer to start it than the work took
    helper.reset();
  }
  for (const std::exception_ptr& thrown : {thrown_here, thrown_there}) {
    if (thrown) {
      std::rethrow_exception(thrown);
    }
  }
}

}  // namespace arborfs
