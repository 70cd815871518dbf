// RedisBackend with real sentinels. Each test is a fault that a client of Sentinel had
// (docs/faults-in-the-wild.md).
#include <algorithm>
#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/failover/failover_probe.h"
#include "tests/support/certificates.h"
#include "tests/support/redis_server/redis_server.h"
#include "tests/support/redis_server/sentinel_group.h"
#include "tests/support/temporary_directory.h"
#include <rushgate/redis_backend.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

using testing::ask;
using testing::cut_connections;
using ::testing::HasSubstr;
using testing::ids_of_clients;
using testing::info_number;
using testing::opened;
using testing::port_of_server;
using testing::RedisServer;
using testing::SentinelGroup;
using testing::wait_until;

/// A time that no test waits for.
constexpr std::int64_t kNeverMs = 600'000;

RedisOptions options_of(const std::string& url) {
  RedisOptions options = *RedisOptions::from_url(url);
  options.client_name = testing::kClientName;
  options.sentinel.poll_ms = 50;
  options.reconnect_max_ms = 50;
  return options;
}

class SentinelTest : public ::testing::Test {
 protected:
  [[nodiscard]] RedisOptions options() const { return options_of(group_.url()); }

  SentinelGroup group_;
};

TEST_F(SentinelTest, KilledMasterIsReplaced) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  RedisServer& old = group_.master();
  EXPECT_EQ(port_of_server(*client), old.port());
  old.kill();
  EXPECT_NE(port_of_server(*client), old.port());
  EXPECT_EQ(backend->counters().master_changes, 1U);
  old.restart();  // for a moment it calls itself a master
  group_.heal();
  EXPECT_EQ(port_of_server(*client), group_.master().port());
  EXPECT_EQ((*client)("SET", "k", "v"), Reply::ok());
}

TEST_F(SentinelTest, AllConnectionsLeavePausedMaster) {
  RedisOptions patient = options();
  patient.command_timeout_ms = kNeverMs;  // the sentinels alone report the failover
  const auto backend = opened(patient);
  const auto client = backend->open_client();
  std::promise<Reply> resubscribed;
  const auto subscriber = backend->open_client({.on_message = [&](Reply message) {
    if (message.elements()[0].text() == "resubscribed") resubscribed.set_value(std::move(message));
  }});
  (*subscriber)("SUBSCRIBE", "news");
  auto blocked = std::async(std::launch::async, [&] { return (*client)("BLPOP", "none", 0); });
  RedisServer& old = group_.master();
  wait_until([&] { return info_number(old, "blocked_clients") == 1; });
  ASSERT_EQ(ids_of_clients(old).size(), 3U);
  old.pause();
  const Reply in_flight = (*client)("SET", "k", "v");
  EXPECT_TRUE(has_code(in_flight, error_code::kOutcomeUnknown)) << to_debug_string(in_flight);
  EXPECT_THAT(std::string(in_flight.text()), HasSubstr("the master is now 127.0.0.1:"));
  EXPECT_TRUE(has_code(blocked.get(), error_code::kOutcomeUnknown));
  EXPECT_NE(port_of_server(*client), old.port());
  resubscribed.get_future().wait();
  group_.wait_for_other_master(old);  // another sentinel may have told the client
  EXPECT_EQ(ask(group_.master(), Request::of("PUBLISH", "news", "new")), Reply::integer(1));
  old.resume();
  EXPECT_EQ((*client)("SET", "k", "new"), Reply::ok());
  EXPECT_EQ(ask(group_.master(), Request::of("GET", "k")), Reply::bulk("new"));
  EXPECT_EQ(ids_of_clients(old).size(), 0U);
}

TEST_F(SentinelTest, DemotedMasterIsLeftWithoutFault) {
  RedisOptions seldom = options();
  seldom.sentinel.poll_ms = kNeverMs;  // the old master's replies alone report the failover
  const auto backend = opened(seldom);
  const auto client = backend->open_client();
  const Script count("return redis.call('INCR', KEYS[1])");
  const std::string_view keys[] = {"n"};
  EXPECT_EQ(client->run(count, keys, {}), Reply::integer(1));
  RedisServer& old = group_.master();
  group_.fail_over();
  wait_until([&] { return port_of_server(*client) != old.port(); });
  EXPECT_EQ(port_of_server(*client), group_.master().port());
  const Reply counted = client->run(count, keys, {});  // the new master does not know the script
  ASSERT_TRUE(counted.is_integer()) << to_debug_string(counted);
  EXPECT_EQ(ask(group_.master(), Request::of("GET", "n")),
            Reply::bulk(std::to_string(counted.integer())));
}

