// What the tests of failovers ask a client.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/redis_server/redis_server.h"
#include "tests/support/redis_server/sentinel_group.h"
#include <rushgate/client.h>
#include <rushgate/redis_backend.h>

namespace rushgate::testing {

/// The name of the clients' connections.
inline constexpr const char* kClientName = "rushgate-failover";

/// Returns the ids of the clients' connections to a server.
inline std::vector<std::string> ids_of_clients(const RedisServer& server) {
  std::vector<std::string> ids;
  std::istringstream list(std::string(ask(server, Request::of("CLIENT", "LIST")).text()));
  for (std::string line; std::getline(list, line);) {
    constexpr std::string_view kBeforeId = "id=";
    if (line.find(kClientName) == std::string::npos) continue;
    ids.push_back(line.substr(kBeforeId.size(), line.find(' ') - kBeforeId.size()));
  }
  return ids;
}

inline std::unique_ptr<RedisBackend> opened(const RedisOptions& options) {
  auto backend = RedisBackend::open(options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

inline void wait_until(const std::function<bool()>& is_done) {
  while (!is_done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Waits until a server replies. Returns its port.
inline int port_of_server(Client& client) {
  Reply reply;
  wait_until([&] {
    reply = client("CONFIG", "GET", "port");
    return reply.is_aggregate();
  });
  return std::stoi(std::string(reply.elements()[1].text()));
}

/// Ends the connections of clients to a server at the server, except those of sentinels and replicas.
/// Waits until the backend has noticed.
inline void cut_connections(const RedisBackend& backend, const RedisServer& server) {
  const std::uint64_t losses = backend.counters().losses;
  for (const std::string& id : ids_of_clients(server)) {
    ask(server, Request::of("CLIENT", "KILL", "ID", id));
  }
  wait_until([&] { return backend.counters().losses > losses; });
}

}  // namespace rushgate::testing
