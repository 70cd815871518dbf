// Checks of the arguments that all queues have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include <rushgate/queues.h>

namespace rushgate {

inline constexpr std::int64_t kQueueSizeMax = 1LL << 53;
inline constexpr std::int64_t kQueueIdleMsMax = 366LL * 24 * 60 * 60 * 1'000;

/// Returns kInvalidArgument if `value` is not from `minimum` to `maximum`.
absl::Status check_queue_number(std::string_view what, std::int64_t value, std::int64_t minimum,
                                std::int64_t maximum);
/// Returns kInvalidArgument if `text` is empty.
absl::Status check_queue_text(std::string_view what, std::string_view text);

/// Checks the arguments of Queue::push(), take() and done().
absl::Status check_push(std::string_view body);
absl::Status check_take(std::size_t count_max, std::int64_t wait_ms);
absl::Status check_done(std::size_t count);

/// Returns {<name>}, or the name if it has its own hash tag: the same slot of a Redis Cluster.
std::string tagged_queue_name(std::string_view name);

/// Returns kResourceExhausted.
absl::Status queue_is_full(std::string_view name, std::int64_t size_max);

}  // namespace rushgate
