// The program with its keyspace on a redis-server.
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/exit_code.h"
#include "apps/sale_at.h"
#include "engine/sale/stream/consumers.h"
#include "tests/support/program.h"
#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/clock.h>
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

using ::testing::HasSubstr;

std::string rush_of(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += std::to_string(i) + "," + std::to_string(i % 1'000) + ",1\n";
  }
  return text;
}

class RedisProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.write_vouchers({300});
    files_.write_requests(rush_of(3'000));
  }

  testing::RedisServer server_;
  SaleFiles files_;
  const std::vector<std::string> on_redis_ = {"--redis", server_.url(), "--json"};
};

TEST_F(RedisProgramTest, SaleOnRedisPassesAudit) {
  const auto result = run_program(files_.replay(on_redis_));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.json()["outcomes"]["accepted"], 300);
  EXPECT_EQ(result.json()["created"], 300);
  EXPECT_EQ(run_program(files_.replay(on_redis_)).out, result.out);
  EXPECT_EQ(run_program(files_.command("audit", on_redis_)).json()["passed"], true);
  EXPECT_EQ(run_program(files_.command("orders", on_redis_)).json().size(), 300u);
  EXPECT_FALSE(std::filesystem::exists(files_.sale() / "keyspace"));
}

TEST_F(RedisProgramTest, RepetitionOnEmptyServerGetsSameOrders) {
  const auto result = run_program(files_.replay(on_redis_));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  const std::string orders = run_program(files_.command("orders", on_redis_)).out;
  testing::RawConnection(server_.socket_path()).call(Request::of("FLUSHALL"));
  const auto again = run_program(files_.replay(on_redis_));
  EXPECT_EQ(again.json()["outcomes"], result.json()["outcomes"]);
  EXPECT_EQ(run_program(files_.command("orders", on_redis_)).out, orders);
}

/// Ids of payments, and entries of the stream, may have any bytes.
TEST_F(RedisProgramTest, AuditPrintsBytesAsJson) {
  ASSERT_EQ(run_program(files_.replay(on_redis_)).exit_code, kExitOk);
  testing::RawConnection(server_.socket_path())
      .call(
          Request::of("XADD", "stream.orders", "*", "userId", 1, "voucherId", 1, "id", "\xff\xfe"));
  const auto result = run_program(files_.command("audit", on_redis_));
  EXPECT_EQ(result.exit_code, kExitNegative) << result.err;
  EXPECT_EQ(result.json()["passed"], false);
  EXPECT_THAT(result.json()["problems"][0].get<std::string>(),
              HasSubstr("field id is not a number"));
}

TEST_F(RedisProgramTest, DemoOnRedisPlaysBothActs) {
  const auto result =
      run_program(files_.command("demo", {"--fast", "--redis", server_.url(), "--json"}));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.json()["second_act"]["resold"], 200);
  EXPECT_EQ(result.json()["second_act"]["audit"]["passed"], true);
}

TEST_F(RedisProgramTest, KilledReplayContinues) {
  files_.write_requests(rush_of(60'000));
  auto arguments = files_.replay(on_redis_);
  arguments.emplace_back("--real-time");
  Program program(arguments);
  ASSERT_TRUE(program.wait_for_error_text(" requests, "));
  program.send(SIGKILL);
  program.wait();
  const auto result = run_program(files_.replay(on_redis_));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.json()["rows"], 60'000);
  EXPECT_EQ(result.json()["outcomes"]["accepted"], 300);
  EXPECT_EQ(result.json()["starts"], 2);
}

TEST_F(RedisProgramTest, RedisSaleIsNotTakenForOwnSale) {
  ASSERT_EQ(run_program(files_.replay(on_redis_)).exit_code, kExitOk);
  const auto result = run_program(files_.command("audit"));
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("is elsewhere: give its URL"));
}

TEST_F(RedisProgramTest, NewDirectoryDoesNotTakeOverSale) {
  ASSERT_EQ(run_program(files_.replay(on_redis_)).exit_code, kExitOk);
  const SaleFiles others;
  others.write_vouchers({400});
  others.write_requests(rush_of(10));
  const auto result = run_program(others.replay(on_redis_));
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("the keyspace belongs to another order database"));
  EXPECT_EQ(run_program(files_.command("audit", on_redis_)).json()["passed"], true);
}

