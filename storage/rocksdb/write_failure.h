// The first failure to write, after which nothing more is written.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/logger.h>

#include "absl/status/status.h"

namespace rushgate {

/// Thread-safe: failures come from whoever commits or syncs, and from the database's own threads.
class WriteFailure {
 public:
  /// `logger` may be null.
  explicit WriteFailure(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}

  /// Remembers, logs and returns `reason` if it is the first. Otherwise what comes of the first:
  /// refusal(). Needs no memory.
  absl::Status fail(const absl::Status& reason);

  [[nodiscard]] bool occurred() const { return occurred_; }

  /// What to answer once it has occurred: the first reason.
  [[nodiscard]] absl::Status refusal() const noexcept;

 private:
  void log(const absl::Status& reason) noexcept;

  const std::shared_ptr<spdlog::logger> logger_;
  std::atomic<bool> occurred_ = false;
  mutable std::mutex mutex_;
  absl::Status reason_;  // guarded by mutex_
};

}  // namespace rushgate
