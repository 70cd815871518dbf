// Queues: one interface, and implementations with different guarantees. Read Queue first, then
// StreamQueue, the default. DelayedQueue is for messages with a due time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/reply.h>

namespace rushgate {

class QueueWait;

/// A message as take() returns it. A value type.
struct QueueMessage {
  std::string id = {};  // its name in the queue; empty: its body is the name
  std::string body = {};
  /// Number of deliveries, including this one; 0: the queue does not count.
  std::int64_t deliveries = 0;
  /// Time at which another consumer gets it unless it is done, in ms since 1970 by the server's
  /// clock; 0: never.
  std::int64_t visible_at_ms = 0;
};

/// Produces and consumes the messages of a queue. An object is one consumer. Any thread may call
/// push(), done() and interrupt(). One thread at a time may call take().
///
/// Queues differ in losses and in repeated deliveries: see each class.
///
/// **Errors** of all: kInvalidArgument, an argument out of range; kUnavailable, trying again may
/// help; kResourceExhausted, the queue is full. A push whose outcome is unknown (OUTCOMEUNKNOWN)
/// may have appended the message. A second push may append it twice.
class Queue {
 public:
  static constexpr std::size_t kBodyBytesMax = 64 * 1024;
  static constexpr std::size_t kCountMax = 1'000;
  static constexpr std::int64_t kWaitMsMax = 24LL * 60 * 60 * 1'000;

  virtual ~Queue() = default;

  /// Appends a message of up to kBodyBytesMax bytes.
  virtual absl::Status push(std::string_view body) = 0;

  /// Returns up to `count_max` messages, from 1 to kCountMax. If there is none, waits for up to
  /// `wait_ms`, from 0 to kWaitMsMax; then returns none.
  ///
  /// In manual mode only a fiber waits (ClientOptions::wait), by the engine's clock. A thread would
  /// block the clock that it waits for, so take() returns at once.
  virtual absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                         std::int64_t wait_ms) = 0;

  /// Removes up to kCountMax messages that this consumer took. Returns the number that were still
  /// in the queue.
  virtual absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) = 0;

  /// Ends the wait of a take() that waits now. Does not affect a later one.
  virtual void interrupt() = 0;
};

/// A value type.
struct StreamQueueOptions {
  std::string group = "g1";
  std::string consumer = "c1";  // consumers of one group share its messages under different names
  std::string field = "body";   // of the stream's entries
  std::int64_t size_max = 1'000'000;  // messages that are not done; one more may fit
  /// Messages that a consumer has had for longer go to the next caller: the consumer may have
  /// crashed.
  std::int64_t claim_idle_ms = 60'000;
  ClientOptions client = {};
};

/// Appends to a stream and reads by a consumer group: XADD, XREADGROUP, XACK. Each group gets each
/// message, and one of its consumers takes it.
///
/// **Delivery** is at least once. A message that was taken and is not done stays pending. Its
/// consumer gets it again when it is reopened, or another consumer after claim_idle_ms.
/// QueueMessage::deliveries counts both. So a message that always fails delays no other one.
///
/// **Losses**: none, as long as the keyspace keeps acknowledged writes. A new group begins with the
/// oldest message, even if that was pushed before the group was created.
///
/// **Keys**: the stream, named as the queue. done() removes the messages that every group has done:
/// another system that reads by XREAD, without a group, misses them. In another system's stream a
/// message is the value of `field`; it is empty where an entry has none.
///
/// Thread safety: see Queue. Does not own the backend, which must outlive it.
class StreamQueue final : public Queue {
 public:
  /// Returns kInvalidArgument if an option is out of range or a name is empty.
  static absl::StatusOr<std::unique_ptr<StreamQueue>> create(Backend& backend, std::string name,
                                                             StreamQueueOptions options = {});

  absl::Status push(std::string_view body) override;
  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  void interrupt() override;

 private:
  using Messages = std::vector<QueueMessage>;

  StreamQueue(Backend& backend, std::string name, StreamQueueOptions options);

  absl::Status ensure_group();
  absl::StatusOr<Messages> next(std::size_t count_max, QueueWait& wait);
  absl::StatusOr<Messages> redeliver(std::string_view what, std::string& from,
                                     std::size_t count_max);
  absl::StatusOr<Messages> read_new(std::size_t count_max, std::int64_t block_ms);
  [[nodiscard]] absl::Status failed(const Reply& reply);

