#include "engine/sale/keyspace/lease_timer.h"

#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"

namespace rushgate {

LeaseTimer::LeaseTimer(Backend& backend, KeyspaceOwner& owner,
                       std::shared_ptr<spdlog::logger> logger)
    : client_(backend.open_client()),
      owner_(owner),
      logger_(std::move(logger)),
      timer_(
          backend, "rg-lease",
          [&backend, &owner] { return owner.renewal_after(backend.clock().monotonic_ms()); },
          [this] { renew(); }) {}

void LeaseTimer::renew() {
  const absl::Status renewed = owner_.renew_lease(*client_);
  const bool is_lost = absl::IsFailedPrecondition(renewed);
  if (is_lost && !was_lost_ && logger_) {
    log_error(*logger_, concat("the lease of the order database is lost: ", renewed.message()));
  }
  was_lost_ = is_lost;
}

}  // namespace rushgate
