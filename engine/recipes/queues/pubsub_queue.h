// Messages by publish/subscribe: to all consumers that listen at that moment.
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
struct PubSubQueueOptions {
  bool subscribes = true;         // false: only pushes
  std::size_t size_max = 10'000;  // messages received and not taken, up to 1,000,000
  ClientOptions client = {};      // on_message is the queue's own
};

/// PUBLISH and SUBSCRIBE. Each consumer gets each message (fan-out).
///
/// **Delivery** is best effort: at most once to each consumer. done() does nothing. The server keeps
/// no message.
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

}  // namespace rushgate
