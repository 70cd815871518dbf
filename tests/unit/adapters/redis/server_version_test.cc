// The servers that a connection recognises, by the beginnings of their real replies.
#include "adapters/redis/server_version.h"

#include <string_view>

#include <gmock/gmock.h>

namespace rushgate {
namespace {

using ::testing::AllOf;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Optional;

Reply info(std::string_view fields) { return Reply::bulk("# Server\r\n" + std::string(fields)); }

auto is_server(std::string_view name, std::string_view version, std::string_view redis) {
  return Optional(AllOf(Field(&ServerVersion::name, name), Field(&ServerVersion::version, version),
                        Field(&ServerVersion::redis, redis)));
}

TEST(ServerVersionTest, RedisHasItsOwnVersion) {
  EXPECT_THAT(server_version(info("redis_version:7.0.15\r\nredis_git_sha1:00000000\r\n")),
              is_server("Redis", "7.0.15", "7.0.15"));
  EXPECT_THAT(server_version(info("redis_version:8.0.2\r\nredis_mode:standalone\r\n")),
              is_server("Redis", "8.0.2", "8.0.2"));
}

TEST(ServerVersionTest, ValkeyHasTwoVersions) {
  const Reply valkey = info(
      "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n"
      "valkey_release_stage:ga\r\n");
  EXPECT_THAT(server_version(valkey), is_server("valkey", "8.1.1", "7.2.4"));
  EXPECT_EQ(refused_version(valkey), "");
}

TEST(ServerVersionTest, ForkWithoutVersionHasThatOfRedis) {
  EXPECT_THAT(server_version(info("redis_version:6.0.9\r\nserver_name:fork\r\n")),
              is_server("fork", "6.0.9", "6.0.9"));
}

TEST(ServerVersionTest, OldForkIsRefusedByName) {
  EXPECT_THAT(refused_version(info("redis_version:6.0.9\r\nserver_name:fork\r\n")),
              HasSubstr("it is fork 6.0.9, and Rushgate needs Redis 6.2 or later"));
}

TEST(ServerVersionTest, ReplyWithoutVersionIsAccepted) {
  for (const Reply& reply : {info("uptime_in_seconds:1\r\n"), info("redis_version:next\r\n"),
                             Reply::error("NOPERM this user has no permissions")}) {
    EXPECT_EQ(refused_version(reply), "") << to_debug_string(reply);
  }
  EXPECT_EQ(server_version(Reply::error("NOPERM this user has no permissions")), std::nullopt);
}

}  // namespace
}  // namespace rushgate
