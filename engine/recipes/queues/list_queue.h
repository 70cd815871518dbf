// A reliable queue that is a list: a message stays in a list of its consumer until it is done.
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
struct ListQueueOptions {
  std::string consumer = "c1";        // consumers with different names share the messages
  std::int64_t size_max = 1'000'000;  // messages that wait; and as many per consumer that it took
  /// A consumer that made no call for longer may have crashed, and its messages go to others. So it
  /// must finish its messages, or call take() or done(), within half of this time.
  std::int64_t claim_idle_ms = 60'000;
  ClientOptions client = {};
};

/// LPUSH, LMOVE and BLMOVE to a processing list, and LREM when a message is done. Each message goes to
/// one consumer.
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
  /// kInvalidArgument: an option is out of range, or a name is empty.
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
  QueueWait::Interrupts interrupts_{0};

  // Of the thread that calls take():
  bool has_recovered_ = false;    // the messages of its processing list
  std::int64_t claim_at_ms_ = 0;  // monotonic: when to look for dead consumers
};

}  // namespace rushgate
