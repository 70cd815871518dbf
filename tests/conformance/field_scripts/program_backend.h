// A Backend on `rushgate serve`, over its socket.
#pragma once

#include <optional>
#include <string>

#include "tests/conformance/socket_backend.h"
#include "tests/support/program.h"

namespace rushgate::testing {

/// A child process with a manual clock.
class ProgramBackend final : public SocketBackend {
 public:
  explicit ProgramBackend(RespVersion protocol) : SocketBackend(protocol) { reset(); }
  ~ProgramBackend() override { end(); }

  [[nodiscard]] std::string name() const override { return "rushgate serve"; }

 private:
  void start() override;
  void stop() override { program_.reset(); }

  std::optional<Program> program_;
};

}  // namespace rushgate::testing
