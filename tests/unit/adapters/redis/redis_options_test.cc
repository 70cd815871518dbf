#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

RedisOptions parsed(std::string_view url) {
  auto options = RedisOptions::from_url(url);
  EXPECT_TRUE(options.ok()) << url << ": " << options.status();
  return options.ok() ? *options : RedisOptions{};
}

TEST(RedisOptionsTest, MissingUrlPartsHaveDefaults) {
  const RedisOptions options = parsed("redis://shop");
  EXPECT_EQ(options.host, "shop");
  EXPECT_EQ(options.port, 6379);
  EXPECT_EQ(options.db, 0);
  EXPECT_EQ(options.user, "");
  EXPECT_EQ(options.password, "");
  EXPECT_EQ(options.unix_path, "");
  EXPECT_TRUE(options.check().ok());
}

TEST(RedisOptionsTest, UrlMaySetEverything) {
  const RedisOptions options = parsed("redis://sale:s%40cret%2F:x@10.0.0.1:7000/3");
  EXPECT_EQ(options.user, "sale");
  EXPECT_EQ(options.password, "s@cret/:x");
  EXPECT_EQ(options.host, "10.0.0.1");
  EXPECT_EQ(options.port, 7000);
  EXPECT_EQ(options.db, 3);
  EXPECT_EQ(options.address(), "10.0.0.1:7000");
}

TEST(RedisOptionsTest, PasswordNeedsNoUser) {
  const RedisOptions options = parsed("redis://:secret@shop/");
  EXPECT_EQ(options.user, "");
  EXPECT_EQ(options.password, "secret");
}

TEST(RedisOptionsTest, Ipv6AddressIsInBrackets) {
  const RedisOptions options = parsed("redis://[::1]:7000");
  EXPECT_EQ(options.host, "::1");
  EXPECT_EQ(options.port, 7000);
  EXPECT_EQ(options.address(), "[::1]:7000");
  EXPECT_EQ(parsed("redis://[::1]").port, 6379);
}

TEST(RedisOptionsTest, SocketUrlHasPathAndOptionalDatabase) {
  EXPECT_EQ(parsed("unix:///run/redis.sock").unix_path, "/run/redis.sock");
  const RedisOptions options = parsed("unix:///run/my%20redis.sock?db=2");
  EXPECT_EQ(options.address(), "/run/my redis.sock");
  EXPECT_EQ(options.db, 2);
  EXPECT_EQ(parsed("unix:run/redis.sock").unix_path, "run/redis.sock");
  EXPECT_EQ(parsed("unix:/run/redis.sock?db=3").db, 3);
  const RedisOptions with_user = parsed("unix://sale:secret@/run/redis.sock");
  EXPECT_EQ(with_user.unix_path, "/run/redis.sock");
  EXPECT_EQ(with_user.user, "sale");
  EXPECT_EQ(with_user.password, "secret");
}

TEST(RedisOptionsTest, TlsUrlNamesItsFiles) {
  const RedisOptions options = parsed(
      "rediss://:secret@shop:7000/1?tls_ca=%2Fetc/ca.pem&tls_certificate=c.pem&tls_key=k.pem");
  EXPECT_TRUE(options.tls);
  EXPECT_EQ(options.address(), "shop:7000");
  EXPECT_EQ(options.db, 1);
  EXPECT_EQ(options.tls_ca, "/etc/ca.pem");
  EXPECT_EQ(options.tls_certificate, "c.pem");
  EXPECT_EQ(options.tls_key, "k.pem");
  EXPECT_FALSE(parsed("redis://shop").tls);
}

TEST(RedisOptionsTest, UrlMaySetTimeouts) {
  const RedisOptions options = parsed(
      "redis://shop?connect_timeout_ms=100&command_timeout_ms=200&reconnect_max_ms=300"
      "&sync_replicas=2&sync_timeout_ms=400&confirm_replicas=1&confirm_ms=500");
  EXPECT_EQ(options.connect_timeout_ms, 100);
  EXPECT_EQ(options.command_timeout_ms, 200);
  EXPECT_EQ(options.reconnect_max_ms, 300);
  EXPECT_EQ(options.sync_replicas, 2);
  EXPECT_EQ(options.sync_timeout_ms, 400);
  EXPECT_EQ(options.confirm_replicas, 1);
  EXPECT_EQ(options.confirm_ms, 500);
}

