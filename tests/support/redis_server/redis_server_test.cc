#include "tests/support/redis_server/redis_server.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/redis_server/raw_connection.h"

namespace rushgate::testing {
namespace {

TEST(RedisServerTest, ServerStartsReadyAndCleansUp) {
  std::filesystem::path directory;
  {
    RedisServer server;
    directory = std::filesystem::path(server.socket_path()).parent_path();
    RawConnection connection(server.socket_path());
    connection.send(Request::of("PING"));
    EXPECT_EQ(connection.receive(), "+PONG\r\n");
    EXPECT_FALSE(connection.has_reply());
  }
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(RedisServerTest, FlushAllDeletesAllKeys) {
  RedisServer server;
  RawConnection connection(server.socket_path());
  connection.call(Request::of("SET", "k", "v"));
  server.flush_all();
  EXPECT_EQ(connection.call(Request::of("DBSIZE")), Reply::integer(0));
}

TEST(RedisServerTest, AppendOnlyRestartKeepsData) {
  RedisServer keeping({.append_only = true, .arguments = {}});
  RedisServer forgetting;
  for (RedisServer* const server : {&keeping, &forgetting}) {
    RawConnection(server->socket_path()).call(Request::of("SET", "k", "v"));
    server->kill();
    EXPECT_THROW(RawConnection(server->socket_path()), std::runtime_error);
    server->restart();
  }
  const Request get = Request::of("GET", "k");
  EXPECT_EQ(RawConnection(keeping.socket_path()).call(get), Reply::bulk("v"));
  EXPECT_EQ(RawConnection(forgetting.socket_path()).call(get), Reply::nil());
}

TEST(RedisServerTest, FailedStartThrowsWithLog) {
  try {
    RedisServer server({.arguments = {"--no-such-option", "1"}});
    FAIL() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-option"), std::string::npos) << error.what();
  }
}

// Without redis-server, a test program fails and skips nothing.
TEST(RedisServerTest, MissingServerFailsByName) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  std::string message;
  try {
    RedisServer server;
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(message, ::testing::HasSubstr("cannot run redis-server: is it installed?"));
}

TEST(RedisServerTest, UnlistenableServerFailsByName) {
  RedisServer first({.listens_on_tcp = true});
  const std::string port(RawConnection(first.socket_path())
                             .call(Request::of("CONFIG", "GET", "port"))
                             .elements()[1]
                             .text());
  std::string message;
  try {
    RedisServer second({.arguments = {"--port", port}});
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, ::testing::AllOf(::testing::HasSubstr("redis-server has ended"),
                                        ::testing::HasSubstr("Address already in use")));
}

TEST(RedisServerTest, RawConnectionReadsRepliesOfAnySize) {
  RedisServer server;
  RawConnection connection(server.socket_path());
  const std::string value(3'000'000, 'x');
  EXPECT_EQ(connection.call(Request::of("SET", "k", value)), Reply::ok());
  EXPECT_EQ(connection.call(Request::of("GET", "k")), Reply::bulk(value));
}

}  // namespace
}  // namespace rushgate::testing
