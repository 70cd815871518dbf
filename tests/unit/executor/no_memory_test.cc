// Results for clients when memory runs out: an error for the request, and an engine that continues.
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/faults/failing_allocator.h"
#include "tests/unit/executor/engine_fixture.h"

namespace rushgate {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kLargeBytes = 100'000'000;
const Reply kNoMemory = Reply::error("OOM no memory");

/// Returns a request that fails for lack of memory while LargeAllocationsFail lives.
Request large(std::string_view key) { return Request::of("SETRANGE", key, 2 * kLargeBytes, "x"); }

class NoMemoryTest : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> engine_ = open_engine();
  std::unique_ptr<Client> client_ = engine_->open_client();
};

TEST_F(NoMemoryTest, CallersRequestGetsErrorAndTurnIsFree) {
  {
    const LargeAllocationsFail failing(kLargeBytes);
    EXPECT_EQ(client_->call(large("k")), kNoMemory);
  }
  EXPECT_EQ((*client_)("PING"), Reply::status("PONG"));
  EXPECT_EQ((*client_)("EXISTS", "k"), Reply::integer(0));
  EXPECT_TRUE(engine_->health().ok());
}

TEST_F(NoMemoryTest, ServiceThreadSurvives) {
  const auto submit = [this](Request request) {
    std::promise<Reply> reply;
    client_->submit(std::move(request), [&](Reply given) { reply.set_value(std::move(given)); });
    return reply.get_future().get();
  };
  {
    const LargeAllocationsFail failing(kLargeBytes);
    EXPECT_EQ(submit(large("k")), kNoMemory);
  }
  EXPECT_EQ(submit(Request::of("PING")), Reply::status("PONG"));
}

TEST_F(NoMemoryTest, OtherRequestsOfBatchTakeEffect) {
  const std::vector<Request> requests{Request::of("SET", "a", 1), large("a"), large("k"),
                                      Request::of("SET", "b", 2),
                                      Request::of("MGET", "a", "b", "k")};
  const LargeAllocationsFail failing(kLargeBytes);
  EXPECT_THAT(client_->pipeline(requests),
              ElementsAre(Reply::ok(), kNoMemory, kNoMemory, Reply::ok(),
                          Reply::array({Reply::bulk("1"), Reply::bulk("2"), Reply::nil()})));
}

TEST_F(NoMemoryTest, ScriptIsRolledBack) {
  const LargeAllocationsFail failing(kLargeBytes);
  EXPECT_EQ((*client_)("EVAL",
                       "redis.call('SET', 'a', 1)"
                       "return redis.call('SETRANGE', 'k', ARGV[1], 'x')",
                       0, 2 * kLargeBytes),
            kNoMemory);
  EXPECT_EQ((*client_)("EXISTS", "a", "k"), Reply::integer(0));
  EXPECT_EQ((*client_)("EVAL", "return 1", 0), Reply::integer(1));
}

TEST_F(NoMemoryTest, TransactionIsRolledBackAndEnds) {
  const LargeAllocationsFail failing(kLargeBytes);
  (*client_)("MULTI");
  (*client_)("SET", "a", 1);
  client_->call(large("k"));
  EXPECT_EQ((*client_)("EXEC"), kNoMemory);
  EXPECT_EQ((*client_)("EXISTS", "a", "k"), Reply::integer(0)) << "the commands were not queued";
}

TEST_F(NoMemoryTest, TransactionThatLacksCommandIsRefused) {
  constexpr std::size_t kBytes = 1'000'000;
  Request set = Request::of("SET", "k", std::string(2 * kBytes, 'x'));
  (*client_)("MULTI");
  {
    const LargeAllocationsFail failing(kBytes);
    EXPECT_EQ(client_->call(std::move(set)), kNoMemory);
  }
  EXPECT_TRUE(has_code((*client_)("EXEC"), "EXECABORT"));
}

TEST_F(NoMemoryTest, CallbackThatThrowsEndsAlone) {
  client_->submit(Request::of("PING"), [](const Reply&) { throw std::runtime_error("mine"); });
  std::promise<Reply> reply;
  client_->submit(Request::of("PING"), [&](Reply given) { reply.set_value(std::move(given)); });
  EXPECT_EQ(reply.get_future().get(), Reply::status("PONG"));
}

}  // namespace
}  // namespace rushgate
