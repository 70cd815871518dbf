// Runs a RespServer over an engine in memory, and a redis-server, each on a unix socket.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/resp_server.h>

namespace rushgate::testing {

class SideBySide {
 public:
  explicit SideBySide(EngineOptions options = {}, std::vector<std::string> redis_arguments = {})
      : engine_(*Engine::open(std::make_unique<MemoryStore>(), std::move(options))),
        redis_({.arguments = std::move(redis_arguments)}) {
    auto server = RespServer::start(*engine_, {.bind_address = "", .unix_socket = ours()});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  /// Return the paths of the sockets.
  [[nodiscard]] std::string ours() const { return (directory_.path() / "socket").string(); }
  [[nodiscard]] std::string redis() const { return redis_.socket_path(); }

 private:
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  const std::unique_ptr<Engine> engine_;
  std::unique_ptr<RespServer> server_;
  const RedisServer redis_;
};

}  // namespace rushgate::testing
