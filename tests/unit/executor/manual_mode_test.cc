// Manual mode: one thread, a manual clock, the same result every time.
#include <memory>
#include <stdexcept>

#include <gmock/gmock.h>

#include "engine/redis/executor/served_session.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/reply.h>

namespace rushgate {
namespace {

using ManualModeTest = ManualEngineTest;

TEST_F(ManualModeTest, KeysExpireWhenClockMoves) {
  (*client_)("SET", "k", "v", "PX", 1'000);
  engine_->advance_ms(999);
  EXPECT_EQ((*client_)("PTTL", "k"), Reply::integer(1));
  engine_->advance_ms(1);
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(0));
}

TEST_F(ManualModeTest, FieldsExpireWhenClockMoves) {
  (*client_)("HSETEX", "h", "PX", 1'000, "FIELDS", 2, "a", 1, "b", 2);
  (*client_)("HPEXPIRE", "h", 500, "FIELDS", 1, "a");
  engine_->advance_ms(500);
  EXPECT_EQ(to_debug_string((*client_)("HPTTL", "h", "FIELDS", 2, "a", "b")),
            "[(integer) -2, (integer) 500]");
  engine_->advance_ms(499);
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(1));
  engine_->advance_ms(1);
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(0));
}

TEST_F(ManualModeTest, ManyFieldsExpireAtOnce) {
  constexpr int kHashes = 400;  // more than one batch removes
  for (int i = 0; i < kHashes; ++i) (*client_)("HSETEX", i, "PX", 10, "FIELDS", 1, "a", 1);
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(kHashes));
  engine_->advance_ms(10);
  EXPECT_EQ((*client_)("DBSIZE"), Reply::integer(0));
}

TEST_F(ManualModeTest, TimersFireInOrderAtTheirTimes) {
  std::vector<std::pair<int, std::int64_t>> fired;
  const std::int64_t start_ms = clock_.monotonic_ms();
  Scheduler& scheduler = engine_->scheduler();
  scheduler.at(start_ms + 30, [&] { fired.emplace_back(3, clock_.monotonic_ms() - start_ms); });
  scheduler.at(start_ms + 10, [&] {
    fired.emplace_back(1, clock_.monotonic_ms() - start_ms);
    scheduler.at(start_ms + 20, [&] { fired.emplace_back(2, clock_.monotonic_ms() - start_ms); });
  });
  const auto cancelled = scheduler.at(start_ms + 15, [&] { fired.emplace_back(0, 0); });
  EXPECT_TRUE(scheduler.cancel(cancelled));
  EXPECT_FALSE(scheduler.cancel(cancelled));
  engine_->advance_ms(100);
  EXPECT_EQ(fired, (std::vector<std::pair<int, std::int64_t>>{{1, 10}, {2, 20}, {3, 30}}));
}

TEST_F(ManualModeTest, BlockedReadIsServedByAddition) {
  Reply read;
  client_->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"),
                  [&](Reply reply) { read = std::move(reply); });
  EXPECT_TRUE(read.is_nil());
  (*client_)("XADD", "s", "1-1", "f", "v");
  EXPECT_EQ(to_debug_string(read), R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST_F(ManualModeTest, BlockedReadTimesOutWithClock) {
  std::optional<Reply> read;
  client_->submit(Request::of("XREAD", "BLOCK", 50, "STREAMS", "s", "$"),
                  [&](Reply reply) { read = std::move(reply); });
  engine_->advance_ms(49);
  EXPECT_FALSE(read.has_value());
  engine_->advance_ms(1);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kind(), Reply::Kind::kNilArray);
}

TEST_F(ManualModeTest, PausedWriteRunsAtEndOfPause) {
  EXPECT_EQ((*client_)("CLIENT", "PAUSE", 50, "WRITE"), Reply::ok());
  std::optional<Reply> written;
  client_->submit(Request::of("SET", "k", "v"), [&](Reply reply) { written = std::move(reply); });
  engine_->advance_ms(49);
  EXPECT_FALSE(written.has_value());
  engine_->advance_ms(1);
  EXPECT_EQ(written, Reply::ok());
}