TEST_F(RedisProgramTest, ForeignSaleIsSoldOnlyWhenAdopted) {
  const auto backend = RedisBackend::open(*RedisOptions::from_url(server_.url()));
  ASSERT_TRUE(backend.ok()) << backend.status();
  const auto client = (*backend)->open_client();
  (*client)("SET", "seckill:stock:1", 200);
  for (int user = 5'001; user <= 5'100; ++user) (*client)("SADD", "seckill:order:1", user);
  const auto foreign_stock = run_program(files_.replay(on_redis_));
  EXPECT_EQ(foreign_stock.exit_code, kExitUsage);
  EXPECT_THAT(foreign_stock.err, HasSubstr("200 are free and 100 have bought"));

  const SaleFiles others;
  others.write_vouchers({300});
  others.write_requests(rush_of(3'000));
  (*client)("DEL", "stream.orders", "stream.orders.database", "seckill:database");
  (*client)("XADD", "stream.orders", "*", "userId", 5'100, "voucherId", 1, "id", 42);
  const auto foreign_stream = run_program(others.replay(on_redis_));
  EXPECT_EQ(foreign_stream.exit_code, kExitUsage);
  EXPECT_THAT(foreign_stream.err, HasSubstr("was made by another system"));
  EXPECT_EQ((*client)("GET", "seckill:stock:1"), Reply::bulk("200"));

  auto adopting = others.replay(on_redis_);
  adopting.emplace_back("--adopt");
  const auto result = run_program(adopting);
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.json()["outcomes"]["accepted"], 200);
  EXPECT_EQ(run_program(others.command("audit", on_redis_)).json()["passed"], true);
  EXPECT_EQ(run_program(others.command("orders", on_redis_)).json().size(), 300U);
}

TEST_F(RedisProgramTest, NoTrimKeepsOrdersInStream) {
  const auto backend = RedisBackend::open(*RedisOptions::from_url(server_.url()));
  ASSERT_TRUE(backend.ok()) << backend.status();
  const auto client = (*backend)->open_client();
  auto arguments = files_.replay(on_redis_);
  arguments.emplace_back("--no-trim");
  ASSERT_EQ(run_program(arguments).exit_code, kExitOk);
  EXPECT_EQ((*client)("XLEN", "stream.orders"), Reply::integer(300));
  EXPECT_EQ(run_program(files_.command("audit", on_redis_)).json()["passed"], true);
}

TEST_F(RedisProgramTest, RebuildOfKilledProcessIsTakenOver) {
  files_.write_requests(rush_of(100));
  ASSERT_EQ(run_program(files_.replay(on_redis_)).exit_code, kExitOk);
  const auto backend = RedisBackend::open(*RedisOptions::from_url(server_.url()));
  ASSERT_TRUE(backend.ok()) << backend.status();
  const auto client = (*backend)->open_client();
  constexpr std::int64_t kAgoMs = 2'000;  // shorter than the real wait, which would slow the test
  (*client)("HSET", "seckill:voucher:1", "closed", "gone:1", "closed_run", "", "closed_at",
            SystemClock().now_ms() - kAgoMs);
  (*client)("DEL", "seckill:stock:1", "seckill:order:1");
  files_.write_requests(rush_of(3'000));
  const auto result = run_program(files_.replay(on_redis_));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.json()["outcomes"]["accepted"], 200);
  EXPECT_EQ(run_program(files_.command("audit", on_redis_)).json()["passed"], true);
}

TEST_F(RedisProgramTest, OwnSaleIsNotMovedToRedis) {
  ASSERT_EQ(run_program(files_.replay()).exit_code, kExitOk);
  const auto result = run_program(files_.command("audit", on_redis_));
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("has a keyspace of its own"));
}

TEST_F(RedisProgramTest, MissingServerCreatesNothing) {
  server_.kill();
  auto arguments = files_.replay(on_redis_);
  arguments.insert(arguments.end(), {"--patience", "0"});
  const auto result = run_program(arguments);
  EXPECT_EQ(result.exit_code, kExitFailure);
  EXPECT_FALSE(std::filesystem::exists(files_.sale()));
}

TEST_F(RedisProgramTest, StoredOrdersWithoutServerAreReadable) {
  ASSERT_EQ(run_program(files_.replay(on_redis_)).exit_code, kExitOk);
  server_.kill();
  const std::vector<std::string> away = {"--redis", server_.url(), "--patience", "0"};
  const auto run = [&](const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), away.begin(), away.end());
    auto result = run_program(files_.command(name, arguments));
    EXPECT_EQ(result.exit_code, kExitOk) << name << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("only stored orders are visible")) << name;
    return result;
  };
  EXPECT_EQ(run("orders", {"--json"}).json().size(), 300U);
  EXPECT_EQ(run("payments", {"--json"}).json().size(), 0U);
  EXPECT_EQ(run("export", {"--what", "orders", "--format", "json"}).json().size(), 300U);
}

