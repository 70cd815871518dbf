// A real cluster that all tests of a program share, and a backend on it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/client/key_slot.h"
#include "tests/failover/failover_probe.h"
#include "tests/support/redis_server/redis_cluster.h"
#include <rushgate/client.h>
#include <rushgate/redis_backend.h>

namespace rushgate {

/// Each test begins with a whole cluster without keys.
class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster().heal();
    cluster().flush_all();
  }

  static testing::RedisCluster& cluster() {
    static testing::RedisCluster shared;
    return shared;
  }
  static RedisOptions options() {
    RedisOptions options = *RedisOptions::from_url(cluster().url());
    options.client_name = testing::kClientName;
    options.reconnect_max_ms = 50;
    return options;
  }
  /// Returns a key of a slot whose master is `node`.
  static std::string key_on(const testing::RedisServer& node) {
    for (int i = 0;; ++i) {
      std::string key = "key:" + std::to_string(i);
      if (&cluster().owner_of(key) == &node) return key;
    }
  }
};

/// Collects replies or messages in the order of the calls.
class CollectedReplies {
 public:
  auto next() {
    return [this](Reply reply) {
      const std::lock_guard lock(mutex_);
      replies_.push_back(std::move(reply));
      changed_.notify_all();
    };
  }
  std::vector<Reply> wait_for(std::size_t wanted) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return replies_.size() >= wanted; });
    return replies_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Reply> replies_;
};

}  // namespace rushgate
