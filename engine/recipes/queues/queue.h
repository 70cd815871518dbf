// Messages from producers to consumers: one interface for all queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rushgate {

/// A message as take() returns it. A value type.
struct QueueMessage {
  std::string id = {};  // what names it in the queue; empty: its body does
  std::string body = {};
  /// How often it was delivered, this time included; 0: the queue does not count.
  std::int64_t deliveries = 0;
  /// When it goes to another consumer unless it is done, ms since 1970 by the server's clock; 0: the
  /// queue sets no such time.
  std::int64_t visible_at_ms = 0;
};

/// One consumer of a queue, and a producer. push(), done() and interrupt() may be called by any thread,
/// take() by one at a time.
///
/// Losses and repeated deliveries differ from queue to queue: the header of each states them.
///
/// **Errors** of all: kInvalidArgument, an argument out of range; kUnavailable, trying again may help;
/// kResourceExhausted, the queue is full. A push whose outcome is unknown (OUTCOMEUNKNOWN) may have
/// appended the message. A second try may append it twice.
class Queue {
 public:
  static constexpr std::size_t kBodyBytesMax = 64 * 1024;
  static constexpr std::size_t kCountMax = 1'000;
  static constexpr std::int64_t kWaitMsMax = 24LL * 60 * 60 * 1'000;

  virtual ~Queue() = default;

  /// Appends a message of up to kBodyBytesMax bytes.
  virtual absl::Status push(std::string_view body) = 0;

  /// Returns up to `count_max` messages, from 1 to kCountMax. If there is none, waits for up to
  /// `wait_ms`, from 0 to kWaitMsMax, then returns none.
  ///
  /// In manual mode only a fiber waits (ClientOptions::wait), by the engine's clock. A thread would
  /// wait for itself, so take() returns at once.
  virtual absl::StatusOr<std::vector<QueueMessage>> take(std::size_t count_max,
                                                         std::int64_t wait_ms) = 0;

  /// Removes up to kCountMax messages, which this consumer took, for good. Returns how many of them
  /// were still in the queue.
  virtual absl::StatusOr<std::size_t> done(std::span<const QueueMessage> messages) = 0;

  /// Ends the wait of a take() that waits now. A later one waits.
  virtual void interrupt() = 0;
};

}  // namespace rushgate
