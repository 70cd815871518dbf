#include "tests/conformance/server_backend.h"

#include <stdexcept>
#include <utility>

#include <rushgate/memory_store.h>

namespace rushgate::testing {

void ServerBackend::start() {
  clock_.set_now_ms(ManualClock::kStartMs);
  engine_ = *Engine::open(
      std::make_unique<MemoryStore>(),
      {.manual_clock = &clock_, .slowlog_log_slower_than_us = 10'000, .debug_commands = true});
  auto server = RespServer::start(*engine_, {.bind_address = "", .unix_socket = socket_path()});
  if (!server.ok()) throw std::runtime_error(server.status().ToString());
  server_ = *std::move(server);
}

void ServerBackend::stop() {
  server_.reset();
  engine_.reset();
}

}  // namespace rushgate::testing
