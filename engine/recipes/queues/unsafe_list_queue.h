// A queue that is a list, as in many systems. It loses messages: list_queue.h does not.
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
#include <rushgate/backend.h>

namespace rushgate {

/// A value type.
struct UnsafeListQueueOptions {
  std::int64_t size_max = 1'000'000;  // messages that wait
  ClientOptions client = {};
};

/// LPUSH and BRPOP. Each message goes to one consumer.
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
  /// kInvalidArgument: an option is out of range, or the name is empty.
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
