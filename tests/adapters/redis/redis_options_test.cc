#include "adapters/redis/redis_options.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

RedisOptions parsed(std::string_view url) {
  auto options = RedisOptions::from_url(url);
  EXPECT_TRUE(options.ok()) << url << ": " << options.status();
  return options.ok() ? *options : RedisOptions{};
}

TEST(RedisOptionsTest, WhatAUrlLeavesOutIsTheDefault) {
  const RedisOptions options = parsed("redis://shop");
  EXPECT_EQ(options.host, "shop");
  EXPECT_EQ(options.port, 6379);
  EXPECT_EQ(options.db, 0);
  EXPECT_EQ(options.user, "");
  EXPECT_EQ(options.password, "");
  EXPECT_EQ(options.unix_path, "");
  EXPECT_TRUE(options.check().ok());
}

TEST(RedisOptionsTest, AUrlMayNameEverything) {
  const RedisOptions options = parsed("redis://sale:s%40cret%2F:x@10.0.0.1:7000/3");
  EXPECT_EQ(options.user, "sale");
  EXPECT_EQ(options.password, "s@cret/:x");
  EXPECT_EQ(options.host, "10.0.0.1");
  EXPECT_EQ(options.port, 7000);
  EXPECT_EQ(options.db, 3);
  EXPECT_EQ(options.address(), "10.0.0.1:7000");
}

TEST(RedisOptionsTest, APasswordNeedsNoUser) {
  const RedisOptions options = parsed("redis://:secret@shop/");
  EXPECT_EQ(options.user, "");
  EXPECT_EQ(options.password, "secret");
}

TEST(RedisOptionsTest, AnAddressOfVersion6StandsInBrackets) {
  const RedisOptions options = parsed("redis://[::1]:7000");
  EXPECT_EQ(options.host, "::1");
  EXPECT_EQ(options.port, 7000);
  EXPECT_EQ(options.address(), "[::1]:7000");
  EXPECT_EQ(parsed("redis://[::1]").port, 6379);
}

TEST(RedisOptionsTest, ASocketHasAPathAndMayHaveADatabase) {
  EXPECT_EQ(parsed("unix:///run/redis.sock").unix_path, "/run/redis.sock");
  const RedisOptions options = parsed("unix:///run/my%20redis.sock?db=2");
  EXPECT_EQ(options.address(), "/run/my redis.sock");
  EXPECT_EQ(options.db, 2);
}

TEST(RedisOptionsTest, AnErrorSaysWhichPartOfTheUrlIsWrong) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "no \"redis://\" or \"unix://\" at its beginning"},
      {"localhost:6379", "no \"redis://\" or \"unix://\" at its beginning"},
      {"http://shop", "unknown scheme \"http\": redis or unix"},
      {"rediss://shop", "rediss:// (TLS) is not supported"},
      {"redis://", "no host"},
      {"redis://:7000", "no host"},
      {"redis://shop:", "port \"\" is not a number from 1 to 65535"},
      {"redis://shop:70000", "port \"70000\" is not a number from 1 to 65535"},
      {"redis://shop:0", "port \"0\" is not a number from 1 to 65535"},
      {"redis://shop:port", "port \"port\" is not a number from 1 to 65535"},
      {"redis://shop/-1", "database \"-1\" is not a number from 0"},
      {"redis://shop/one", "database \"one\" is not a number from 0"},
      {"redis://shop/1/2", "database \"1/2\" is not a number from 0"},
      {"redis://sale@shop", "a user without a password: write user:password@ or :password@"},
      {"redis://sale:@shop", "a user without a password: write user:password@ or :password@"},
      {"redis://:a%4@shop", "'%' in the password is not followed by two hexadecimal digits"},
      {"redis://%zz:a@shop", "'%' in the user is not followed by two hexadecimal digits"},
      {"redis://shop?db=1",
       "'?' and '#' have no meaning in redis://; in a password write %3F and %23"},
      {"redis://[::1", "no ']' after '['"},
      {"redis://[::1]7000", "\"7000\" after ']' where \":port\" may stand"},
      {"unix://run/redis.sock", "unix:// needs an absolute path: unix:///run/redis.sock"},
      {"unix://", "unix:// needs an absolute path: unix:///run/redis.sock"},
      {"unix:///run/redis.sock?database=1", "\"database=1\" where db=N may stand"},
      {"unix:///run/redis.sock?db=", "database \"\" is not a number from 0"},
  };
  for (const auto& [url, text] : texts) {
    const auto options = RedisOptions::from_url(url);
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_EQ(std::string(options.status().message()), "Redis URL: " + text) << url;
  }
}

TEST(RedisOptionsTest, NoErrorShowsThePassword) {
  for (const char* const url :
       {"redis://u:hunter2@", "redis://u:hunter2@h:x", "redis://u:hunter2@h/x",
        "redis://u:hunter2?@h", "redis://u:hunter2%@h"}) {
    const auto options = RedisOptions::from_url(url);
    ASSERT_FALSE(options.ok()) << url;
    EXPECT_EQ(std::string(options.status().message()).find("hunter2"), std::string::npos) << url;
  }
}

TEST(RedisOptionsTest, CheckNamesTheValueThatIsOutOfBounds) {
  const auto message = [](auto change) {
    RedisOptions options;
    change(options);
    return std::string(options.check().message());
  };
  EXPECT_EQ(message([](RedisOptions& o) { o.host = ""; }), "no host");
  EXPECT_EQ(message([](RedisOptions& o) { o.port = 0; }), "port must be from 1 to 65535, not 0");
  EXPECT_EQ(message([](RedisOptions& o) { o.db = -1; }), "db must not be negative: -1");
  EXPECT_EQ(message([](RedisOptions& o) { o.user = "sale"; }), "a user without a password");
  EXPECT_EQ(message([](RedisOptions& o) { o.connect_timeout_ms = 0; }),
            "connect_timeout_ms must be more than 0, not 0");
  EXPECT_EQ(message([](RedisOptions& o) { o.command_timeout_ms = -5; }),
            "command_timeout_ms must be more than 0, not -5");
  EXPECT_EQ(message([](RedisOptions& o) { o.connections_max = 0; }),
            "connections_max must be more than 0, not 0");
}

}  // namespace
}  // namespace rushgate
