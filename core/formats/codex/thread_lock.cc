#include "core/formats/codex/thread_lock.h"

#include <chrono>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/os/processes.h"

namespace arborfs::codex {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};
constexpr std::chrono::milliseconds kNoPatience{0};

/// Both are released by closing them.
struct Locks {
  UniqueFd thread;  // invalid if there is no lock file
  UniqueFd segment;
};

/// Codex's background process keeps threads loaded after the program on the terminal has ended.
Error is_loaded(const std::string& thread, std::optional<long> holder) {
  const std::string process = holder && *holder != 0 ? " (process " + std::to_string(*holder) + ")" : "";
  return {Errc::busy, "the session is live: codex" + process +
                          " has the thread loaded; end that program (one in the background: codex app-server daemon "
                          "stop), or leave it a message: arborfs append --queue " +
                          thread};
}

/// Takes Codex's lock. It is never made: a program that ends removes it, and an absent one means a closed thread. One
/// that is removed before it is locked is looked for again.
Result<UniqueFd> lock_of_program(const std::string& home, const std::string& thread) {
  const std::string name = thread + ".lock";
  for (;;) {
    const auto folder = Dir::open_below_root(home, std::string(kLocksFolder));
    FileStat seen;
    auto file = folder ? File::open_in(*folder, name, &seen) : Result<File>(folder.error());
    if (!file) {
      return file.error().code == Errc::not_found ? Result<UniqueFd>(UniqueFd()) : file.error();
    }
    ASSIGN_OR_RETURN(const bool is_ours, wait_for_flock(file->fd(), kNoPatience));
    if (!is_ours) {
      return is_loaded(thread, flock_holder_elsewhere(seen));
    }
    const auto named = folder->stat(name);
    if (named && named->same_file(seen)) {
      return std::move(*file).take();
    }
  }
}

/// Invalid if another process holds it and nobody waits.
Result<UniqueFd> lock_of_segment(const Dir& folder, const std::string& name, WaitForThread wait) {
  ASSIGN_OR_RETURN(auto file, File::open_in(folder, name));
  ASSIGN_OR_RETURN(const bool is_ours, wait_for_flock(file.fd(), wait == WaitForThread::no ? kNoPatience : kPatience));
  if (is_ours) {
    return std::move(file).take();
  }
  return wait == WaitForThread::no ? Result<UniqueFd>(UniqueFd())
                                   : Error{Errc::busy, "another program has locked " + name + "; try again"};
}

}  // namespace

Result<void> check_not_loaded(const ThreadStore& store, const std::string& thread) {
  const auto folder = Dir::open_below_root(store.paths().agent_dir, std::string(kLocksFolder));
  const auto lock = folder ? folder->stat(thread + ".lock") : Result<FileStat>(folder.error());
  const auto holder = lock ? flock_holder_elsewhere(*lock) : std::nullopt;
  return holder ? Result<void>(is_loaded(thread, holder)) : Result<void>();
}

Result<std::unique_ptr<LogWriter>> lock_thread(const ThreadStore& store, const std::string& thread,
                                               WaitForThread wait) {
  auto locks = std::make_shared<Locks>();
  ASSIGN_OR_RETURN(locks->thread, lock_of_program(store.paths().agent_dir, thread));
  ASSIGN_OR_RETURN(const auto now, store.thread_now(thread));
  ASSIGN_OR_RETURN(auto dir, open_below(store.paths().agent_dir, now.active.folder));
  const auto folder = std::make_shared<const Dir>(std::move(dir));
  ASSIGN_OR_RETURN(locks->segment, lock_of_segment(*folder, now.active.file, wait));
  if (!locks->segment) {
    return std::unique_ptr<LogWriter>();
  }
  ASSIGN_OR_RETURN(auto log, File::open_in(*folder, now.active.file));
  ASSIGN_OR_RETURN(const auto stat, log.stat());
  return std::make_unique<LogWriter>(store.disk(), folder, now.active.file, std::move(locks), std::move(log), stat);
}

}  // namespace arborfs::codex