  const Clock& clock_;
  const std::string name_;
  const StreamQueueOptions options_;
  const std::unique_ptr<Client> client_;
  std::atomic<std::uint64_t> interrupts_{0};  // how often interrupt() was called

  // Of the thread that calls take():
  bool group_exists_ = false;
  std::optional<std::string> history_after_;  // where reading its own pending messages continues
  std::string claim_from_;                    // where claiming continues
  std::int64_t claim_at_ms_ = 0;              // monotonic: when claiming begins at the start
};

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

/// Delivers each message at its time, such as the timeout of an order. Messages have the caller's
/// ids, and are in a sorted set. All times are the server's: ms since 1970. Several consumers share
/// the messages. take() returns due messages, in order of time, in portions.
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
/// every kLookAgainMs. So a script's message may be that late if it is due before all others,
/// unless the script also wakes them: `XADD <wake> MAXLEN 1 * due <time>`.
///
/// Thread safety: see Queue. Does not own the backend, which must outlive it.
class DelayedQueue final : public Queue {
 public:
  static constexpr std::size_t kIdBytesMax = 256;
  static constexpr std::int64_t kTimeMsMax = 1LL << 53;
  static constexpr std::int64_t kDelayMsMax = 366LL * 24 * 60 * 60 * 1'000;
  static constexpr std::int64_t kLookAgainMs = 1'000;

  /// Returns kInvalidArgument if an option is out of range or the name is empty.
  static absl::StatusOr<std::unique_ptr<DelayedQueue>> create(Backend& backend, std::string name,
                                                              DelayedQueueOptions options = {});

  /// Pushes a message that is due at `due_ms`, from 0 to kTimeMsMax. An id has 1 to kIdBytesMax
  /// bytes. kAlreadyExists: a message with this id exists, and is unchanged. So a push whose
  /// outcome is unknown can be repeated.
  absl::Status push_at(std::string_view id, std::string_view body, std::int64_t due_ms);
  /// Works as push_at(), but the message is due in `delay_ms` from now, from 0 to kDelayMsMax.
  absl::Status push_in(std::string_view id, std::string_view body, std::int64_t delay_ms);
  /// Works as push_in() with a random id and no delay.
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
  std::atomic<std::uint64_t> interrupts_{0};  // how often interrupt() was called
};

/// A value type.
struct ListQueueOptions {
  std::string consumer = "c1";        // consumers with different names share the messages
  std::int64_t size_max = 1'000'000;  // messages that wait; and as many per consumer that it took
  /// A consumer that made no call for longer may have crashed, and its messages go to others. So it
  /// must finish its messages, or call take() or done(), within half of this time.
  std::int64_t claim_idle_ms = 60'000;
  ClientOptions client = {};
};

/// Moves each message from a list to a list of its consumer, until it is done: LPUSH, LMOVE,
/// BLMOVE, LREM. Each message goes to one consumer.
///
/// **Delivery** is at least once. A consumer that is reopened first puts back the messages in its
/// processing list. So does the next take() after one whose outcome is unknown. After claim_idle_ms
/// another consumer puts back the messages of a dead one.
///
/// To done(), messages with the same bytes are the same message. Deliveries are not counted.
///
/// **Losses**: none, as long as the keyspace keeps acknowledged writes.
///
/// **Keys**: the list, named as the queue; {<name>}:processing:<consumer>, a list;
/// {<name>}:consumers, a sorted set of the consumers by their last call, ms since 1970 by the
/// server's clock. Another system's consumers that BRPOP the list share its messages, and lose
/// theirs.
///
/// Thread safety: see Queue. Does not own the backend, which must outlive it.
class ListQueue final : public Queue {
 public:
  /// Returns kInvalidArgument if an option is out of range or a name is empty.
  static absl::StatusOr<std::unique_ptr<ListQueue>> create(Backend& backend, std::string name,
                                                           ListQueueOptions options = {});

  absl::Status push(std::string_view body) override;
  /// Returns kResourceExhausted if this consumer took size_max messages that are not done.
  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  void interrupt() override;

