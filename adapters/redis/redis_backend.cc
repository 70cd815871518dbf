#include <string>
#include <utility>

#include "adapters/redis/redis_core.h"
#include "adapters/redis/redis_session.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/redis_backend.h>

namespace rushgate {

absl::StatusOr<std::unique_ptr<RedisBackend>> RedisBackend::open(const RedisOptions& options) {
  RETURN_IF_ERROR(options.check());
  auto core = std::make_shared<RedisCore>(options);
  std::unique_ptr<RedisBackend> backend(new RedisBackend(core));
  RETURN_IF_ERROR(core->start());
  return backend;
}

RedisBackend::RedisBackend(std::shared_ptr<RedisCore> core) : core_(std::move(core)) {}

RedisBackend::~RedisBackend() { core_->close(); }

std::unique_ptr<Client> RedisBackend::open_client(const ClientOptions& options) {
  return std::make_unique<RedisClient>(std::make_shared<RedisSession>(core_, options));
}

const Clock& RedisBackend::clock() const { return core_->clock(); }

Scheduler& RedisBackend::scheduler() { return core_->callbacks(); }

absl::Status RedisBackend::health() const {
  const auto reason = core_->shared().unusable_reason();
  return reason ? absl::UnavailableError(*reason) : absl::OkStatus();
}

Capabilities RedisBackend::capabilities() const {
  return {.confirms = core_->options().confirm_replicas > 0};
}

void RedisBackend::add_native_scripts(std::span<const NamedScript> /*scripts*/) {}

void RedisBackend::add_connection_check(std::weak_ptr<const ConnectionCheck> check) {
  core_->add_check(std::move(check));
}

RedisCounters RedisBackend::counters() const { return core_->counters(); }

}  // namespace rushgate