TEST_F(RedisProgramTest, DeadServerEndsProgramWithInstructions) {
  files_.write_requests(rush_of(60'000));
  auto arguments = files_.replay(on_redis_);
  arguments.insert(arguments.end(), {"--real-time", "--patience", "0"});
  Program program(arguments);
  ASSERT_TRUE(program.wait_for_error_text(" 300 stored"));
  server_.kill();
  const auto result = program.wait();
  EXPECT_EQ(result.exit_code, kExitFailure);
  EXPECT_THAT(result.err, HasSubstr("run the same command to continue"));
  EXPECT_EQ(result.json()["created"], 300) << "stored is stored, proven or not";
  EXPECT_EQ(result.json()["audit"], nullptr);
}

/// A server that keeps its data over a restart.
class RestartedRedisTest : public RedisProgramTest {
 protected:
  /// Runs the program, and starts the server again when the program reports that it is away.
  ProgramResult run_over_restart(const std::vector<std::string>& arguments) {
    lasting_.kill();
    Program program(arguments);
    EXPECT_TRUE(program.wait_for_error_text("waiting: "));
    lasting_.restart();
    return program.wait();
  }

  testing::RedisServer lasting_{{.append_only = true}};
  const std::vector<std::string> on_lasting_ = {"--redis", lasting_.url(), "--json"};
};

TEST_F(RestartedRedisTest, ReplayOutlastsRestart) {
  files_.write_requests(rush_of(1'200));
  auto arguments = files_.replay(on_lasting_);
  arguments.emplace_back("--real-time");
  Program program(arguments);
  {
    const auto backend = RedisBackend::open(*RedisOptions::from_url(lasting_.url()));
    ASSERT_TRUE(backend.ok()) << backend.status();
    const auto client = (*backend)->open_client();
    while ((*client)("GET", "seckill:stock:1") != Reply::bulk("0"))
      ASSERT_FALSE(program.has_ended());
  }
  lasting_.kill();
  ASSERT_TRUE(program.wait_for_error_text("waiting: ")) << "no outage was seen";
  lasting_.restart();
  const auto result = program.wait();
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.json()["outcomes"]["accepted"], 300);
  EXPECT_EQ(result.json()["starts"], 1);
  EXPECT_EQ(result.json()["audit"]["passed"], true);
}

TEST_F(RestartedRedisTest, EveryCommandOutlastsRestart) {
  ASSERT_EQ(run_program(files_.replay(on_lasting_)).exit_code, kExitOk);
  const std::string order =
      run_program(files_.command("orders", on_lasting_)).json()[0]["order"].get<std::string>();
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"audit", {}},       {"orders", {}},
      {"status", {order}}, {"watch", {"--count", "1"}},
      {"use", {order}},    {"refund", {order, "--reason", "a test"}},
      {"payments", {}},    {"dead-letters", {"--retry"}},
      {"close", {"1"}},    {"archive", {"1"}}};
  for (auto [name, arguments] : commands) {
    arguments.insert(arguments.end(), on_lasting_.begin(), on_lasting_.end());
    const auto result = run_over_restart(files_.command(name, arguments));
    EXPECT_EQ(result.exit_code, kExitOk) << name << ": " << result.err;
  }
}

TEST_F(RedisProgramTest, DeadWorkersEntriesAreClaimedAtOnce) {
  {
    SaleArguments options;
    options.dir = files_.sale();
    options.create = true;
    options.keyspace_url = server_.url();
    const auto sale = open_sale(options);
    ASSERT_TRUE(sale.ok()) << sale.status();
    ASSERT_TRUE((*sale)
                    ->sale()
                    .publish({.id = 2, .title = "", .stock = 5, .begin_ms = 0, .end_ms = 1LL << 42})
                    .ok());
    for (std::int64_t user = 1; user <= 4; ++user) {
      EXPECT_EQ((*sale)->buy(2, user).outcome, Outcome::kAccepted);
    }
    Client& client = (*sale)->client();
    client("XGROUP", "CREATE", "stream.orders", "g1", "0");
    const std::string identity = client("HGET", SaleKeys{}.stream_owner(), "identity").text();
    for (const char* const dead : {"c2", "c3", "c4"}) {
      client("XREADGROUP", "GROUP", "g1", consumer_name(dead, identity), "COUNT", 1, "STREAMS",
             "stream.orders", ">");
    }
  }
  const auto result = run_program(files_.replay(on_redis_));
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(run_program(files_.command("orders", on_redis_)).json().size(), 304U);
}

TEST_F(RedisProgramTest, LoadingServerIsAwaited) {
  // A loading server replies only between intervals: here, after each key.
  constexpr std::size_t kIntervalBytes = 1'024;
  testing::RedisServer server(
      {.arguments = {"--key-load-delay", "50000", "--rdbcompression", "no",
                     "--loading-process-events-interval-bytes", std::to_string(kIntervalBytes)}});
  {
    const auto backend = RedisBackend::open(*RedisOptions::from_url(server.url()));
    ASSERT_TRUE(backend.ok()) << backend.status();
    const auto client = (*backend)->open_client();
    const std::string value(kIntervalBytes, 'x');
    for (int key = 0; key < 1'000; ++key) (*client)("SET", "key:" + std::to_string(key), value);
    ASSERT_EQ((*client)("SAVE"), Reply::ok());
  }
  server.restart_loading();
  Program program(files_.replay({"--redis", server.url(), "--json"}));
  ASSERT_TRUE(program.wait_for_error_text("waiting: "));
  testing::RawConnection(server.socket_path())
      .call(Request::of("CONFIG", "SET", "key-load-delay", 0));
  const auto result = program.wait();
  ASSERT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_EQ(result.json()["outcomes"]["accepted"], 300);
}

}  // namespace
}  // namespace rushgate