 private:
  using Messages = std::vector<QueueMessage>;

  ListQueue(Backend& backend, std::string name, ListQueueOptions options);

  [[nodiscard]] std::string processing_of(std::string_view consumer) const;
  absl::Status put_back(const std::string& consumer, std::int64_t idle_ms);
  absl::Status put_back_abandoned();
  absl::Status move(std::size_t count_max, Messages& messages);
  absl::Status move_one(std::int64_t block_ms, Messages& messages);
  [[nodiscard]] absl::Status failed(const Reply& reply);

  const Clock& clock_;
  const std::string name_;
  const ListQueueOptions options_;
  const std::string consumers_;
  const std::string processing_;
  const std::unique_ptr<Client> client_;
  std::atomic<std::uint64_t> interrupts_{0};  // how often interrupt() was called

  // Of the thread that calls take():
  bool has_recovered_ = false;    // the messages of its processing list
  std::int64_t claim_at_ms_ = 0;  // monotonic: when to look for dead consumers
};

/// A value type.
struct SingleConsumerQueueOptions {
  std::string field = "body";         // of the stream's entries
  std::int64_t size_max = 1'000'000;  // messages that are not done
  ClientOptions client = {};
};

/// Appends to a stream, and keeps the position up to which all messages are done: XADD, XREAD, and
/// a key.
///
/// **Delivery** is at least once, in order. After a crash the consumer begins at the kept position.
/// done() of a message includes all earlier ones: they are not delivered again.
///
/// **One consumer**: two concurrent ones both get each message. Use StreamQueue to share the work.
///
/// **Losses**: none, as long as the keyspace keeps acknowledged writes.
///
/// **Keys**: the stream, named as the queue; {<name>}:position, the id of the last message done.
/// done() removes messages from the stream: another system that needs them must not read by XREAD
/// from it, but have a group of a StreamQueue. In another system's stream a message is the value of
/// `field`; it is empty where an entry has none.
///
/// Thread safety: see Queue. Does not own the backend, which must outlive it.
class SingleConsumerQueue final : public Queue {
 public:
  /// Returns kInvalidArgument if an option is out of range or a name is empty.
  static absl::StatusOr<std::unique_ptr<SingleConsumerQueue>> create(
      Backend& backend, std::string name, SingleConsumerQueueOptions options = {});

  absl::Status push(std::string_view body) override;
  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  void interrupt() override { client_->unblock(); }

 private:
  SingleConsumerQueue(Backend& backend, std::string name, SingleConsumerQueueOptions options);

  absl::Status find_position();

  const std::string name_;
  const SingleConsumerQueueOptions options_;
  const std::string position_key_;
  const std::unique_ptr<Client> client_;
  std::optional<std::string> read_to_;  // of the thread that calls take()
};

/// A value type.
struct PubSubQueueOptions {
  bool subscribes = true;         // false: only pushes
  std::size_t size_max = 10'000;  // messages received and not taken, up to 1,000,000
  ClientOptions client = {};      // on_message is the queue's own
};

/// Publishes messages to all consumers that are open at that moment (fan-out): PUBLISH, SUBSCRIBE.
///
/// **Delivery** is best effort: at most once to each consumer. done() does nothing. The server
/// keeps no message.
///
/// **Losses**, counted by losses() where they are visible:
/// - messages pushed while a consumer is not open, for example while it restarts;
/// - messages pushed while its connection is lost;
/// - messages received when size_max wait to be taken, and others' messages above kBodyBytesMax;
/// - messages that wait, or that were taken and are not done, when the process ends.
///
/// Thread safety: see Queue. take() blocks the thread, including its fibers, by the machine's
/// clock. So pass no waiting time in manual mode, nor in a callback of the backend, which delivers
/// the messages. Does not own the backend, which must outlive it.
class PubSubQueue final : public Queue {
 public:
  static constexpr std::size_t kSizeMax = 1'000'000;

  struct Losses {
    std::uint64_t unheard = 0;  // pushes of this object that reached no consumer
    std::uint64_t dropped = 0;  // messages received when size_max waited, or too long
    std::uint64_t gaps = 0;     // losses of the connection, when messages may have been missed
  };

