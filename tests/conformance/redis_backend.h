// A Backend on a real Redis server.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adapters/resp/resp_encoder.h"
#include "tests/conformance/backend.h"
#include "tests/redis_server/raw_connection.h"
#include "tests/redis_server/redis_server.h"

namespace rushgate::testing {

/// If a transcript crashes the server, the next reset() starts it again.
class RedisBackend final : public Backend {
 public:
  explicit RedisBackend(RespVersion protocol = RespVersion::k2);

  [[nodiscard]] std::string name() const override { return "redis"; }
  void reset() override;
  void send(int session, const Request& request) override;
  std::string receive(int session) override;
  std::vector<std::string> call_all(int session, std::span<const Request> requests) override;
  bool has_answer(int session) override;
  void elapse(std::chrono::milliseconds duration) override;

 private:
  struct Session {
    std::unique_ptr<RawConnection> connection;
    std::string id;  // of CLIENT ID
  };

  void flush();
  Session& session(int number);
  bool is_blocked(const Session& session);

  const RespVersion protocol_;                                           // of the sessions
  RedisServer server_{{.arguments = {"--stream-node-max-bytes", "0"}}};  // as ours are
  std::unique_ptr<RawConnection> control_;
  std::map<int, Session> sessions_;
  bool has_settled_ = false;  // nothing was sent since it answered all
};

}  // namespace rushgate::testing
