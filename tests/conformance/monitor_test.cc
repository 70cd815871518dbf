// Compares the output of MONITOR with that of Redis.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/redis_backend.h"
#include "tests/conformance/server_backend.h"

namespace rushgate::testing {
namespace {

/// Returns a line without its time and the client's address.
std::string comparable(std::string_view line) {
  const std::size_t address = line.find(' ', line.find('['));
  const std::size_t end = line.find(']');
  const bool is_script = line.substr(address + 1, end - address - 1) == "lua";
  return std::string(line.substr(line.find('['), address - line.find('['))) +
         (is_script ? " lua" : "") + std::string(line.substr(end));
}

/// Runs commands and returns the lines that a monitor gets, and the replies to the monitor itself.
std::vector<std::string> monitored(Backend& backend) {
  constexpr int kMonitor = 1;
  backend.reset();
  backend.ask(0, Request::of("PING"));  // begins the session
  std::vector<std::string> lines = {to_debug_string(backend.ask(kMonitor, Request::of("MONITOR")))};
  for (const Request& request :
       {Request::of("SET", "k", std::string_view("a b\0\n\r\t\a\b\x1b\"\\\xc3\xa9", 14)),
        Request::of("get", "k"), Request::of("GET"), Request::of("NOSUCH"),
        Request::of("EVAL", "redis.call('set', 'x', 1) return redis.pcall('nosuch')", 0),
        Request::of("EVALSHA", "x", 0), Request::of("MULTI"), Request::of("INCR", "a"),
        Request::of("TYPE", "a"), Request::of("EXEC"), Request::of("CONFIG", "GET", "port"),
        Request::of("HELLO", 2, "AUTH", "default", "secret", "SETNAME", "me"),
        Request::of("AUTH", "secret"), Request::of("AUTH", "default", "secret"),
        Request::of("SELECT", 3), Request::of("LPUSH", "l"), Request::of("BLPOP", "none", "0.01"),
        Request::of("CLIENT", "SETNAME", "me"), Request::of("SUBSCRIBE", "x")}) {
    backend.send(0, request);
    backend.receive(0);
  }
  backend.send(kMonitor, Request::of("PING", "end"));
  for (;;) {
    const std::string raw = backend.receive(kMonitor);
    if (raw.starts_with('$')) return lines;
    const std::string line(parse_raw_reply(raw)->reply.text());
    // The backends send PING by themselves.
    if (line.find("\"PING\"") == std::string::npos) lines.push_back(comparable(line));
  }
}

TEST(MonitorTest, LinesAreThoseOfRedis) {
  RedisBackend redis(RespVersion::k2);
  EmbeddedBackend embedded(RespVersion::k2);
  ServerBackend server(RespVersion::k2);
  const std::vector<std::string> expected = monitored(redis);
  EXPECT_EQ(expected.size(), 17U);
  EXPECT_EQ(monitored(embedded), expected);
  EXPECT_EQ(monitored(server), expected);
}

TEST(MonitorTest, MonitorRunsNoCommandOnKeys) {
  RedisBackend redis(RespVersion::k2);
  EmbeddedBackend embedded(RespVersion::k2);
  for (Backend* const backend : {static_cast<Backend*>(&redis), static_cast<Backend*>(&embedded)}) {
    backend->reset();
    EXPECT_EQ(backend->ask(1, Request::of("MONITOR")), Reply::ok());
    for (const Request& request : {Request::of("GET", "k"), Request::of("SET", "k", "v"),
                                   Request::of("EVAL", "return 1", 0)}) {
      EXPECT_EQ(to_debug_string(backend->ask(1, request)),
                "(error) ERR Replica can't interact with the keyspace");
    }
    EXPECT_EQ(to_debug_string(backend->ask(1, Request::of("RESET"))), "RESET");
    EXPECT_EQ(to_debug_string(backend->ask(1, Request::of("GET", "k"))), "(nil)");
  }
}

}  // namespace
}  // namespace rushgate::testing
