// A queue of messages that are due at a time, such as the timeouts of orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"
#include "engine/recipes/queues/queue.h"
#include "engine/recipes/queues/queue_wait.h"

namespace rushgate {

/// A value type.
struct DelayedQueueOptions {
  std::string key_prefix = "delayed:";
  std::int64_t size_max = 1'000'000;  // messages that are not done
  /// Messages that were taken for longer, and are not done, are due again: their consumer may have
  /// crashed.
  std::int64_t visibility_ms = 60'000;
  ClientOptions client = {};
};

/// The names of a queue's keys. A value type.
struct DelayedQueueKeys {
  std::string due;         // sorted set: ids by when they are due, ms since 1970
  std::string bodies;      // hash: the body of each id, unless it is empty
  std::string deliveries;  // hash: how often each id was taken
  std::string wake;        // stream of one entry: a message came that is due before all others

  /// <prefix>{<name>}:due, and so on: in one slot of a Redis Cluster.
  static DelayedQueueKeys of(std::string_view prefix, std::string_view name);
};

/// Messages with ids of the caller's, in a sorted set. All times are the server's: ms since 1970. Several
/// consumers share the messages. take() returns those that are due, in order of time, in portions.
///
/// **Delivery** is at least once, never before its time. A message that was taken is not due for
/// visibility_ms, then again (QueueMessage::visible_at_ms). QueueMessage::deliveries counts. A message
/// that always fails delays no other one.
///
/// **One winner.** A message leaves the queue once: by cancel() or by done(), which report it. done() does
/// not remove a message that was cancelled, that another consumer took meanwhile, or whose id was pushed
/// again.
///
/// **Losses**: none, as long as the keyspace keeps what it acknowledged. A clock that goes back delays
/// messages.
///
/// **From other scripts**, atomically with what they do: `ZADD <due> NX <time> <id>` pushes a message
/// without a body. `ZREM <due> <id>` takes it out, and returns 1 for the one that wins; HDEL its id from
/// the other two keys then. Consumers that wait look into the set every kLookAgainMs at the latest. So a
/// message that a script pushes may be late by as much if it is due sooner, and before all others.
///
/// Thread safety: see Queue. Does not own the backend, which must outlive it.
class DelayedQueue final : public Queue {
 public:
  static constexpr std::size_t kIdBytesMax = 256;
  static constexpr std::int64_t kTimeMsMax = 1LL << 53;
  static constexpr std::int64_t kDelayMsMax = 366LL * 24 * 60 * 60 * 1'000;
  static constexpr std::int64_t kLookAgainMs = 60'000;

  /// kInvalidArgument: an option is out of range, or the name is empty.
  static absl::StatusOr<std::unique_ptr<DelayedQueue>> create(Backend& backend, std::string name,
                                                              DelayedQueueOptions options = {});

  /// Pushes a message that is due at `due_ms`, from 0 to kTimeMsMax. An id has 1 to kIdBytesMax bytes.
  /// kAlreadyExists: a message with this id is there, and stays as it is. So a push whose outcome is
  /// unknown can be tried again.
  absl::Status push_at(std::string_view id, std::string_view body, std::int64_t due_ms);
  /// As push_at(), in `delay_ms` from now, from 0 to kDelayMsMax.
  absl::Status push_in(std::string_view id, std::string_view body, std::int64_t delay_ms);
  /// As push_in(), with a random id, due now.
  absl::Status push(std::string_view body) override;

  /// Removes a message. Returns true if it was there, taken or not.
  absl::StatusOr<bool> cancel(std::string_view id);

  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  void interrupt() override;

  /// Makes a message that was taken due again in `delay_ms` from now: later, because the work takes
  /// longer, or soon, because it failed. Updates its visible_at_ms. Returns false where done() would not
  /// remove it.
  absl::StatusOr<bool> postpone(QueueMessage& message, std::int64_t delay_ms);

  /// Returns how many messages there are, those that were taken included.
  absl::StatusOr<std::int64_t> size();

 private:
  struct Taken {
    std::vector<QueueMessage> messages;
    std::int64_t next_ms = 0;  // until the next one is due; negative: there is none
    std::string wake_id;       // of the last entry of the stream
  };

  DelayedQueue(Backend& backend, std::string_view name, DelayedQueueOptions options);

  absl::Status push_as(std::string_view id, std::string_view body, std::int64_t time_ms,
                       std::string_view how);
  absl::StatusOr<Taken> take_due(std::size_t count_max);

  const Clock& clock_;
  const std::string name_;
  const DelayedQueueOptions options_;
  const DelayedQueueKeys keys_;
  const std::unique_ptr<Client> client_;
  QueueWait::Interrupts interrupts_{0};
};

}  // namespace rushgate
