// A Backend on a RespServer of this process, over its socket.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adapters/resp/resp_encoder.h"
#include "adapters/resp/resp_server.h"
#include "engine/executor/engine.h"
#include "tests/conformance/backend.h"
#include "tests/redis_server/raw_connection.h"
#include "tests/temporary_directory.h"

namespace rushgate::testing {

/// Its engine is in manual mode: time passes when a transcript says so.
class ServerBackend final : public Backend {
 public:
  explicit ServerBackend(RespVersion protocol) : protocol_(protocol) { reset(); }
  ~ServerBackend() override { end(); }

  [[nodiscard]] std::string name() const override { return "server"; }
  void reset() override;
  void send(int session, const Request& request) override;
  std::string receive(int session) override;
  std::vector<std::string> call_all(int session, std::span<const Request> requests) override;
  bool has_answer(int session) override;
  void elapse(std::chrono::milliseconds duration) override;

 private:
  void end();
  RawConnection& session(int number);
  [[nodiscard]] std::string socket_path() const {
    return (directory_.path() / "rushgate.sock").string();
  }

  const RespVersion protocol_;  // of the sessions
  const TemporaryDirectory directory_{TemporaryDirectory::Where::kInTmp};
  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RespServer> server_;
  std::unique_ptr<RawConnection> control_;
  std::map<int, std::unique_ptr<RawConnection>> sessions_;
  bool has_settled_ = false;  // nothing was sent since it answered all
};

}  // namespace rushgate::testing
