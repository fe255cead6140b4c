// Whether the work of a thread is to end early. Readers of logs take a std::stop_token; sessions, searches and requests
// pass them that of their thread, and what helps a thread with its work has the same one (threads.h).
#pragma once

#include <stop_token>
#include <utility>

namespace arborfs {

/// During its lifetime, long work on this thread ends with `interrupted` once a stop is requested of `token`.
class Cancellation {
 public:
  explicit Cancellation(std::stop_token token) : before_(std::exchange(token_, std::move(token))) {}
  ~Cancellation() { token_ = before_; }
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  /// This thread's; no stop can be requested of it if there is no Cancellation.
  static const std::stop_token& token() { return token_; }
  static bool is_requested() { return token_.stop_requested(); }

 private:
  static inline thread_local std::stop_token token_;
  const std::stop_token before_;
};

}  // namespace arborfs
