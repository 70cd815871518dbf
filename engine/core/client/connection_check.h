// A check of new connections whose lifetime is tied to an object.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include <rushgate/client.h>

namespace rushgate {

/// Owns a ConnectionCheck, which runs on the backend's threads. Thread-safe.
class OwnedConnectionCheck {
 public:
  explicit OwnedConnectionCheck(ConnectionCheck check)
      : state_(std::make_shared<State>()),
        check_(std::make_shared<const ConnectionCheck>(
            [state = state_, check = std::move(check)](Client& connection) {
              const std::lock_guard lock(state->mutex);
              return state->has_ended ? absl::OkStatus() : check(connection);
            })) {}

  /// Waits for the check to finish if it runs. It never runs afterwards.
  ~OwnedConnectionCheck() {
    const std::lock_guard lock(state_->mutex);
    state_->has_ended = true;
  }
  OwnedConnectionCheck(const OwnedConnectionCheck&) = delete;
  OwnedConnectionCheck& operator=(const OwnedConnectionCheck&) = delete;

  /// Returns the argument for add_connection_check().
  [[nodiscard]] std::weak_ptr<const ConnectionCheck> get() const { return check_; }

 private:
  struct State {
    std::mutex mutex;        // held while the check runs
    bool has_ended = false;  // guarded by mutex
  };

  const std::shared_ptr<State> state_;
  const std::shared_ptr<const ConnectionCheck> check_;
};

}  // namespace rushgate
