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
  std::string id = {};  // its name in the queue; empty: its body is the name
  std::string body = {};
  /// How often it was delivered, this time included; 0: the queue does not count.
  std::int64_t deliveries = 0;
  /// When it goes to another consumer unless it is done, in ms since 1970 by the server's clock. 0:
  /// never.
  std::int64_t visible_at_ms = 0;
};

/// One consumer of a queue, and a producer. Any thread may call push(), done() and interrupt(). One
/// thread at a time may call take().
///
/// Losses and repeated deliveries differ between queues: see each one's header.
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

}  // namespace rushgate