TEST_F(SentinelTest, LookupsLeakNoConnections) {
  constexpr std::uint64_t kLookups = 50;
  const auto backend = opened(options());
  const auto client = backend->open_client();
  RedisServer& master = group_.master();
  const auto connections = [&](std::size_t sentinel) {
    return info_number(group_.sentinel(sentinel), "connected_clients");
  };
  const std::int64_t before = connections(0);
  for (std::uint64_t i = 0; i < kLookups; ++i) {
    cut_connections(*backend, master);
    port_of_server(*client);
  }
  EXPECT_GE(backend->counters().lookups, kLookups);
  EXPECT_EQ(ids_of_clients(master).size(), 1U);
  constexpr std::int64_t kSome =
      3;  // one for a lookup, one for a look, and one that has just ended
  EXPECT_LE(connections(0), before + kSome);
}

TEST_F(SentinelTest, SentinelsThatReturnAreUsed) {
  const auto backend = opened(options());
  const auto client = backend->open_client();
  RedisServer& master = group_.master();
  group_.sentinel(0).kill();
  group_.sentinel(1).pause();
  group_.sentinel(2).kill();
  cut_connections(*backend, master);
  EXPECT_EQ(port_of_server(*client), master.port()) << "it is the last one that was known";
  master.kill();
  wait_until([&] { return !backend->health().ok(); });
  std::string text;
  wait_until([&] {  // every other attempt is at the last master
    const Reply refused = (*client)("PING");
    EXPECT_TRUE(has_code(refused, error_code::kClosed) ||
                has_code(refused, error_code::kOutcomeUnknown));
    text = refused.text();
    return text.find("no sentinel knows where the master \"shop\" is") != std::string::npos;
  });
  EXPECT_THAT(text, HasSubstr(": Connection refused"));
  EXPECT_THAT(text, HasSubstr(": no reply within 500 ms"));
  group_.sentinel(1).resume();
  master.restart();
  EXPECT_EQ(port_of_server(*client), master.port());
}

TEST(SentinelAloneTest, MasterWithoutReplicasIsAskedForOnce) {
  const SentinelGroup group({.replicas = 0, .sentinels = 1});
  RedisOptions options = options_of(group.url());
  options.sentinel.poll_ms = kNeverMs;
  const auto backend = opened(options);
  const auto client = backend->open_client();
  for (int i = 0; i < 10; ++i) EXPECT_EQ((*client)("PING"), Reply::status("PONG"));
  EXPECT_EQ(backend->counters().lookups, 1U);
  options.sentinel.master = "other";
  const absl::Status unknown = RedisBackend::open(options).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(unknown.message()), "no sentinel knows where the master \"other\" is: " +
                                                options.sentinel.addresses[0].text() +
                                                ": it knows no master of this name");
}

/// Returns the configuration of a sentinel of this master alone.
std::string monitoring(int port) {
  return "sentinel monitor shop 127.0.0.1 " + std::to_string(port) + " 1\n";
}

TEST(SentinelAloneTest, UserOfSentinelsMayBeRestricted) {
  const RedisServer master({.listens_on_tcp = true});
  const RedisServer sentinel({.listens_on_tcp = true,
                              .sentinel = monitoring(master.port()) +
                                          "user look on >secret +auth "
                                          "+sentinel|get-master-addr-by-name\n"});
  RedisOptions options =
      options_of("redis-sentinel://127.0.0.1:" + std::to_string(sentinel.port()) +
                 "/shop?sentinel_user=look&sentinel_password=secret");
  EXPECT_EQ(port_of_server(*opened(options)->open_client()), master.port());
  options.sentinel.password = "wrong";
  const absl::Status refused = RedisBackend::open(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("it refuses the user: WRONGPASS"));
}

TEST(SentinelTlsTest, TlsReachesSentinelAndMaster) {
  const TemporaryDirectory files(TemporaryDirectory::Where::kInTmp);
  testing::write_certificates(files.path());
  const auto file = [&](const char* name) { return (files.path() / name).string(); };
  const std::vector<std::string> words = {
      "tls-cert-file",    file("server.pem"), "tls-key-file",    file("server.key"),
      "tls-ca-cert-file", file("ca.pem"),     "tls-replication", "yes"};
  const int master_port = testing::find_free_port();
  const int sentinel_port = testing::find_free_port();
  std::vector<std::string> arguments = {"--tls-port", std::to_string(master_port)};
  std::string configuration = "tls-port " + std::to_string(sentinel_port) + '\n';
  for (std::size_t i = 0; i < words.size(); i += 2) {
    arguments.insert(arguments.end(), {"--" + words[i], words[i + 1]});
    configuration += words[i] + ' ' + words[i + 1] + '\n';
  }
  const RedisServer master({.arguments = arguments});
  const RedisServer sentinel({.sentinel = configuration + monitoring(master_port)});
  const auto backend = opened(
      options_of("rediss-sentinel://127.0.0.1:" + std::to_string(sentinel_port) +
                 "/shop?tls_ca=" + file("ca.pem") + "&tls_certificate=" + file("client.pem") +
                 "&tls_key=" + file("client.key")));
  EXPECT_EQ((*backend->open_client())("CONFIG", "GET", "tls-port").elements()[1].text(),
            std::to_string(master_port));
}

}  // namespace
}  // namespace rushgate
