// A Backend over a real Redis server.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "adapters/resp/resp_encoder.h"
#include "tests/conformance/backend.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/clock.h>

namespace rushgate::testing {

/// The source of the server's time.
enum class RedisTime { kReal, kManual };

/// If a transcript crashes the server, the next reset() restarts it.
class RedisBackend final : public Backend {
 public:
  /// With manual time, each reset() sets the clock back to ManualClock::kStartMs.
  explicit RedisBackend(RespVersion protocol = RespVersion::k2, RedisTime time = RedisTime::kReal);

  [[nodiscard]] std::string name() const override { return "redis"; }
  void reset() override;
  void send(int session, const Request& request) override;
  void send_pipelined(int session, std::span<const Request> requests) override;
  std::string receive(int session) override;
  std::vector<std::string> call_all(int session, std::span<const Request> requests) override;
  bool has_answer(int session) override;
  void close(int session) override;
  bool has_ended(int session) override;
  std::string receive_all(int session) override;
  void send_barrier(int session, bool in_transaction) override;
  std::string receive_to_barrier(int session, bool in_transaction) override;
  void elapse(std::chrono::milliseconds duration) override;
  /// Uses DEBUG RELOAD, after which encodings are those of loaded data.
  void reopen() override;

 private:
  struct Session {
    std::unique_ptr<RawConnection> connection;
    std::string id;  // from CLIENT ID
  };

  void flush();
  /// Waits for the end of BGSAVE and BGREWRITEAOF, which exclude each other.
  void wait_for_children();
  void expect_ok(const Request& request);
  void set_usual_limits();
  Session& session(int number);
  bool is_blocked(const Session& session);

  const RespVersion protocol_;  // of the sessions
  const RedisTime time_;
  std::int64_t now_ms_ = ManualClock::kStartMs;  // with manual time
  RedisServer server_;
  std::unique_ptr<RawConnection> control_;
  std::map<int, Session> sessions_;
  bool is_drained_ = false;  // no request was sent since the last reply
};

}  // namespace rushgate::testing
