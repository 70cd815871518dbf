#include "engine/sale/keyspace/lease_timer.h"

#include <mutex>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"

namespace rushgate {

struct LeaseTimer::State {
  State(Backend& its_backend, KeyspaceOwner& its_owner, std::shared_ptr<spdlog::logger> its_logger)
      : backend(its_backend),
        client(its_backend.open_client()),
        owner(its_owner),
        logger(std::move(its_logger)) {}

  /// Requires the mutex.
  void renew() {
    const absl::Status renewed = owner.renew_lease(*client);
    const bool is_lost = absl::IsFailedPrecondition(renewed);
    if (is_lost && !was_lost && logger) {
      log_error(*logger, concat("the lease of the order database is lost: ", renewed.message()));
    }
    was_lost = is_lost;
  }

  Backend& backend;
  const std::unique_ptr<Client> client;
  KeyspaceOwner& owner;
  const std::shared_ptr<spdlog::logger> logger;
  std::mutex mutex;  // guards the members below
  bool is_closed = false;
  bool was_lost = false;
};

LeaseTimer::LeaseTimer(Backend& backend, KeyspaceOwner& owner,
                       std::shared_ptr<spdlog::logger> logger)
    : state_(std::make_shared<State>(backend, owner, std::move(logger))) {
  schedule(state_);
}

LeaseTimer::~LeaseTimer() {
  const std::lock_guard lock(state_->mutex);
  state_->is_closed = true;
}

void LeaseTimer::schedule(const std::shared_ptr<State>& state) {
  const std::int64_t at_ms = state->owner.renewal_after(state->backend.clock().monotonic_ms());
  state->backend.scheduler().at(at_ms, [weak = std::weak_ptr(state)] {
    const auto still_there = weak.lock();
    if (!still_there) return;
    const std::lock_guard lock(still_there->mutex);
    if (still_there->is_closed) return;
    schedule(still_there);  // first: an exception ends this renewal, not the next ones
    still_there->renew();
  });
}

}  // namespace rushgate
