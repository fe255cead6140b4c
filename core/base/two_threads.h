// Work that falls into independent pieces, done by the calling thread and one helper.
#pragma once

#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>

namespace arborfs {

/// Calls work(i) once for each i below `count`, on two threads, in about that order; returns when all are done. `work`
/// must not throw.
template <class Work>
void on_two_threads(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      work(i);
    }
  };
  std::jthread helper;  // joins, whatever happens here
  if (count > 1) {
    try {
      helper = std::jthread(run);
    } catch (const std::system_error&) {  // no more threads: this one does it all
    }
  }
  run();
}

}  // namespace arborfs
