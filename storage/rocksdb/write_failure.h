// The first failed write, after which no other write follows.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"

namespace spdlog {
class logger;
}

namespace rushgate {

/// Thread-safe: commits, syncs and the database's own threads report failures.
class WriteFailure {
 public:
  /// `logger` may be null.
  explicit WriteFailure(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

  /// Stores, logs and returns `reason` if it is the first. Otherwise returns refusal(). Needs no
  /// memory.
  absl::Status fail(const absl::Status& reason);

  [[nodiscard]] bool occurred() const { return occurred_; }

  /// Returns the error for later operations, which is the first failure.
  [[nodiscard]] absl::Status refusal() const noexcept;

 private:
  void log(const absl::Status& reason) noexcept;

  const std::shared_ptr<spdlog::logger> logger_;
  std::atomic<bool> occurred_ = false;
  mutable std::mutex mutex_;
  absl::Status reason_;  // guarded by mutex_
};

}  // namespace rushgate
