// A redis-server that tests have one after the other.
#pragma once

#include <sys/types.h>

#include <memory>

#include "tests/support/redis_server/redis_server.h"

namespace rushgate::testing {

/// An empty redis-server. Starting one takes longer than most tests, so the destructor clears it, and the
/// next test of this thread gets it. A server that was killed or restarted is not lent again.
class LentRedisServer {
 public:
  enum class Time : bool { kReal, kManual };  // manual: as RedisServerOptions::manual_clock

  explicit LentRedisServer(Time time);
  ~LentRedisServer();
  LentRedisServer(const LentRedisServer&) = delete;
  LentRedisServer& operator=(const LentRedisServer&) = delete;

  RedisServer* operator->() const { return server_.get(); }

  /// The server is not lent again, since the test changes more than its data, scripts and functions.
  void keep() { is_kept_ = true; }

 private:
  const Time time_;
  std::unique_ptr<RedisServer> server_;
  pid_t pid_ = -1;
  bool is_kept_ = false;
};

}  // namespace rushgate::testing