  /// Returns once messages are received. kInvalidArgument: an option is out of range, or the name
  /// is empty.
  static absl::StatusOr<std::unique_ptr<PubSubQueue>> create(Backend& backend, std::string channel,
                                                             PubSubQueueOptions options = {});
  ~PubSubQueue() override;

  /// Returns OK if the message was published, even if no consumer received it.
  absl::Status push(std::string_view body) override;
  /// Returns kFailedPrecondition if the queue does not subscribe.
  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  /// Returns 0: the queue keeps no message.
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  void interrupt() override;

  [[nodiscard]] Losses losses() const;

 private:
  struct Inbox;

  PubSubQueue(Backend& backend, std::string channel, PubSubQueueOptions options);

  const std::string channel_;
  const bool subscribes_;
  const std::shared_ptr<Inbox> inbox_;  // its callback may outlive this object
  const std::unique_ptr<Client> client_;
  const std::unique_ptr<Client> subscriber_;  // null: it does not subscribe
};

/// A value type.
struct InProcessQueueOptions {
  std::size_t size_max = 10'000;  // messages that wait, up to kSizeMax; and as many taken ones
};

/// Keeps messages in the memory of the process, in a bounded lock-free queue. Each message goes to
/// one of the threads that call take(). push() neither waits nor sends anything.
///
/// **Delivery** is at most once. A consumer keeps its messages even if it never calls done().
///
/// **Losses**: the end of the process, or of this object, loses counts().at_risk() messages. These
/// are the waiting messages, and the taken ones that are not done. A full queue refuses messages;
/// counts().refused is their number. A purchase that was admitted and then pushed here is lost to
/// the database in both cases.
///
/// All threads may call all methods. take() blocks the thread, including its fibers, by the
/// machine's clock. So pass no waiting time in manual mode.
class InProcessQueue final : public Queue {
 public:
  static constexpr std::size_t kSizeMax = 65'534;

  struct Counts {
    std::uint64_t pushed = 0;
    std::uint64_t refused = 0;  // since the queue was full
    std::uint64_t done = 0;

    /// Returns the number of messages that a crash would lose now.
    [[nodiscard]] std::uint64_t at_risk() const { return pushed - done; }
  };

  /// Returns kInvalidArgument if an option is out of range.
  static absl::StatusOr<std::unique_ptr<InProcessQueue>> create(InProcessQueueOptions options = {});
  ~InProcessQueue() override;

  absl::Status push(std::string_view body) override;
  /// Returns kResourceExhausted if size_max messages were taken and are not done.
  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  /// Ends the waits of all threads.
  void interrupt() override;

  [[nodiscard]] Counts counts() const;

 private:
  struct State;

  explicit InProcessQueue(InProcessQueueOptions options);

  const std::unique_ptr<State> state_;
};

/// A value type.
struct UnsafeListQueueOptions {
  std::int64_t size_max = 1'000'000;  // messages that wait
  ClientOptions client = {};
};

/// Pushes to a list and pops from it, as many systems do: LPUSH, BRPOP. Each message goes to one
/// consumer. Use ListQueue, which loses no messages.
///
/// **Delivery** is at most once. done() does nothing.
///
/// **Losses**: the server forgets a message when it is popped. If the consumer crashes before it
/// has stored the message, the message is lost: up to `count_max` messages for each take(). A
/// take() whose reply was lost also loses its messages. No counter shows the number.
///
/// **Keys**: the list, named as the queue.
///
/// Thread safety: see Queue. Does not own the backend, which must outlive it.
class UnsafeListQueue final : public Queue {
 public:
  /// Returns kInvalidArgument if an option is out of range or the name is empty.
  static absl::StatusOr<std::unique_ptr<UnsafeListQueue>> create(
      Backend& backend, std::string name, UnsafeListQueueOptions options = {});

  absl::Status push(std::string_view body) override;
  absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                 std::int64_t wait_ms) override;
  /// Returns 0: messages leave the queue when they are taken.
  absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) override;
  void interrupt() override { client_->unblock(); }

 private:
  UnsafeListQueue(Backend& backend, std::string name, UnsafeListQueueOptions options);

  const std::string name_;
  const UnsafeListQueueOptions options_;
  const std::unique_ptr<Client> client_;
};

}  // namespace rushgate