TEST_F(ManualModeTest, PausedCallIsRefused) {
  EXPECT_EQ((*client_)("CLIENT", "PAUSE", 50, "WRITE"), Reply::ok());
  EXPECT_TRUE((*client_)("SET", "k", "v").text().starts_with("PAUSED "));
  EXPECT_TRUE((*client_)("GET", "k").is_nil());
  EXPECT_EQ((*client_)("CLIENT", "UNPAUSE"), Reply::ok());
  EXPECT_EQ((*client_)("SET", "k", "v"), Reply::ok());
}

TEST_F(ManualModeTest, PauseEndsWithItsClientOrEngine) {
  EXPECT_EQ((*client_)("CLIENT", "PAUSE", 50, "ALL"), Reply::ok());
  std::vector<Reply> replies;
  const auto note = [&](Reply reply) { replies.push_back(std::move(reply)); };
  std::unique_ptr<Client> other = engine_->open_client();
  other->submit(Request::of("PING"), note);
  other = nullptr;
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_TRUE(replies[0].is_error());
  client_->submit(Request::of("PING"), note);
  client_ = nullptr;
  engine_ = nullptr;
  EXPECT_EQ(replies.size(), 2U);
}

TEST_F(ManualModeTest, UnblockedReadRepliesAsTimedOut) {
  std::vector<Reply> reads;
  for (int i = 0; i < 2; ++i) {
    client_->submit(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"),
                    [&](Reply reply) { reads.push_back(std::move(reply)); });
  }
  engine_->open_client()->unblock();  // of another client
  EXPECT_TRUE(reads.empty());
  client_->unblock();
  EXPECT_EQ(reads, (std::vector<Reply>{Reply::nil_array(), Reply::nil_array()}));
  client_->unblock();  // nothing is blocked any more
}

TEST_F(ManualModeTest, DestroyedClientTakesNoElement) {
  (*client_)("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM");
  auto gone = engine_->open_client();
  std::optional<Reply> read;
  gone->submit(Request::of("XREADGROUP", "GROUP", "g", "gone", "BLOCK", 0, "STREAMS", "s", ">"),
               [&](Reply reply) { read = std::move(reply); });
  EXPECT_FALSE(read.has_value());
  gone.reset();
  EXPECT_EQ(read, Reply::nil_array());
  (*client_)("XADD", "s", "1-1", "f", "v");
  EXPECT_EQ(to_debug_string((*client_)("XPENDING", "s", "g")),
            "[(integer) 0, (nil), (nil), (nil array)]");
}

TEST_F(ManualModeTest, BlockedGroupReadersAreServedInOrder) {
  (*client_)("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM");
  std::vector<std::string> served;
  for (const char* consumer : {"first", "second"}) {
    client_->submit(Request::of("XREADGROUP", "GROUP", "g", consumer, "COUNT", 1, "BLOCK", 0,
                                "STREAMS", "s", ">"),
                    [&, consumer](Reply) { served.emplace_back(consumer); });
  }
  (*client_)("XADD", "s", "*", "f", "1");
  EXPECT_EQ(served, (std::vector<std::string>{"first"}));
  (*client_)("XADD", "s", "*", "f", "2");
  EXPECT_EQ(served, (std::vector<std::string>{"first", "second"}));
}

TEST_F(ManualModeTest, BlockingCallOnOnlyThreadTimesOut) {
  EXPECT_TRUE((*client_)("XREAD", "BLOCK", 0, "STREAMS", "s", "0").is_nil());
}

TEST_F(ManualModeTest, CompletionMayCallClient) {
  Reply inner;
  client_->submit(Request::of("SET", "k", "v"), [&](Reply) { inner = (*client_)("GET", "k"); });
  EXPECT_EQ(inner, Reply::bulk("v"));
}

TEST_F(ManualModeTest, TimeStandsStillBetweenMoves) {
  EXPECT_EQ((*client_)("TIME"), (*client_)("TIME"));
  const StreamId first = *StreamId::parse((*client_)("XADD", "s", "*", "f", "v").text());
  EXPECT_EQ(first, (StreamId{static_cast<std::uint64_t>(ManualClock::kStartMs), 0}));
}

