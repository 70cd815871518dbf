// One connection slot: connects, sends submissions, reads their replies, and reconnects. Private to
// this module.
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
#include "absl/status/statusor.h"
#include "adapters/redis/hiredis_reader.h"
#include "adapters/redis/line_timer.h"
#include "adapters/redis/redis_wire.h"
#include "adapters/redis/submission.h"
#include "adapters/redis/subscriptions.h"
#include <rushgate/client.h>
#include <rushgate/redis_backend.h>

namespace rushgate {

class RedisCore;

/// Keeps the order of submission. Only the methods that say so are thread-safe. The others belong
/// to the I/O thread. docs/how-the-engine-works.md describes the states.
class RedisLine final : public RedisWire::Owner, public std::enable_shared_from_this<RedisLine> {
 public:
  enum class Use : std::uint8_t {
    kShared,      // shared by all clients; always reconnected
    kConfirming,  // shared by the clients whose results replicas confirm; connected on demand
    kLeased,      // used by one submission at a time; connected on demand
    kOwn,         // owned by one client, whose commands change it
  };

  /// `on_message` gets the server's messages. It is null unless the use is kOwn.
  RedisLine(RedisCore& core, Use use, std::function<void(Reply)> on_message = {});
  ~RedisLine() override;

  // ---- From any thread ----

  /// Accepts the submission, or returns the reason for a refusal: nothing was done.
  [[nodiscard]] std::optional<std::string> submit(Submission& submission);
  /// Accepts a submission of a check on the connection of `wire`.
  [[nodiscard]] std::optional<std::string> submit_to_check(const RedisWire* wire,
                                                           Submission& submission);
  /// Reports that the connection has state. After a loss, no other one is made.
  void keep_state();
  /// Returns why the server counts as dead; nothing if it does not.
  [[nodiscard]] std::optional<std::string> dead_reason();
  /// Returns dead_reason(), or the reason why the last checks failed; nothing if requests can
  /// succeed.
  [[nodiscard]] std::optional<std::string> unusable_reason();
  /// Returns the CLIENT ID of the connection; 0 if there is none or it is unknown.
  [[nodiscard]] std::int64_t connection_id() const { return connection_id_.load(); }
  /// Returns true after close(), once no check is running.
  [[nodiscard]] bool has_ended() const { return is_closed_ && !is_checking_; }

  // ---- On the I/O thread ----

  /// Connects; `outcome` gets the result of the first attempt.
  void start(absl::AnyInvocable<void(absl::Status)> outcome);
  /// Ends a connection to any other server than `master`.
  void follow(const RedisAddress& master);
  /// Fails submissions that have waited too long. Returns true if any remain.
  bool tick(std::int64_t now_ms);
  /// Ends the line for good. Everything left fails.
  void close(const std::string& reason);
  /// Blocks until no check is running. Call it after close(), on any thread except the check's.
  void join_check();

 private:
  enum class Phase : std::uint8_t {
    kDown,        //
    kConnecting,  //
    kSettingUp,   // connected; greeting or checks are in progress
    kUp,          //
    kClosed,      // for good
  };
  /// The reason of a failed attempt.
  enum class Failure : std::uint8_t {
    kServer,        // unreachable or unusable
    kCheck,         // a ConnectionCheck
    kSubscription,  // subscriptions could not be renewed
  };
  class CheckedConnection;
  using Lock = std::unique_lock<std::mutex>;

  // ---- Connecting ----
  void start_attempt();
  void connect_to(const absl::StatusOr<RedisAddress>& server);
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
  [[nodiscard]] std::string server_name() const;
  [[nodiscard]] std::string cannot_connect(std::string_view reason) const;
  [[nodiscard]] std::string without_password(std::string_view text) const;
  [[nodiscard]] bool is_current(const RedisWire* wire) const { return wire_.get() == wire; }
  void mark_dead(const std::string& reason);

  // ---- Sending ----
  void post_flush();                          // requires mutex_
  void post_attempt();                        // requires mutex_
  bool send_at_once(Submission& submission);  // requires mutex_
  void flush();
  bool fill_chunk();
  [[nodiscard]] bool is_stale(RedisWire& wire) const;  // requires mutex_
  void encode(Submission& submission);
  [[nodiscard]] bool has_more_to_send() const;
  [[nodiscard]] Submission* next_to_encode();
  Submission& make_confirmation();  // requires mutex_
  void can_write(RedisWire& wire, const std::string& failure) override;

