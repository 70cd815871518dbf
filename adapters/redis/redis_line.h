// One connection slot: connects, sends submissions, reads their replies, and connects again.
// Private to this module.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "adapters/redis/line_timer.h"
#include "adapters/redis/redis_wire.h"
#include "adapters/redis/submission.h"
#include "adapters/redis/subscriptions.h"
#include "engine/client/client.h"

struct redisReader;

namespace rushgate {

class RedisCore;

/// Thread-safe where it says so; the rest belongs to the I/O thread. Keeps the order of submission.
/// docs/internals.md describes the states.
class RedisLine final : public RedisWire::Owner, public std::enable_shared_from_this<RedisLine> {
 public:
  enum class Use : std::uint8_t {
    kShared,  // all clients': is connected again whenever it was lost
    kLeased,  // one submission's at a time: is connected when it is needed
    kOwn,     // one client's, whose commands change it
  };

  /// `on_message` gets the server's messages: null unless the use is kOwn.
  RedisLine(RedisCore& core, Use use, std::function<void(Reply)> on_message = {});
  ~RedisLine() override;

  // ---- From any thread ----

  /// Takes the submission, or returns the reason for which it is to fail: nothing was done.
  [[nodiscard]] std::optional<std::string> submit(Submission& submission);
  /// Takes a submission of a check, on the connection that `wire` stands for.
  [[nodiscard]] std::optional<std::string> submit_to_check(const RedisWire* wire,
                                                           Submission& submission);
  /// The connection has a state that is lost with it: no other is made then.
  void keep_state();
  /// Returns why the server is known as dead; nothing if it is not.
  [[nodiscard]] std::optional<std::string> dead_reason();
  /// Returns dead_reason(), or why the last checks failed; nothing if requests can succeed.
  [[nodiscard]] std::optional<std::string> unusable_reason();
  /// Returns the CLIENT ID of the connection; 0 if there is none, or it is not known.
  [[nodiscard]] std::int64_t connection_id() const { return connection_id_.load(); }
  /// Returns true once close() has run and no check runs any more.
  [[nodiscard]] bool has_ended() const { return is_closed_ && !is_checking_; }

  // ---- On the I/O thread ----

  /// Connects; `outcome` gets the result of the first attempt.
  void start(absl::AnyInvocable<void(absl::Status)> outcome);
  /// Fails submissions that have waited for too long. Returns true if any is left.
  bool tick(std::int64_t now_ms);
  /// Ends the line for good. All that is left fails.
  void close(const std::string& reason);
  /// Blocks until no check runs any more. After close(), on any thread but the check's.
  void join_check();

 private:
  enum class Phase : std::uint8_t {
    kDown,        //
    kConnecting,  //
    kSettingUp,   // connected: the greeting and the checks are under way
    kUp,          //
    kClosed,      // for good
  };
  /// Why an attempt failed.
  enum class Failure : std::uint8_t {
    kServer,        // there is none, or it is of no use
    kCheck,         // a ConnectionCheck
    kSubscription,  // subscriptions could not be made again
  };
  class CheckedConnection;
  using Lock = std::unique_lock<std::mutex>;

  // ---- Connecting ----
  void start_attempt();
  void end_attempt_after(std::int64_t timeout_ms, const std::string& reason);
  void connected(RedisWire& wire, const std::string& failure) override;
  void greet(RedisWire& wire);
  void note_refusal(const Reply& reply);
  void greeted(const RedisWire* wire, std::span<const Reply> replies);
  void run_checks();
  void checked(const RedisWire* wire, const absl::Status& status);
  void subscribe_again();
  void become_up();
  void fail_attempt(const absl::Status& status, Failure failure);
  [[nodiscard]] std::int64_t next_pause_ms();
  void retry_after(std::int64_t pause_ms);
  void fail_waiting(const std::string& reason);
  [[nodiscard]] std::string cannot_connect(std::string_view reason) const;
  [[nodiscard]] std::string without_password(std::string_view text) const;
  [[nodiscard]] bool is_current(const RedisWire* wire) const { return wire_.get() == wire; }
  void mark_dead(const std::string& reason);

