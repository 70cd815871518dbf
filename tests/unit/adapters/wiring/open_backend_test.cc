// Opens a backend from a URL: its kind, and the errors of a wrong URL.
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/adapters/redis/tls_server.h"
#include <rushgate/open_backend.h>

namespace rushgate {
namespace {

BackendUrl parsed(std::string_view text) {
  const auto url = BackendUrl::parse(text);
  EXPECT_TRUE(url.ok()) << text << ": " << url.status();
  return url.ok() ? *url : BackendUrl{};
}

std::unique_ptr<Backend> opened(const std::string& url) {
  auto backend = open_backend(url);
  EXPECT_TRUE(backend.ok()) << url << ": " << backend.status();
  return backend.ok() ? *std::move(backend) : nullptr;
}

TEST(BackendUrlTest, KindFollowsFromScheme) {
  EXPECT_EQ(parsed("memory:").kind, BackendUrl::Kind::kMemory);
  EXPECT_EQ(parsed("redis://shop:7000/2").redis.db, 2);
  EXPECT_TRUE(parsed("rediss://shop").redis.tls);
  EXPECT_EQ(parsed("redis-sentinel://a,b/shop").redis.sentinel.master, "shop");
  EXPECT_EQ(parsed("redis-cluster://a,b").redis.cluster.addresses.size(), 2U);
  EXPECT_TRUE(parsed("rediss-sentinel://a/shop").redis.tls);
  EXPECT_EQ(parsed("unix:/run/redis.sock").redis.unix_path, "/run/redis.sock");
  for (const char* const path : {"keyspace", "./a:b", "/var/lib/a:b", "a.b/c"}) {
    EXPECT_EQ(parsed(path).kind, BackendUrl::Kind::kDirectory) << path;
    EXPECT_EQ(parsed(path).dir, path);
  }
}

TEST(BackendUrlTest, DirectoryHasItsDurability) {
  EXPECT_EQ(parsed("/keyspace").durability, Durability::kOs);
  EXPECT_EQ(parsed("/keyspace?durability=os").durability, Durability::kOs);
  EXPECT_EQ(parsed("/keyspace?durability=everysec").durability, Durability::kEverySec);
  EXPECT_EQ(parsed("/key%3Fspace?durability=sync").durability, Durability::kSync);
  EXPECT_EQ(parsed("/key%3Fspace?durability=sync").dir, "/key?space");
}

TEST(BackendUrlTest, ErrorNamesWrongPart) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"", "URL of a keyspace: it is empty"},
      {"memory:x", "URL of a keyspace: \"x\" after memory:, which has no options"},
      {"memory:?durability=sync",
       "URL of a keyspace: \"?durability=sync\" after memory:, which has no options"},
      {"http://shop",
       "URL of a keyspace: \"http\" is no scheme: memory:, redis://, rediss://, redis-sentinel://, "
       "rediss-sentinel://, redis-cluster://, rediss-cluster://, unix: or the path of a directory "
       "(./http:…)"},
      {"/a?durable=sync", "URL of a keyspace: a directory has no option \"durable\""},
      {"/a?confirm_replicas=1",
       "URL of a keyspace: a directory has no option \"confirm_replicas\""},
      {"/a?durability=memory",
       "URL of a keyspace: durability \"memory\" is none of os, everysec, sync"},
      {"/a?durability", "URL of a keyspace: durability \"\" is none of os, everysec, sync"},
      {"/a%", "URL of a keyspace: '%' in the path is not followed by two hexadecimal digits"},
      {"redis://shop:port", "Redis URL: port \"port\" is not a number from 1 to 65535"},
      {"rediss://shop?ca=x", "Redis URL: unknown option \"ca\""},
  };
  for (const auto& [url, text] : texts) {
    const absl::Status status = open_backend(url).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_EQ(std::string(status.message()), text) << url;
  }
}

TEST(OpenBackendTest, MemoryIsEmptyEachTime) {
  EXPECT_EQ((*opened("memory:")->open_client())("SET", "k", "v"), Reply::ok());
  EXPECT_EQ((*opened("memory:")->open_client())("GET", "k"), Reply::nil());
}

TEST(OpenBackendTest, DirectoryKeepsItsKeys) {
  const TemporaryDirectory directory;
  const std::string url = (directory.path() / "keyspace").string() + "?durability=sync";
  {
    const auto backend = opened(url);
    EXPECT_EQ((*backend->open_client())("SET", "k", "v"), Reply::ok());
    EXPECT_TRUE(backend->capabilities().runs_native_scripts);
  }
  EXPECT_EQ((*opened(url)->open_client())("GET", "k"), Reply::bulk("v"));
  EXPECT_FALSE(
      open_backend((directory.path() / "none").string(), {.create_if_missing = false}).ok());
}

TEST(OpenBackendTest, RedisIsReachedThroughSocket) {
  testing::RedisServer server;
  const auto backend = opened("unix:" + server.socket_path() + "?db=1");
  EXPECT_EQ((*backend->open_client())("SET", "k", "v"), Reply::ok());
  EXPECT_FALSE(backend->capabilities().runs_native_scripts);
  EXPECT_EQ((*opened("unix://" + server.socket_path() + "?db=1")->open_client())("GET", "k"),
            Reply::bulk("v"));
  EXPECT_EQ((*opened(server.url())->open_client())("GET", "k"), Reply::nil());
}

TEST(OpenBackendTest, RedisIsReachedOverTls) {
  testing::TlsRedisServer server;
  const std::string url = "rediss://127.0.0.1:" + std::to_string(server.options().port) +
                          "?tls_ca=" + server.file("ca.pem") +
                          "&tls_certificate=" + server.file("client.pem") +
                          "&tls_key=" + server.file("client.key");
  EXPECT_EQ((*opened(url)->open_client())("PING"), Reply::status("PONG"));
  const std::string without_certificate = url.substr(0, url.find('&'));
  EXPECT_FALSE(open_backend(without_certificate).ok());
}

TEST(OpenBackendTest, UserAndPasswordAreShown) {
  testing::RedisServer server;
  testing::RawConnection(server.socket_path())
      .call(Request::of("ACL", "SETUSER", "sale", "on", "~*", "+@all", ">secret"));
  const auto backend = opened("unix://sale:secret@" + server.socket_path());
  EXPECT_EQ((*backend->open_client())("ACL", "WHOAMI"), Reply::bulk("sale"));
  const absl::Status status = open_backend("unix://sale:wrong@" + server.socket_path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
}

TEST(OpenBackendTest, EngineHasNoStoreOnRedis) {
  const auto store = open_store(parsed("redis://shop:7000"));
  EXPECT_EQ(store.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(store.status().message()),
            "an engine's keyspace is memory: or a directory, not shop:7000");
}

}  // namespace
}  // namespace rushgate