  // ---- Receiving ----
  void received(RedisWire& wire, std::string_view bytes, const std::string& failure) override;
  std::string_view take_reply(Reply reply, SubmissionList& finished);
  void complete(Submission& submission, SubmissionList& finished);
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
  std::atomic<std::int64_t> last_activity_ms_{0};  // sent while idle, or received
  std::atomic<bool> is_checking_{false};           // a thread runs the checks of a connection
  std::atomic<bool> is_closed_{false};             // no further check begins
  // The connection is useless, and nothing begins on it. Set before unfinished_ becomes 0.
  std::atomic<bool> is_doomed_{false};

  // ---- Guarded by mutex_ ----
  std::mutex mutex_;
  Phase phase_ = Phase::kDown;       // changed only by the I/O thread
  std::shared_ptr<RedisWire> wire_;  // changed only by the I/O thread
  RedisAddress server_;              // of the last wire_; changed only by the I/O thread
  SubmissionList waiting_;           // not begun
  SubmissionList handed_;       // sent by the calling thread; the I/O thread expects the replies
  SubmissionList setup_;        // greeting and checks, not begun
  std::size_t unfinished_ = 0;  // accepted and not finished
  bool is_writing_ = false;     // the I/O thread owns out_, otherwise the holder of mutex_
  bool flush_is_posted_ = false;
  bool attempt_is_posted_ = false;
  bool keeps_state_ = false;
  bool has_lost_state_ = false;      // from then on it serves only subscriptions
  std::optional<std::string> dead_;  // why the server counts as dead
  // Why the checks or subscriptions of the last connection failed, until an attempt succeeds.
  std::optional<std::string> setup_failure_;
  std::string closed_reason_;  // kClosed, or has_lost_state_
  std::int64_t attempt_began_ms_ = 0;
  std::int64_t attempt_ended_ms_ = 0;
  std::int64_t next_attempt_ms_ = 0;  // if setup_failure_: no attempt begins earlier

  // ---- Bytes being sent: see is_writing_ ----
  std::string out_;
  std::size_t out_sent_ = 0;                 // of out_
  std::vector<std::size_t> chunk_ends_;      // the end of each request in out_
  const Submission* chunk_first_ = nullptr;  // the first in out_; may have been destroyed
  // kConfirming: the end of the batch in progress. Nothing begins before it has its replies, so that
  // those who wait share the next one. Null: no batch is in progress.
  const Submission* confirmation_ = nullptr;

  // ---- The I/O thread's ----
  SubmissionList to_encode_;         // taken from waiting_ or setup_, not begun
  SubmissionList expecting_;         // begun, in the order of their replies
  SubmissionList unconfirmed_;       // kConfirming: complete, in the batch in progress
  bool needs_confirmation_ = false;  // kConfirming: a submission was encoded since the last one
  Submission* partial_ = nullptr;    // the last of them, if partly encoded
  bool is_write_blocked_ = false;    // can_write() will be called
  bool was_up_ = false;
  std::int64_t up_since_ms_ = 0;
  bool has_served_ = false;               // this connection has received something since it was up
  std::int64_t backoff_ms_ = 0;           // the last pause between attempts, without jitter
  const Submission* greeting_ = nullptr;  // in progress
  absl::Status greeting_error_;
  ConnectionSubscriptions subscriptions_;
  std::vector<Reply> confirmations_;  // of a (un)subscription with several
  std::size_t confirmations_left_ = 0;
  const std::function<void(Reply)> on_message_;
  // Memory of messages that wait for on_message_. The callback thread reduces it.
  const std::shared_ptr<std::atomic<std::size_t>> message_bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  absl::AnyInvocable<void(absl::Status)> first_outcome_;
  LineTimer attempt_timer_;
  LineTimer patience_timer_;
  LineTimer retry_timer_;
  std::optional<ReplyReader> reader_;
  std::thread check_;
  bool check_has_reported_ = true;
  bool checks_are_due_ = false;  // once the check of a lost connection has reported
};

}  // namespace rushgate
