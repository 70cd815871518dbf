// A real cluster that all tests of a program share, and a backend on it.
#pragma once

#include <string>

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

}  // namespace rushgate
