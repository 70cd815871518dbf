// What all connections of a RedisBackend share: its threads, its queue's bound, and its counters.
// Private to this module.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "adapters/redis/callback_thread.h"
#include "adapters/redis/submission.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/redis_backend.h>

namespace rushgate {

/// Thread-safe.
class RedisRuntime {
 public:
  explicit RedisRuntime(RedisOptions options) : options_(std::move(options)) {}

  /// Reads the certificates and starts the threads. Call it once, first.
  absl::Status start();
  /// Runs `action` on the I/O thread and waits for it.
  void run_on_io(absl::FunctionRef<void()> action);
  /// Ends the I/O thread. Everything on it must be closed.
  void stop_io();
  /// Runs the remaining callbacks and ends their thread.
  void stop_callbacks() { callbacks_.stop(); }

  [[nodiscard]] const RedisOptions& options() const { return options_; }
  [[nodiscard]] boost::asio::io_context& io() { return io_; }
  [[nodiscard]] boost::asio::ssl::context* tls() { return tls_.get(); }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] std::int64_t now_ms() const { return clock_.monotonic_ms(); }
  [[nodiscard]] CallbackThread& callbacks() { return callbacks_; }

  // ---- The bound of the queue ----

  /// Blocks until the queue has space. Returns the error if there is none.
  [[nodiscard]] std::optional<Reply> admit(const Submission& submission, bool fail_when_full);
  /// Ends what admit() began.
  void release(const Submission& submission);
  /// Counts a completion of `bytes` that waits for the callback thread.
  void note_waiting_completion(std::size_t bytes);
  /// Counts that completion as running.
  void note_running_completion(std::size_t bytes);

  // ---- Checks ----
  void add_check(std::weak_ptr<const ConnectionCheck> check);
  [[nodiscard]] std::vector<std::shared_ptr<const ConnectionCheck>> checks();

  // ---- Counters (see RedisCounters) ----
  struct {
    std::atomic<std::uint64_t> connects{0}, reconnects{0}, connect_failures{0}, losses{0},
        requests{0}, writes{0}, timeouts{0}, expired{0}, overloads{0}, breaker_openings{0},
        breaker_refusals{0}, resubscriptions{0}, lookups{0}, master_changes{0}, redirects{0};
  } counts;
  [[nodiscard]] RedisCounters counters() const;

 private:
  absl::Status make_tls();
  void wake_waiting();

  const RedisOptions options_;
  const SystemClock clock_;
  std::unique_ptr<boost::asio::ssl::context> tls_;  // null without TLS
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  CallbackThread callbacks_{clock_};
  std::thread io_thread_;

  std::atomic<std::size_t> queued_{0};
  std::atomic<std::size_t> queued_bytes_{0};
  std::atomic<std::size_t> completions_{0};  // waiting
  std::atomic<std::size_t> completion_bytes_{0};
  std::atomic<int> waiting_for_room_{0};
  std::mutex space_mutex_;
  std::condition_variable space_made_;

  std::mutex checks_mutex_;
  std::vector<std::weak_ptr<const ConnectionCheck>> checks_;  // guarded by checks_mutex_
};

}  // namespace rushgate
