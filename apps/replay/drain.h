// Waiting for the workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "apps/shop.h"

namespace rushgate {

/// Waits until every accepted order is stored or a dead letter; calls `waiting` every few ms, with
/// what it waits for. kUnavailable, saying why: the workers have made no progress for half a
/// minute, or the keyspace could not be asked for five seconds.
absl::Status drain(Shop& shop, absl::FunctionRef<void(const std::string& note)> waiting);

/// When the last order was stored, as far as whoever looks can tell.
class LastStored {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LastStored(const Shop& shop) : shop_(shop), stored_(shop.stored()) {}

  void look() {
    const std::size_t stored = shop_.stored();
    if (stored == stored_) return;
    stored_ = stored;
    when_ = Clock::now();
  }

  /// Nothing if none was.
  [[nodiscard]] std::optional<Clock::time_point> when() const { return when_; }

 private:
  const Shop& shop_;
  std::size_t stored_;
  std::optional<Clock::time_point> when_;
};

}  // namespace rushgate
