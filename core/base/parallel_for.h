// Work that falls into independent pieces, done by the calling thread and one helper.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <system_error>

#include "core/base/helper_thread.h"

namespace arborfs {

/// Calls work(i) once for each i below `count`, on two threads, in about that order; returns when all are done. What
/// `work` throws, in either thread, is thrown here when both have ended; what has not begun then is left undone.
template <class Work>
void parallel_for(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&](std::exception_ptr& thrown) {
    try {
      for (std::size_t i = next++; i < count; i = next++) {
        work(i);
      }
    } catch (...) {
      thrown = std::current_exception();
      next = count;
    }
  };
  std::exception_ptr thrown_here;
  std::exception_ptr thrown_there;
  std::optional<HelperThread> helper;
  if (count > 1) {
    try {
      helper.emplace([&] { run(thrown_there); });
    } catch (const std::system_error&) {  // no more threads: this one does it all
    }
  }
  run(thrown_here);
  helper.reset();
  for (const std::exception_ptr& thrown : {thrown_here, thrown_there}) {
    if (thrown) {
      std::rethrow_exception(thrown);
    }
  }
}

}  // namespace arborfs