  // ---- Sending ----
  void post_flush();                          // with mutex_ held
  void post_attempt();                        // with mutex_ held
  bool send_at_once(Submission& submission);  // with mutex_ held
  void flush();
  bool fill_chunk();
  [[nodiscard]] bool is_stale(RedisWire& wire) const;  // with mutex_ held
  void encode(Submission& submission);
  void can_write(RedisWire& wire, const std::string& failure) override;

  // ---- Receiving ----
  void received(RedisWire& wire, std::string_view bytes, const std::string& failure) override;
  std::string_view take_reply(Reply reply, SubmissionList& finished);
  bool take_message(Reply& message);
  bool take_handed();
  void notify(std::string_view event);
  [[nodiscard]] bool was_of_use() const;
  [[nodiscard]] bool has_backlog() const;
  void lose(const std::string& reason, bool is_silence);
  SubmissionList fail_sent(const std::string& reason);
  void finish_all(SubmissionList& finished);

  RedisCore& core_;
  const Use use_;
  std::atomic<std::int64_t> connection_id_{0};
  std::atomic<std::int64_t> last_activity_ms_{0};  // sent to an idle server, or received
  std::atomic<bool> is_checking_{false};           // a thread runs the checks of a connection
  std::atomic<bool> is_closed_{false};             // no check begins any more
  // Nothing is begun any more, the connection is of no use. Set before unfinished_ becomes 0.
  std::atomic<bool> is_doomed_{false};

  // ---- Guarded by mutex_ ----
  std::mutex mutex_;
  Phase phase_ = Phase::kDown;       // changed by the I/O thread alone
  std::shared_ptr<RedisWire> wire_;  // changed by the I/O thread alone
  SubmissionList waiting_;           // not begun
  SubmissionList handed_;       // sent by the calling thread: the I/O thread is to expect replies
  SubmissionList setup_;        // of the greeting and the checks, not begun
  std::size_t unfinished_ = 0;  // all that was taken and has not finished
  bool is_writing_ = false;     // the I/O thread has out_, else the holder of mutex_
  bool flush_is_posted_ = false;
  bool attempt_is_posted_ = false;
  bool keeps_state_ = false;
  bool has_lost_state_ = false;      // it serves subscriptions alone from then on
  std::optional<std::string> dead_;  // why the server is known as dead
  // Why the checks or the subscriptions of the last connection failed. Until an attempt succeeds.
  std::optional<std::string> setup_failure_;
  std::string closed_reason_;  // kClosed, or has_lost_state_
  std::int64_t attempt_began_ms_ = 0;
  std::int64_t attempt_ended_ms_ = 0;
  std::int64_t next_attempt_ms_ = 0;  // if setup_failure_: none begins before

  // ---- The bytes under way: see is_writing_ ----
  std::string out_;
  std::size_t out_sent_ = 0;             // how much of it is sent
  std::vector<std::size_t> chunk_ends_;  // where each of its requests ends in out_

  // ---- The I/O thread's ----
  SubmissionList to_encode_;       // taken from waiting_ or setup_, not begun
  SubmissionList expecting_;       // begun: replies come in this order
  Submission* partial_ = nullptr;  // the last of them, if it is not fully encoded
  bool is_write_blocked_ = false;  // can_write() will come
  bool was_up_ = false;
  std::int64_t up_since_ms_ = 0;
  bool has_served_ = false;               // something came over this connection since it was up
  std::int64_t backoff_ms_ = 0;           // the last pause between attempts, without its jitter
  const Submission* greeting_ = nullptr;  // under way
  absl::Status greeting_error_;
  Subscriptions subscriptions_;
  std::vector<Reply> confirmations_;  // of a (un)subscription that has several
  std::size_t confirmations_left_ = 0;
  const std::function<void(Reply)> on_message_;
  // Memory of the messages that wait for on_message_. The thread for callbacks takes from it.
  const std::shared_ptr<std::atomic<std::size_t>> message_bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  absl::AnyInvocable<void(absl::Status)> first_outcome_;
  LineTimer attempt_timer_;
  LineTimer patience_timer_;
  LineTimer retry_timer_;
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::thread check_;
  bool check_has_reported_ = true;
  bool checks_are_due_ = false;  // once the check of a lost connection has reported
};

}  // namespace rushgate
