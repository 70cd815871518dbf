// The connections to one server, which the clients of a RedisBackend share. Private to this module.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "adapters/redis/master_finder.h"
#include "adapters/redis/pauses.h"
#include "adapters/redis/redis_line.h"
#include "adapters/redis/redis_runtime.h"
#include "adapters/redis/replica_wait.h"
#include "adapters/redis/submission.h"
#include <rushgate/client.h>
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

  RedisCore(RedisOptions options, std::shared_ptr<RedisRuntime> runtime);
  ~RedisCore();

  /// Connects; `outcome` gets the result of the first attempt, on the I/O thread. Call it once, first.
  void start(absl::AnyInvocable<void(absl::Status)> outcome);
  /// Ends everything. On the I/O thread.
  void close(std::string_view reason);
  /// Blocks until no check is running. After close(), on any thread except a check's.
  void join_checks();
  /// Returns true after close(), once no check is running.
  [[nodiscard]] bool has_ended() const;

  [[nodiscard]] const RedisOptions& options() const { return options_; }
  [[nodiscard]] RedisRuntime& runtime() { return *runtime_; }
  [[nodiscard]] boost::asio::io_context& io() { return runtime_->io(); }
  [[nodiscard]] boost::asio::ssl::context* tls() { return runtime_->tls(); }
  [[nodiscard]] std::int64_t now_ms() const { return runtime_->now_ms(); }
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
  /// Reports that a connection was lost.
  void note_trouble();
  /// Makes doubt_server() and note_trouble() call `on_trouble`. Call it before start().
  void set_on_trouble(std::function<void()> on_trouble) { on_trouble_ = std::move(on_trouble); }

  /// Makes connections fail unless the server is the node of a cluster with this id. Call it before
  /// start().
  void set_node_id(std::string id) { node_id_ = std::move(id); }
  [[nodiscard]] const std::string& node_id() const { return node_id_; }
  /// Makes the node of a cluster use the keys that `write_key` returns, each one in a slot of it. Call
  /// it before start().
  void set_write_key(std::function<std::string()> write_key) { write_key_ = std::move(write_key); }
  /// Calls a function when such a key cannot be written, since its slot moves.
  void set_on_write_key_elsewhere(std::function<void()> on_elsewhere) {
    on_write_key_elsewhere_ = std::move(on_elsewhere);
  }
  void change_write_key() {
    if (on_write_key_elsewhere_) on_write_key_elsewhere_();
  }
  /// Returns such a key; empty if the server is no node of a cluster.
  [[nodiscard]] std::string write_key() const { return write_key_ ? write_key_() : std::string(); }
  /// Returns what confirms the requests of clients with ClientOptions::confirms.
  [[nodiscard]] ReplicaWait confirmation() const {
    return {options_.confirm_replicas, options_.confirm_ms, write_key()};
  }

  // ---- Submissions ----

  /// Ends an admitted submission.
  void finish(Submission& submission);
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

 private:
  struct Waiter {
    Submission* submission;
    std::int64_t deadline_ms;
    Granted granted;
  };

  void follow(const RedisAddress& master);
  void tick();
  bool expire_held(std::int64_t now_ms);
  bool expire_waiters(std::int64_t now_ms);
  // Require pool_mutex_:
  [[nodiscard]] std::shared_ptr<RedisLine> take_line(const Submission& submission);
  [[nodiscard]] std::shared_ptr<RedisLine> take_idle_line();
  [[nodiscard]] std::shared_ptr<RedisLine> open_own_line(std::function<void(Reply)> on_message);
  void close_line(std::shared_ptr<RedisLine> line, const std::string& reason);
  void reap_retired();

  const RedisOptions options_;
  const std::shared_ptr<RedisRuntime> runtime_;
  std::atomic<std::int64_t> shortest_timeout_ms_;
  boost::asio::steady_timer tick_timer_{io()};
  std::atomic<bool> tick_is_armed_{false};
  const std::shared_ptr<Pauses> pauses_;
  std::string node_id_;
  std::function<void()> on_trouble_;
  std::function<std::string()> write_key_;
  std::function<void()> on_write_key_elsewhere_;
  std::optional<MasterFinder> finder_;  // with sentinels; the I/O thread's
  RedisAddress master_;                 // the last one that it named; the I/O thread's
  std::shared_ptr<RedisLine> shared_;
  std::shared_ptr<RedisLine> confirming_;  // null without confirm_replicas
  std::atomic<bool> is_closed_{false};     // changed with pool_mutex_ held

  // ---- Guarded by pool_mutex_ ----
  std::mutex pool_mutex_;
  std::vector<std::shared_ptr<RedisLine>> lines_;         // all except the retired ones
  std::vector<std::shared_ptr<RedisLine>> retired_;       // closed; a check may still run
  std::vector<std::shared_ptr<RedisLine>> closed_lines_;  // set by close()
  std::vector<std::shared_ptr<RedisLine>> idle_;  // can be leased; the most recently used last
  int in_use_ = 0;                                // leased, or owned by a client
  std::deque<Waiter> waiters_;
  std::vector<std::weak_ptr<RedisSession>> watched_;  // sessions that hold back submissions
};

}  // namespace rushgate