TEST(RedisOptionsTest, SentinelUrlNamesSentinelsAndMaster) {
  const RedisOptions options = parsed(
      "redis-sentinel://sale:s%40cret@a,[::1]:7000,b:7001/my%20shop?db=2&sentinel_user=look"
      "&sentinel_password=at%2Fit&sentinel_timeout_ms=100&sentinel_poll_ms=200&sync_replicas=1");
  EXPECT_EQ(options.sentinel.addresses,
            (std::vector<RedisAddress>{{"a", 26379}, {"::1", 7000}, {"b", 7001}}));
  EXPECT_EQ(options.sentinel.master, "my shop");
  EXPECT_EQ(options.sentinel.user, "look");
  EXPECT_EQ(options.sentinel.password, "at/it");
  EXPECT_EQ(options.sentinel.timeout_ms, 100);
  EXPECT_EQ(options.sentinel.poll_ms, 200);
  EXPECT_EQ(options.user, "sale");
  EXPECT_EQ(options.password, "s@cret");
  EXPECT_EQ(options.db, 2);
  EXPECT_EQ(options.sync_replicas, 1);
  EXPECT_FALSE(options.tls);
  EXPECT_EQ(options.address(), "my shop of a:26379 [::1]:7000 b:7001");
  EXPECT_TRUE(options.check().ok());
  EXPECT_EQ(parsed("rediss-sentinel://a/shop?tls_ca=ca.pem").tls_ca, "ca.pem");
}

TEST(RedisOptionsTest, ClusterUrlNamesNodes) {
  const RedisOptions options = parsed(
      "redis-cluster://sale:s%40cret@a,[::1]:7000,b:7001?cluster_timeout_ms=100"
      "&cluster_poll_ms=200&confirm_replicas=1");
  EXPECT_EQ(options.cluster.addresses,
            (std::vector<RedisAddress>{{"a", 6379}, {"::1", 7000}, {"b", 7001}}));
  EXPECT_EQ(options.cluster.timeout_ms, 100);
  EXPECT_EQ(options.cluster.poll_ms, 200);
  EXPECT_EQ(options.user, "sale");
  EXPECT_EQ(options.password, "s@cret");
  EXPECT_EQ(options.confirm_replicas, 1);
  EXPECT_EQ(options.address(), "the cluster of a:6379 [::1]:7000 b:7001");
  EXPECT_TRUE(options.check().ok());
  EXPECT_TRUE(parsed("rediss-cluster://a/?tls_ca=ca.pem").tls);
}

