// A Backend over a RespServer in this process, through its socket.
#pragma once

#include <memory>
#include <string>

#include "tests/conformance/socket_backend.h"
#include <rushgate/engine.h>
#include <rushgate/resp_server.h>

namespace rushgate::testing {

/// Uses an engine in manual mode.
class ServerBackend final : public SocketBackend {
 public:
  explicit ServerBackend(RespVersion protocol) : SocketBackend(protocol) { reset(); }
  ~ServerBackend() override { end(); }

  [[nodiscard]] std::string name() const override { return "server"; }

 private:
  void start() override;
  void stop() override;

  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RespServer> server_;
};

}  // namespace rushgate::testing