TEST_F(ManualModeTest, AutomaticIdsAscendDespiteClockJump) {
  const StreamId first = *StreamId::parse((*client_)("XADD", "s", "*", "f", "v").text());
  clock_.set_now_ms(ManualClock::kStartMs - 60'000);
  const StreamId second = *StreamId::parse((*client_)("XADD", "s", "*", "f", "v").text());
  EXPECT_LT(first, second);
}

TEST(ManualModeSeedTest, SameSeedGivesSameIterationOrder) {
  const auto members = [](std::uint64_t seed) {
    ManualClock clock;
    const auto engine = open_engine({.manual_clock = &clock, .seed = seed});
    const auto client = engine->open_client();
    for (int i = 0; i < 5'000; ++i) (*client)("SADD", "s", "member " + std::to_string(i * 7));
    return (*client)("SMEMBERS", "s");
  };
  EXPECT_EQ(members(5), members(5));
  EXPECT_NE(members(5), members(6));
}

TEST_F(ManualModeTest, ClientsOfProcessAreNotKilled) {
  const Reply id = (*client_)("CLIENT", "ID");
  EXPECT_EQ((*client_)("CLIENT", "KILL", "ID", id.integer(), "SKIPME", "no"), Reply::integer(0));
  EXPECT_EQ((*client_)("CLIENT", "KILL", ""), Reply::error("ERR No such client"));
  EXPECT_EQ((*client_)("PING"), Reply::status("PONG"));
}

TEST_F(ManualModeTest, ConfigAndInfoReportServerSettings) {
  const auto engine = open_engine({.manual_clock = &clock_});
  ServedSession::set_server(
      *engine, {.port = 7000, .clients_max = 12, .idle_timeout_s = 50, .tcp_keepalive_s = 60});
  const auto client = engine->open_client();
  EXPECT_EQ(to_debug_string((*client)("CONFIG", "GET", "port")), R"(["port", "7000"])");
  EXPECT_EQ(to_debug_string((*client)("CONFIG", "GET", "maxclients")), R"(["maxclients", "12"])");
  EXPECT_EQ(to_debug_string((*client)("CONFIG", "GET", "timeout")), R"(["timeout", "50"])");
  EXPECT_EQ(to_debug_string((*client)("CONFIG", "GET", "tcp-keepalive")),
            R"(["tcp-keepalive", "60"])");
  const std::string info = (*client)("INFO").text();
  EXPECT_THAT(info, ::testing::HasSubstr("\ntcp_port:7000\r"));
  EXPECT_THAT(info, ::testing::HasSubstr("\nmaxclients:12\r"));
}

TEST_F(ManualModeTest, ClientMayOutliveEngineAndClock) {
  std::unique_ptr<Client> client;
  std::unique_ptr<Client> patient;
  {
    auto clock = std::make_unique<ManualClock>();
    const auto engine = open_engine({.manual_clock = clock.get()});
    client = engine->open_client();
    patient = engine->open_client({.queue_timeout_ms = 5});
    engine->scheduler().at(clock->monotonic_ms() + 5, [] { FAIL() << "the engine is gone"; });
    engine->close();
    clock.reset();
  }
  for (Client* const late : {client.get(), patient.get()}) {
    EXPECT_EQ((*late)("PING").error_code(), error_code::kClosed);
    EXPECT_EQ(late->sync().error_code(), error_code::kClosed);
    Reply submitted;
    late->submit(Request::of("PING"), [&](Reply reply) { submitted = std::move(reply); });
    EXPECT_EQ(submitted.error_code(), error_code::kClosed);
  }
}

TEST_F(ManualModeTest, ClockGoesNeitherBackNorPastEnd) {
  engine_->advance_ms(0);
  EXPECT_THROW(engine_->advance_ms(-1), std::invalid_argument);
  EXPECT_THROW(engine_->advance_ms(Engine::kLastMs - clock_.now_ms() + 1), std::invalid_argument);
  engine_->advance_ms(Engine::kLastMs - clock_.now_ms());
  EXPECT_EQ(clock_.now_ms(), Engine::kLastMs);
  EXPECT_THROW(engine_->advance_ms(1), std::invalid_argument);
  EXPECT_THROW(open_engine()->advance_ms(1), std::logic_error);
}

TEST_F(ManualModeTest, InvalidClockIsRefused) {
  for (const std::int64_t now_ms : {std::int64_t{-1}, Engine::kLastMs + 1}) {
    ManualClock clock(now_ms);
    const auto engine = Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock});
    EXPECT_TRUE(absl::IsInvalidArgument(engine.status())) << engine.status();
  }
}

}  // namespace
}  // namespace rushgate