TEST(RedisOptionsTest, UrlErrorNamesWrongPart) {
  constexpr std::string_view kSchemes =
      "redis://, rediss://, redis-sentinel://, rediss-sentinel://, redis-cluster://, "
      "rediss-cluster:// or unix:";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", concat("no ", kSchemes, " at its beginning")},
      {"localhost:6379", concat("\"localhost:\" is none of ", kSchemes)},
      {"http://shop", concat("\"http:\" is none of ", kSchemes)},
      {"redis:shop", concat("\"redis:\" is none of ", kSchemes)},
      {"redis-cluster:a", concat("\"redis-cluster:\" is none of ", kSchemes)},
      {"redis-cluster://a/1", "a cluster has database 0 alone: nothing may follow the hosts"},
      {"redis-cluster://a,", "no host"},
      {"redis-cluster://a?db=0", "unknown option \"db\""},
      {"redis-cluster://a?cluster_poll_ms=0",
       "option cluster_poll_ms: \"0\" is not a number from 1"},
      {"rediss://shop?tls_ca=", "option tls_ca names no file"},
      {"rediss://shop?tls_ca", "option \"tls_ca\" has no value: write tls_ca=…"},
      {"rediss://shop?tls_key=k.pem", "the options tls_certificate and tls_key need each other"},
      {"rediss://shop?ca=ca.pem", "unknown option \"ca\""},
      {"redis://shop?tls_ca=ca.pem",
       "option tls_ca is for rediss://, rediss-sentinel:// and rediss-cluster:// alone"},
      {"redis://shop?connect_timeout_ms=soon",
       "option connect_timeout_ms: \"soon\" is not a number from 1"},
      {"redis://shop?sync_replicas=-1", "option sync_replicas: \"-1\" is not a number from 0"},
      {"redis://shop?confirm_replicas=all",
       "option confirm_replicas: \"all\" is not a number from 0"},
      {"redis://shop?command_timeout_ms=0",
       "option command_timeout_ms: \"0\" is not a number from 1"},
      {"redis://", "no host"},
      {"redis-sentinel://a,/shop", "no host"},
      {"redis-sentinel://a:0/shop", "port \"0\" is not a number from 1 to 65535"},
      {"redis-sentinel://a",
       "no name of a master: write redis-sentinel://host:port,host:port/name"},
      {"redis-sentinel://a/?db=1",
       "no name of a master: write redis-sentinel://host:port,host:port/name"},
      {"redis-sentinel:a/shop", concat("\"redis-sentinel:\" is none of ", kSchemes)},
      {"redis-sentinel://a/shop?sentinel_poll_ms=0",
       "option sentinel_poll_ms: \"0\" is not a number from 1"},
      {"redis://shop?sentinel_user=u", "unknown option \"sentinel_user\""},
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
      {"redis://shop?db=1", "unknown option \"db\""},
      {"redis://shop#1", "'#' has no meaning; in a password write %23"},
      {"redis://:a/b@shop",
       "'@' after '/' or '?'; in a password write %2F for '/' and %3F for '?', elsewhere %40 for "
       "'@'"},
      {"redis://[::1", "no ']' after '['"},
      {"redis://[::1]7000", "\"7000\" after ']' where \":port\" may stand"},
      {"unix://run/redis.sock", "unix:// needs an absolute path: unix:///run/redis.sock"},
      {"unix://", "unix:// needs an absolute path: unix:///run/redis.sock"},
      {"unix:", "unix: needs the path of a socket"},
      {"unix://sale@/run/redis.sock",
       "a user without a password: write user:password@ or :password@"},
      {"unix:///run/redis.sock?database=1", "unknown option \"database\""},
      {"unix:///run/redis.sock?db=", "database \"\" is not a number from 0"},
  };
  for (const auto& [url, text] : texts) {
    const auto options = RedisOptions::from_url(url);
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_EQ(std::string(options.status().message()), "Redis URL: " + text) << url;
  }
}

TEST(RedisOptionsTest, NoErrorShowsPassword) {
  for (const char* const url :
       {"redis://u:hunter2@", "redis://u:hunter2@h:x", "redis://u:hunter2@h/x",
        "redis://u:hunter2?@h", "redis://u:hunter2%@h", "redis://u:hunter2/@h",
        "redis://u:hunter2#@h", "unix://u:hunter2@", "unix://u:hunter2?@/s",
        "rediss://u:hunter2@h?tls_ca", "redis-sentinel://u:hunter2@a",
        "redis-sentinel://a/n?sentinel_password=hunter2&x=y", "redis-cluster://u:hunter2@a/1"}) {
    const auto options = RedisOptions::from_url(url);
    ASSERT_FALSE(options.ok()) << url;
    EXPECT_EQ(std::string(options.status().message()).find("hunter2"), std::string::npos) << url;
  }
}

TEST(RedisOptionsTest, CheckNamesValueOutOfBounds) {
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
  EXPECT_EQ(message([](RedisOptions& o) {
              o.sentinel.addresses = {{"a", 1}};
            }),
            "sentinels without the name of a master");
  EXPECT_EQ(message([](RedisOptions& o) {
              o.sentinel = {.addresses = {{"a", 0}}, .master = "m"};
            }),
            "port must be from 1 to 65535, not 0");
  EXPECT_EQ(message([](RedisOptions& o) {
              o.sentinel = {.addresses = {{"a", 1}}, .master = "m"};
              o.unix_path = "s";
            }),
            "a unix socket has no sentinels");
  EXPECT_EQ(message([](RedisOptions& o) {
              o.cluster.addresses = {{"a", 1}};
              o.db = 1;
            }),
            "a cluster has database 0 alone: 1");
  EXPECT_EQ(message([](RedisOptions& o) {
              o.cluster.addresses = {{"a", 1}};
              o.unix_path = "s";
            }),
            "a unix socket leads to no cluster");
  EXPECT_EQ(message([](RedisOptions& o) { o.sentinel.user = "u"; }),
            "a user of the sentinels without a password");
  EXPECT_EQ(message([](RedisOptions& o) { o.sentinel.poll_ms = 0; }),
            "sentinel.poll_ms must be more than 0, not 0");
  EXPECT_EQ(message([](RedisOptions& o) { o.connections_max = 0; }),
            "connections_max must be more than 0, not 0");
}

}  // namespace
}  // namespace rushgate
