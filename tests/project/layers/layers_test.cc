// A program links only the layers that it uses.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"

namespace rushgate {
namespace {

/// Names in the symbol table of a program that has the layer.
constexpr std::string_view kLua = "lua_newstate";
constexpr std::string_view kEngine = "N8rushgate8Executor";
constexpr std::string_view kKeyspace = "N8rushgate8Keyspace";
constexpr std::string_view kSale = "N8rushgate4Sale4open";

bool has(const char* program, std::string_view name) {
  std::ifstream file(program, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return bytes.find(name) != std::string::npos;
}

int exit_code(const std::string& command_line) { return std::system(command_line.c_str()); }

TEST(LayersTest, SaleInProcessHasAllLayers) {
  for (const std::string_view name : {kLua, kEngine, kKeyspace, kSale}) {
    EXPECT_TRUE(has(RUSHGATE_SELLS_IN_PROCESS, name)) << name;
  }
  EXPECT_EQ(exit_code(RUSHGATE_SELLS_IN_PROCESS), 0);
}

TEST(LayersTest, SaleOnRedisHasNeitherLuaNorKeyspace) {
  for (const std::string_view name : {kLua, kEngine, kKeyspace}) {
    EXPECT_FALSE(has(RUSHGATE_SELLS_ON_REDIS, name)) << name;
  }
  EXPECT_TRUE(has(RUSHGATE_SELLS_ON_REDIS, kSale));
  const testing::RedisServer server;
  const TemporaryDirectory directory;
  EXPECT_EQ(exit_code(std::string(RUSHGATE_SELLS_ON_REDIS) + " '" + server.url() + "' '" +
                      (directory.path() / "orders.db").string() + "'"),
            0);
}

TEST(LayersTest, LocksOnRedisHaveNoSale) {
  for (const std::string_view name : {kLua, kEngine, kKeyspace, kSale}) {
    EXPECT_FALSE(has(RUSHGATE_LOCKS_ON_REDIS, name)) << name;
  }
  EXPECT_LT(2 * std::filesystem::file_size(RUSHGATE_LOCKS_ON_REDIS),
            std::filesystem::file_size(RUSHGATE_SELLS_ON_REDIS));
  const testing::RedisServer server;
  EXPECT_EQ(exit_code(std::string(RUSHGATE_LOCKS_ON_REDIS) + " '" + server.url() + "'"), 0);
}

}  // namespace
}  // namespace rushgate
