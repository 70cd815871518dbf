// Compares the counts of INFO commandstats and latencystats with those of Redis.
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/command_counts.h"
#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/redis_backend.h"
#include "tests/conformance/server_backend.h"

namespace rushgate::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

// ---- Counts -------------

struct RequestOfSession {
  int session;
  Request request;
};

std::vector<RequestOfSession> steps() {
  return {
      {0, Request::of("MULTI")},
      {0, Request::of("INCR", "n")},
      {0, Request::of("CONFIG", "RESETSTAT")},
      {0, Request::of("INCR", "n")},
      {0, Request::of("EXEC")},
      // Ordinary, refused and failed commands.
      {0, Request::of("SET", "k", "v")},
      {0, Request::of("GET", "k")},
      {0, Request::of("get", "none")},
      {0, Request::of("GET")},
      {0, Request::of("NOSUCH")},
      {0, Request::of("CONFIG")},
      {0, Request::of("CONFIG", "NOSUCH")},
      {0, Request::of("CONFIG", "GET")},
      {0, Request::of("CONFIG", "GET", "port")},
      {0, Request::of("LPUSH", "k", "a")},
      {0, Request::of("INCR", "k")},
      // Scripts and their commands.
      {0, Request::of("EVAL", "return redis.call('GET', 'k')", "0")},
      {0, Request::of("EVAL", "return redis.call('INCR', 'k')", "0")},
      {0, Request::of("EVAL", "return redis.pcall('INCR', 'k')", "0")},
      {0, Request::of("EVAL", "redis.pcall('INCR', 'k') return 1", "0")},
      {0, Request::of("EVAL", "redis.pcall('GET') return 1", "0")},
      {0, Request::of("EVAL", "redis.pcall('NOSUCH') return 1", "0")},
      {0, Request::of("EVAL", "redis.pcall('SUBSCRIBE', 'c') return 1", "0")},
      {0, Request::of("EVAL_RO", "redis.pcall('SET', 'k', 'v') return 1", "0")},
      {0, Request::of("EVAL", "error('x')", "0")},
      {0, Request::of("EVAL", "local a = redis.pcall('INCR', 'k') return {a, {a}, a}", "0")},
      {0, Request::of("EVAL", "local e = redis.error_reply('MINE x') return {e, {e}, e}", "0")},
      {0, Request::of("EVAL", "return {redis.pcall('GET'), redis.error_reply('x')}", "0")},
      {0, Request::of("EVALSHA", "x", "0")},
      // Transactions: queued commands run under EXEC.
      {0, Request::of("MULTI")},
      {0, Request::of("SET", "k", "1")},
      {0, Request::of("LPUSH", "k", "1")},
      {0, Request::of("EXEC")},
      {0, Request::of("MULTI")},
      {0, Request::of("SET", "k")},
      {0, Request::of("MULTI")},
      {0, Request::of("WATCH", "k")},
      {0, Request::of("EXEC")},
      {0, Request::of("EXEC")},
      {0, Request::of("MULTI")},
      {0, Request::of("BLPOP", "none", "0")},
      {0, Request::of("EXEC")},
      {0, Request::of("DISCARD")},
      // A blocked command counts as one call.
      {1, Request::of("BLPOP", "l", "0")},
      {2, Request::of("BLPOP", "l", "m", "0")},
      {3, Request::of("BRPOPLPUSH", "l", "k", "0")},
      {0, Request::of("RPUSH", "l", "a")},
      {0, Request::of("RPUSH", "m", "b")},
      {0, Request::of("RPUSH", "l", "c")},
      {0, Request::of("DEL", "k")},
      {4, Request::of("BLPOP", "n", "0.01")},
      {5, Request::of("XREAD", "BLOCK", "0", "STREAMS", "x", "$")},
      {0, Request::of("XADD", "x", "1-1", "f", "v")},
      {7, Request::of("BLPOP", "none", "0")},
      {8, Request::of("BLPOP", "none", "0")},
      {0, Request::of("CLIENT", "UNBLOCK", "$7")},
      {0, Request::of("CLIENT", "UNBLOCK", "$8", "ERROR")},
      {0, Request::of("CLIENT", "UNBLOCK", "$8", "ERROR")},
      {0, Request::of("CLIENT", "UNBLOCK", "x")},
      {0, Request::of("XGROUP", "CREATE", "y", "g", "$", "MKSTREAM")},
      {9, Request::of("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "y", ">")},
      {0, Request::of("XGROUP", "DESTROY", "y", "g")},
      // A subscriber.
      {6, Request::of("SUBSCRIBE", "c", "d")},
      {6, Request::of("GET", "k")},
      {0, Request::of("PUBLISH", "c", "m")},
      {0, Request::of("CONFIG", "SET", "maxmemory", "1")},
      {0, Request::of("SET", "k", "v")},
      {0, Request::of("EVAL", "return redis.pcall('SET', 'k', 'v')", "0")},
      {0, Request::of("GET", "k")},
      {0, Request::of("CONFIG", "SET", "maxmemory", "0")},
  };
}

void play(Backend& backend) {
  std::map<std::string, std::string> ids;  // of the clients of blocked sessions
  for (const int session : {7, 8}) {
    const Reply id = backend.ask(session, Request::of("CLIENT", "ID"));
    ids["$" + std::to_string(session)] = std::to_string(id.integer());
  }
  for (const auto& [session, request] : steps()) {
    Request with_ids;
    for (const std::string_view argument : request.views()) {
      const auto id = ids.find(std::string(argument));
      with_ids.add(id == ids.end() ? argument : std::string_view(id->second));
    }
    backend.send(session, with_ids);
    if (session == 0) backend.receive(0);
    if (request[0] != "SUBSCRIBE") continue;
    for (std::size_t i = 1; i < request.size(); ++i) backend.receive(session);
  }
  backend.elapse(std::chrono::milliseconds(100));
}

template <class Subject>
class CommandStatisticsTest : public ::testing::Test {
 protected:
  RedisBackend redis_{RespVersion::k2};
  Subject ours_{RespVersion::k2};
};

using Subjects = ::testing::Types<EmbeddedBackend, ServerBackend>;
TYPED_TEST_SUITE(CommandStatisticsTest, Subjects);

TYPED_TEST(CommandStatisticsTest, CountsEqualRedis) {
  play(this->redis_);
  play(this->ours_);
  const InfoByCommand expected = command_counts(this->redis_, 0);
  ASSERT_THAT(expected, AllOf(Contains(Key("get")), Contains(Key("error ERR"))));
  EXPECT_EQ(counts_differ(expected, command_counts(this->ours_, 0)), "");
}

// ---- Times ------------

TYPED_TEST(CommandStatisticsTest, LatenciesAreForSameCommandsAsRedis) {
  for (Backend* const backend :
       {static_cast<Backend*>(&this->redis_), static_cast<Backend*>(&this->ours_)}) {
    backend->ask(0, Request::of("CONFIG", "SET", "latency-tracking", "yes"));
    play(*backend);
  }
  const InfoByCommand expected = command_latencies(this->redis_, 0);
  const InfoByCommand found = command_latencies(this->ours_, 0);
  std::set<std::string> expected_names;
  for (const auto& [command, parts] : expected) expected_names.insert(command);
  std::set<std::string> names;
  for (const auto& [command, parts] : found) {
    names.insert(command);
    EXPECT_THAT(parts, AllOf(Contains(Key("p50")), Contains(Key("p99")), Contains(Key("p99.9"))));
    EXPECT_GE(std::atof(parts.at("p99.9").c_str()), std::atof(parts.at("p50").c_str())) << command;
  }
  EXPECT_EQ(names, expected_names);
}

TYPED_TEST(CommandStatisticsTest, TimeOfScriptIncludesItsCommands) {
  Backend& backend = this->ours_;
  backend.ask(0, Request::of("CONFIG", "SET", "latency-tracking", "yes"));
  backend.ask(0, Request::of("CONFIG", "RESETSTAT"));
  constexpr char kMany[] = "for i = 1, 20000 do redis.call('INCR', 'n') end";
  backend.ask(0, Request::of("EVAL", kMany, "0"));
  InfoByCommand fields = command_statistics(backend, 0);
  EXPECT_EQ(fields["incr"]["calls"], "20000");
  const double script_us = std::atof(fields["eval"]["usec"].c_str());
  const double increments_us = std::atof(fields["incr"]["usec"].c_str());
  EXPECT_GT(increments_us, 0);
  EXPECT_GT(script_us, increments_us);
  EXPECT_NEAR(std::atof(fields["incr"]["usec_per_call"].c_str()), increments_us / 20'000, 0.01);
}

TYPED_TEST(CommandStatisticsTest, NothingIsTimedByDefault) {
  Backend& backend = this->ours_;
  backend.ask(0, Request::of("CONFIG", "SET", "latency-tracking", "yes"));
  backend.ask(0, Request::of("SET", "k", "v"));
  EXPECT_THAT(command_latencies(backend, 0), Contains(Key("set")));
  backend.ask(0, Request::of("CONFIG", "SET", "latency-tracking", "no"));
  EXPECT_THAT(command_latencies(backend, 0), IsEmpty());
  backend.ask(0, Request::of("CONFIG", "RESETSTAT"));
  backend.ask(0, Request::of("GET", "k"));
  EXPECT_THAT(command_latencies(backend, 0), IsEmpty());
  InfoByCommand fields = command_statistics(backend, 0);
  EXPECT_EQ(fields["get"]["calls"], "1");
  EXPECT_EQ(fields["get"]["usec"], "0");
  EXPECT_EQ(fields["get"]["usec_per_call"], "0.00");
  EXPECT_THAT(fields, Not(Contains(Key("set"))));
}

}  // namespace
}  // namespace rushgate::testing
