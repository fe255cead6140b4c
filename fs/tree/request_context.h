// One request on its way through the Vfs: on the thread that took it, where nothing may take long, or in the worker
// pool.
//
// An operation that finds that it would take long returns defer(); the server then runs the same operation again in the
// worker pool (worker_pool.h). So an operation must change nothing before that point. Used by one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/result_macros.h"
#include "core/session/session.h"
#include "core/store/session_store.h"

namespace arborfs {

class RequestContext {
 public:
  /// On the thread that took the request.
  RequestContext() = default;
  /// In the worker pool. `cancelled` ends long work early.
  explicit RequestContext(const std::atomic<bool>* cancelled) : may_take_long_(true), cancelled_(cancelled) {}

  [[nodiscard]] bool may_take_long() const { return may_take_long_; }
  [[nodiscard]] const std::atomic<bool>* cancelled() const { return cancelled_; }

  /// The result of an operation that must be run again in the worker pool.
  Error defer() {
    deferred_ = true;
    return {Errc::interrupted, "goes on where it may take long"};
  }
  [[nodiscard]] bool is_deferred() const { return deferred_; }

  /// When the request began: a result found after this time was found for it, or while it was in progress.
  [[nodiscard]] std::chrono::steady_clock::time_point begun() const { return begun_; }

  /// One refresh of a session is enough for a request.
  [[nodiscard]] bool has_refreshed(std::uint32_t session, Depth depth) const {
    return refreshed_ == session && depth <= depth_;
  }
  void note_refreshed(std::uint32_t session, Depth depth) {
    refreshed_ = session;
    depth_ = depth;
  }
  void forget_refreshed() { refreshed_ = 0; }

  /// Stats a session's log. Keeps its folder open for the next log in it: a listing stats many.
  Result<FileStat> stat(const Session& session) {
    const LogPlace place = session.place();
    if (!folder_ || folder_->first != place.in()) {
      ASSIGN_OR_RETURN(auto opened, session.store().folder(place));
      folder_.emplace(place.in(), std::move(opened));
    }
    return session.store().stat(place, &folder_->second);
  }

 private:
  bool may_take_long_ = false;
  bool deferred_ = false;
  const std::atomic<bool>* cancelled_ = nullptr;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::uint32_t refreshed_ = 0;
  Depth depth_ = Depth::head;
  std::optional<std::pair<LogFolder, Dir>> folder_;  // of the log that was checked last
};

}  // namespace arborfs
