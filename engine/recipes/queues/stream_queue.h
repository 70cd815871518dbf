// A queue that is a stream with a consumer group: the default.
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
#include "engine/recipes/queues/queue.h"
#include "engine/recipes/queues/queue_wait.h"
#include <rushgate/backend.h>

namespace rushgate {

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

/// XADD, XREADGROUP, XACK. Each group gets each message; one of its consumers takes it.
///
/// **Delivery** is at least once. A message that was taken and is not done stays pending. Its
/// consumer gets it again when it is reopened, or another consumer after claim_idle_ms.
/// QueueMessage::deliveries counts both. So a message that always fails delays no other one.
///
/// **Losses**: none, as long as the keyspace keeps acknowledged writes. A new group begins with the
/// oldest message, even if that was pushed before the group was created.
///
/// **Keys**: the stream, named as the queue. done() removes the messages that every group has done.
/// In another system's stream a message is the value of `field`; it is empty where an entry has
/// none.
///
/// Thread safety: see Queue. Does not own the backend, which must outlive it.
class StreamQueue final : public Queue {
 public:
  /// kInvalidArgument: an option is out of range, or a name is empty.
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
  QueueWait::Interrupts interrupts_{0};

  // Of the thread that calls take():
  bool group_exists_ = false;
  std::optional<std::string> history_after_;  // where reading its own pending messages continues
  std::string claim_from_;                    // where claiming continues
  std::int64_t claim_at_ms_ = 0;              // monotonic: when claiming begins at the start
};

}  // namespace rushgate
