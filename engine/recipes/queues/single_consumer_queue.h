// A queue that is a stream with one consumer, whose position is kept.
#pragma once

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
#include "engine/recipes/queues/queue.h"
#include <rushgate/backend.h>

namespace rushgate {

/// A value type.
struct SingleConsumerQueueOptions {
  std::string field = "body";         // of the stream's entries
  std::int64_t size_max = 1'000'000;  // messages that are not done
  ClientOptions client = {};
};

/// XADD, XREAD, and a key with the position up to which all messages are done.
///
/// **Delivery** is at least once, in order. After a crash the consumer begins at the kept position.
/// done() of a message includes all earlier ones: they are not delivered again.
///
/// **One consumer**: two concurrent ones both get each message. Use StreamQueue to share the work.
///
/// **Losses**: none, as long as the keyspace keeps acknowledged writes.
///
/// **Keys**: the stream, named as the queue; {<name>}:position, the id of the last message done.
/// done() removes messages from the stream. In another system's stream a message is the value of
/// `field`; it is empty where an entry has none.
///
/// Thread safety: see Queue. Does not own the backend, which must outlive it.
class SingleConsumerQueue final : public Queue {
 public:
  /// kInvalidArgument: an option is out of range, or a name is empty.
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

}  // namespace rushgate
