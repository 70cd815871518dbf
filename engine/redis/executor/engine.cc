#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/base/status_macros.h"
#include "engine/core/base/version.h"
#include "engine/redis/executor/embedded_client.h"
#include "engine/redis/executor/executor.h"
#include <rushgate/engine.h>

namespace rushgate {

Engine::Engine(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}

std::string_view Engine::version() { return library_version(); }

Engine::~Engine() { close(); }

absl::StatusOr<std::unique_ptr<Engine>> Engine::open(std::unique_ptr<Store> store,
                                                     EngineOptions options,
                                                     std::vector<NamedScript> scripts) {
  constexpr std::size_t kQueueCapacityMax = 65'534;
  if (options.queue_capacity == 0 || options.queue_capacity > kQueueCapacityMax) {
    return absl::InvalidArgumentError("queue_capacity must be from 1 to 65,534");
  }
  if (options.batch_requests_max == 0) {
    return absl::InvalidArgumentError("batch_requests_max must be at least 1");
  }
  if (store == nullptr) return absl::InvalidArgumentError("an engine needs a store");
  if (options.manual_clock != nullptr) {
    const std::int64_t now_ms = options.manual_clock->now_ms();
    if (now_ms < 0 || now_ms > kLastMs) {
      return absl::InvalidArgumentError("the time of the manual clock, " + std::to_string(now_ms) +
                                        " ms, is not from 0 to 2^62");
    }
  }
  auto executor = std::make_shared<Executor>(std::move(store), std::move(options));
  RETURN_IF_ERROR(executor->start(std::move(scripts)));
  return std::unique_ptr<Engine>(new Engine(std::move(executor)));
}

std::unique_ptr<Client> Engine::open_client(const ClientOptions& options) {
  return std::make_unique<EmbeddedClient>(executor_, options);
}

const Clock& Engine::clock() const { return executor_->clock(); }

Scheduler& Engine::scheduler() { return executor_->service(); }

bool Engine::is_manual() const { return executor_->is_manual(); }

void Engine::advance_ms(std::int64_t duration_ms) {
  if (!is_manual()) throw std::logic_error("advance_ms: the engine has no manual clock");
  if (duration_ms < 0 || duration_ms > kLastMs - clock().now_ms()) {
    throw std::invalid_argument("advance_ms: the clock cannot be moved by " +
                                std::to_string(duration_ms) + " ms");
  }
  executor_->advance_ms(duration_ms);
}

absl::Status Engine::health() const { return executor_->health(); }

Capabilities Engine::capabilities() const {
  return {.runs_native_scripts = true,
          .waits_for_disk = executor_->keeps_on_disk(),
          .has_callback_thread = !executor_->is_manual()};
}

void Engine::add_native_scripts(std::span<const NamedScript> scripts) {
  executor_->add_natives(scripts);
}

absl::Status Engine::copy_to(const std::filesystem::path& dir,
                             const std::filesystem::path& previous, AfterPortion after) {
  return executor_->copy_to(dir, previous, after);
}

void Engine::add_connection_check(std::weak_ptr<const ConnectionCheck> /*check*/) {}

bool Engine::is_running_script() const { return executor_->lua().is_running(); }

void Engine::close(EndOfScripts scripts) { executor_->close(scripts); }

std::string_view end_of_scripts_name(EndOfScripts scripts) {
  switch (scripts) {
    case EndOfScripts::kAwait:
      return "await";
    case EndOfScripts::kKill:
      return "kill";
  }
  return "?";
}

std::string_view policy_name(EngineOptions::Policy policy) {
  switch (policy) {
    case EngineOptions::Policy::kCallers:
      return "callers";
    case EngineOptions::Policy::kServiceThreadOnly:
      return "service thread only";
  }
  return "?";
}

}  // namespace rushgate
