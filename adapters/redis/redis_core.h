// The threads and connections of a RedisBackend, which its clients share. Private to this module.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "adapters/redis/callback_thread.h"
#include "adapters/redis/master_finder.h"
#include "adapters/redis/redis_line.h"
#include "adapters/redis/submission.h"
#include "engine/core/time/timer_queue.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/redis_backend.h>

namespace rushgate {

/// One submission's right to a connection. The destructor returns it.
class Lease {
 public:
  /// A null `core` means that the client keeps the connection.
  Lease(std::shared_ptr<RedisCore> core, std::shared_ptr<RedisLine> its_line);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const std::shared_ptr<RedisLine> line;
  std::atomic<bool> has_ended{false};           // its submission has finished
  std::atomic<bool> is_being_unblocked{false};  // until has_ended

 private:
  const std::shared_ptr<RedisCore> core_;
};

/// Clients share it. After close() nothing is sent. Thread-safe.
class RedisCore : public std::enable_shared_from_this<RedisCore> {
 public:
  using Granted = absl::AnyInvocable<void(std::shared_ptr<RedisLine>)>;

  explicit RedisCore(RedisOptions options);
  ~RedisCore();

  /// Starts the threads and connects. Call it once, first.
  absl::Status start();
  /// Ends everything. Must not be called by a callback.
  void close();

  [[nodiscard]] const RedisOptions& options() const { return options_; }
  [[nodiscard]] boost::asio::io_context& io() { return io_; }
  [[nodiscard]] boost::asio::ssl::context* tls() { return tls_.get(); }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] std::int64_t now_ms() const { return clock_.monotonic_ms(); }
  [[nodiscard]] CallbackThread& callbacks() { return callbacks_; }
  [[nodiscard]] RedisLine& shared() { return *shared_; }
  /// Returns the connection for the requests of a client that need none of their own.
  [[nodiscard]] RedisLine& shared_for(const ClientOptions& client) {
    return client.confirms && confirming_ != nullptr ? *confirming_ : *shared_;
  }

  // ---- Servers; on the I/O thread ----

  [[nodiscard]] bool has_sentinels() const { return !options_.sentinel.addresses.empty(); }
  /// Passes the server to connect to, or why there is none, to `found`: at once, or when a sentinel
  /// has answered.
  void find_server(MasterFinder::Found found);
  /// Reports that the server which find_server() named could not be used.
  void doubt_server();

  // ---- Submissions ----

  /// Blocks until the queue has space. Returns the error if there is none.
  [[nodiscard]] std::optional<Reply> admit(const Submission& submission, bool fail_when_full);
  /// Ends an admitted submission.
  void finish(Submission& submission);
  /// Counts a completion of `bytes` that waits for the callback thread.
  void note_waiting_completion(std::size_t bytes);
  /// Counts that completion as running.
  void note_running_completion(std::size_t bytes);
  /// Same as finish(), with an error for each request without a reply.
  void fail(Submission& submission, std::string_view code, std::string_view reason);
  /// Keeps tick() running while a line waits.
  void arm_tick();
  /// Makes tick() frequent enough for a timeout.
  void note_timeout(std::int64_t timeout_ms);
  /// Runs `then` on the I/O thread after the pause, unless the backend is closed earlier.
  void after(std::int64_t pause_ms, absl::AnyInvocable<void()> then);
  /// Makes tick() call expire() of the session until it returns false.
  void watch(std::weak_ptr<RedisSession> session);
  [[nodiscard]] bool is_closed() const { return is_closed_; }

  // ---- Other connections ----

  /// Returns a connection for the submission's route. Returns null if all are in use. Then
  /// `granted` gets one later, with no lock held, unless the submission fails earlier.
  [[nodiscard]] std::shared_ptr<RedisLine> acquire(Submission& submission, Granted granted);
  /// Ends the use of a connection. Null: it must not be reused.
  void give_back(std::shared_ptr<RedisLine> line);
  /// Closes the connection that a client had for itself.
  void retire(std::shared_ptr<RedisLine> line);

  // ---- Checks ----
  void add_check(std::weak_ptr<const ConnectionCheck> check);
  [[nodiscard]] std::vector<std::shared_ptr<const ConnectionCheck>> checks();

  // ---- Counters (see RedisCounters) ----
  struct {
    std::atomic<std::uint64_t> connects{0}, reconnects{0}, connect_failures{0}, losses{0},
        requests{0}, writes{0}, timeouts{0}, expired{0}, overloads{0}, breaker_openings{0},
        breaker_refusals{0}, resubscriptions{0}, lookups{0}, master_changes{0};
  } counts;
  [[nodiscard]] RedisCounters counters() const;

 private:
  struct Waiter {
    Submission* submission;
    std::int64_t deadline_ms;
    Granted granted;
  };

  absl::Status make_tls();
  void follow(const RedisAddress& master);
  void tick();
  void run_due_pauses();
  bool expire_held(std::int64_t now_ms);
  bool expire_waiters(std::int64_t now_ms);
  // Require pool_mutex_:
  [[nodiscard]] std::shared_ptr<RedisLine> take_line(const Submission& submission);
  [[nodiscard]] std::shared_ptr<RedisLine> take_idle_line();
  [[nodiscard]] std::shared_ptr<RedisLine> open_own_line(std::function<void(Reply)> on_message);
  void close_line(std::shared_ptr<RedisLine> line, const std::string& reason);
  void reap_retired();
  void release_space(const Submission& submission);
  void wake_waiting();

  const RedisOptions options_;
  std::atomic<std::int64_t> shortest_timeout_ms_;
  const SystemClock clock_;
  std::unique_ptr<boost::asio::ssl::context> tls_;  // null without TLS
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  boost::asio::steady_timer tick_timer_{io_};
  std::atomic<bool> tick_is_armed_{false};
  boost::asio::steady_timer pause_timer_{io_};  // for the first of pauses_
  std::optional<MasterFinder> finder_;          // with sentinels; the I/O thread's
  RedisAddress master_;                         // the last one that it named; the I/O thread's
  CallbackThread callbacks_{clock_};
  std::shared_ptr<RedisLine> shared_;
  std::shared_ptr<RedisLine> confirming_;  // null without confirm_replicas
  std::thread io_thread_;
  std::atomic<bool> is_closed_{false};  // changed with pool_mutex_ held

  // ---- The bound of the queue ----
  std::atomic<std::size_t> queued_{0};
  std::atomic<std::size_t> queued_bytes_{0};
  std::atomic<std::size_t> completions_{0};  // waiting
  std::atomic<std::size_t> completion_bytes_{0};
  std::atomic<int> waiting_for_room_{0};
  std::mutex space_mutex_;
  std::condition_variable space_made_;

  // ---- Guarded by pool_mutex_ ----
  std::mutex pool_mutex_;
  std::vector<std::shared_ptr<RedisLine>> lines_;    // all except the retired ones
  std::vector<std::shared_ptr<RedisLine>> retired_;  // closed; a check may still run
  std::vector<std::shared_ptr<RedisLine>> idle_;     // can be leased; the most recently used last
  int in_use_ = 0;                                   // leased, or owned by a client
  std::deque<Waiter> waiters_;
  TimerQueue pauses_;                                 // of after()
  std::vector<std::weak_ptr<RedisSession>> watched_;  // sessions that hold back submissions
  std::vector<std::weak_ptr<const ConnectionCheck>> checks_;
};

}  // namespace rushgate
