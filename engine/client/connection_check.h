// A check of new connections that ends with the object that it belongs to.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "engine/client/client.h"

namespace rushgate {

/// Holds a ConnectionCheck, which runs on threads of the backend. Thread-safe.
class OwnedConnectionCheck {
 public:
  explicit OwnedConnectionCheck(ConnectionCheck check)
      : state_(std::make_shared<State>()),
        check_(std::make_shared<const ConnectionCheck>(
            [state = state_, check = std::move(check)](Client& connection) {
              const std::lock_guard lock(state->mutex);
              return state->has_ended ? absl::OkStatus() : check(connection);
            })) {}

  /// Returns when no run is under way. None begins later.
  ~OwnedConnectionCheck() {
    const std::lock_guard lock(state_->mutex);
    state_->has_ended = true;
  }
  OwnedConnectionCheck(const OwnedConnectionCheck&) = delete;
  OwnedConnectionCheck& operator=(const OwnedConnectionCheck&) = delete;

  /// For add_connection_check().
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
