// Commands on a sale with an own keyspace, and on one with a redis-server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "tests/support/redis_server/redis_server.h"

namespace rushgate {

enum class KeyspacePlace : std::uint8_t { kOwn, kRedis };

class KeyspaceProgramTest : public ::testing::TestWithParam<KeyspacePlace> {
 protected:
  KeyspaceProgramTest() {
    // A durable server, of which nothing is said.
    if (GetParam() == KeyspacePlace::kRedis)
      server_.emplace(testing::RedisServerOptions{.append_only = true});
  }

  ProgramResult run(const std::string& name, std::vector<std::string> more = {}) {
    if (server_) more.insert(more.end(), {"--redis", server_->url()});
    return run_program(files_.command(name, more));
  }
  nlohmann::ordered_json run_json(const std::string& name, std::vector<std::string> more = {}) {
    more.emplace_back("--json");
    const ProgramResult result = run(name, more);
    return result.out.empty() ? nlohmann::ordered_json(result.err) : result.json();
  }

  SaleFiles files_;
  std::optional<testing::RedisServer> server_;
};

inline std::string keyspace_name(const ::testing::TestParamInfo<KeyspacePlace>& tested) {
  return tested.param == KeyspacePlace::kOwn ? "Own" : "Redis";
}

inline const auto kKeyspaces = ::testing::Values(KeyspacePlace::kOwn, KeyspacePlace::kRedis);

}  // namespace rushgate
