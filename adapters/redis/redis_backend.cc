#include <future>
#include <string>
#include <utility>

#include "adapters/redis/cluster_servers.h"
#include "adapters/redis/redis_core.h"
#include "adapters/redis/redis_servers.h"
#include "adapters/redis/redis_session.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

/// A backend of one server.
class OneServer final : public RedisServers {
 public:
  explicit OneServer(std::shared_ptr<RedisRuntime> runtime)
      : core_(std::make_shared<RedisCore>(runtime->options(), runtime)) {}

  absl::Status start() override {
    std::promise<absl::Status> outcome;
    core_->start([&](const absl::Status& status) { outcome.set_value(status); });
    return outcome.get_future().get();
  }
  void close() override { core_->close(kClosedText); }
  void join_checks() override { core_->join_checks(); }

  std::shared_ptr<ClientSession> open_session(const ClientOptions& options) override {
    return std::make_shared<RedisSession>(core_, options);
  }
  [[nodiscard]] absl::Status health() override {
    const auto reason = core_->shared().unusable_reason();
    return reason ? absl::UnavailableError(*reason) : absl::OkStatus();
  }

 private:
  const std::shared_ptr<RedisCore> core_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RedisBackend>> RedisBackend::open(const RedisOptions& options) {
  RETURN_IF_ERROR(options.check());
  auto runtime = std::make_shared<RedisRuntime>(options);
  RETURN_IF_ERROR(runtime->start());
  std::shared_ptr<RedisServers> servers;
  if (options.cluster.addresses.empty()) {
    servers = std::make_shared<OneServer>(runtime);
  } else {
    servers = std::make_shared<ClusterServers>(runtime);
  }
  std::unique_ptr<RedisBackend> backend(new RedisBackend(std::move(runtime), std::move(servers)));
  RETURN_IF_ERROR(backend->servers_->start());
  return backend;
}

RedisBackend::RedisBackend(std::shared_ptr<RedisRuntime> runtime,
                           std::shared_ptr<RedisServers> servers)
    : runtime_(std::move(runtime)), servers_(std::move(servers)) {}

RedisBackend::~RedisBackend() {
  runtime_->run_on_io([this] { servers_->close(); });
  runtime_->stop_io();
  servers_->join_checks();  // a check may use a client
  runtime_->stop_callbacks();
}

std::unique_ptr<Client> RedisBackend::open_client(const ClientOptions& options) {
  return std::make_unique<RedisClient>(servers_->open_session(options));
}

const Clock& RedisBackend::clock() const { return runtime_->clock(); }

Scheduler& RedisBackend::scheduler() { return runtime_->callbacks(); }

absl::Status RedisBackend::health() const { return servers_->health(); }

Capabilities RedisBackend::capabilities() const {
  const RedisOptions& options = runtime_->options();
  return {.confirms = options.confirm_replicas > 0,
          .has_slots = !options.cluster.addresses.empty(),
          .has_callback_thread = true};
}

void RedisBackend::add_native_scripts(std::span<const NamedScript> /*scripts*/) {}

void RedisBackend::add_connection_check(std::weak_ptr<const ConnectionCheck> check) {
  runtime_->add_check(std::move(check));
}

RedisCounters RedisBackend::counters() const { return runtime_->counters(); }

}  // namespace rushgate
