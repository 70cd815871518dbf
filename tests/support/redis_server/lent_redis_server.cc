#include "tests/support/redis_server/lent_redis_server.h"

#include <exception>
#include <utility>
#include <vector>

#include <rushgate/clock.h>

namespace rushgate::testing {
namespace {

/// The idle servers. They end with the thread that started them.
std::vector<std::unique_ptr<RedisServer>>& idle_servers(LentRedisServer::Time time) {
  thread_local std::vector<std::unique_ptr<RedisServer>> real;
  thread_local std::vector<std::unique_ptr<RedisServer>> manual;
  return time == LentRedisServer::Time::kManual ? manual : real;
}

}  // namespace

LentRedisServer::LentRedisServer(Time time) : time_(time) {
  auto& idle = idle_servers(time);
  if (idle.empty()) {
    server_ =
        std::make_unique<RedisServer>(RedisServerOptions{.manual_clock = time == Time::kManual});
  } else {
    server_ = std::move(idle.back());
    idle.pop_back();
    if (time == Time::kManual) server_->set_now_ms(ManualClock::kStartMs);
  }
  pid_ = server_->pid();
}

LentRedisServer::~LentRedisServer() {
  if (is_kept_ || server_->pid() != pid_) return;
  try {
    server_->clear();
    idle_servers(time_).push_back(std::move(server_));
  } catch (const std::exception&) {  // it does not reply, or a test has changed its settings
    server_->kill();
  }
}

}  // namespace rushgate::testing
