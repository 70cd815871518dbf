// A queue of messages that become due at a set time, such as the timeouts of orders.
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
#include "engine/recipes/queues/queue.h"
#include "engine/recipes/queues/queue_wait.h"
#include <rushgate/backend.h>

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
  std::string wake;        // stream of one entry: written when a message becomes the first one due

  /// Returns <prefix>{<name>}:due and so on: in one slot of a Redis Cluster.
  static DelayedQueueKeys of(std::string_view prefix, std::string_view name);
};

/// Messages with the caller's ids, in a sorted set. All times are the server's: ms since 1970.
/// Several consumers share the messages. take() returns due messages, in order of time, in
/// portions.
///
/// **Delivery** is at least once, never before its time. A message that was taken is due again
/// after visibility_ms (QueueMessage::visible_at_ms). QueueMessage::deliveries counts deliveries. A
/// message that always fails delays no other one.
///
/// **One winner.** A message leaves the queue once: by cancel() or by done(), which report it.
/// done() does not remove a message that was cancelled or that another consumer took meanwhile. Nor
/// does it remove a message whose id was pushed again.
///
/// **Losses**: none, as long as the keyspace keeps acknowledged writes. A clock that goes back
/// delays messages.
///
/// **From other scripts**, in their own atomic run: `ZADD <due> NX <time> <id>` pushes a message
/// without a body. `ZREM <due> <id>` removes it, and returns 1 to one remover. That one then
/// removes its id from the other two keys by HDEL. Waiting consumers look into the set at least
/// every kLookAgainMs. So a script's message may be that late if it is due before all others.
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

  /// Pushes a message that is due at `due_ms`, from 0 to kTimeMsMax. An id has 1 to kIdBytesMax
  /// bytes. kAlreadyExists: a message with this id exists, and is unchanged. So a push whose
  /// outcome is unknown can be repeated.
  absl::Status push_at(std::string_view id, std::string_view body, std::int64_t due_ms);
  /// As push_at(), but due in `delay_ms` from now, from 0 to kDelayMsMax.
  absl::Status push_in(std::string_view id, std::string_view body, std::int64_t delay_ms);
  /// As push_in(), with a random id, due now.
  absl::Status push(std::string_view body) override;

  /// Removes a message. Returns true if it was there, taken or not.
  absl::StatusOr<bool> cancel(std::string_view id);

  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  void interrupt() override;

  /// Makes a message that was taken due again in `delay_ms` from now. Use it to get more time for
  /// the work, or to retry soon after a failure. Updates its visible_at_ms. Returns false where
  /// done() would not remove it.
  absl::StatusOr<bool> postpone(QueueMessage& message, std::int64_t delay_ms);

  /// Returns the number of messages, including the taken ones.
  absl::StatusOr<std::int64_t> size();

 private:
  struct Taken {
    std::vector<QueueMessage> messages;
    std::int64_t next_ms = 0;  // until the next one is due; negative: none
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
