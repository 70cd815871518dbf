// Fibers that wait for Redis do not block other fibers of their thread.
#include <memory>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/support/redis_server/raw_connection.h"
#include "tests/support/redis_server/redis_server.h"
#include <rushgate/fiber_wait.h>
#include <rushgate/redis_backend.h>

namespace rushgate {
namespace {

class FibersOnRedisTest : public ::testing::Test {
 protected:
  testing::RedisServer server_;
  const std::unique_ptr<RedisBackend> backend_ =
      RedisBackend::open(*RedisOptions::from_url(server_.url())).value();
  const std::unique_ptr<Client> client_ = backend_->open_client({.wait = &fiber_wait()});
};

TEST_F(FibersOnRedisTest, ThousandFibersLoseNoIncrement) {
  constexpr int kFibers = 1'000;
  const std::uint64_t writes_before = backend_->counters().writes;
  std::vector<boost::fibers::fiber> fibers;
  for (int f = 0; f < kFibers; ++f) {
    fibers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) (*client_)("INCR", "n");
    });
  }
  for (auto& fiber : fibers) fiber.join();
  EXPECT_EQ((*client_)("GET", "n"), Reply::bulk("20000"));
  // Requests are buffered: there are far fewer writes than requests.
  EXPECT_LT(backend_->counters().writes - writes_before, 20'000U / 4);
}

TEST_F(FibersOnRedisTest, OtherFibersRunWhileOneBlocks) {
  Reply read;
  boost::fibers::fiber reader([&] { read = (*client_)("BLPOP", "l", 0); });
  boost::fibers::fiber writer([&] { (*client_)("RPUSH", "l", "v"); });
  reader.join();
  writer.join();
  EXPECT_EQ(read, Reply::array({Reply::bulk("l"), Reply::bulk("v")}));
}

TEST_F(FibersOnRedisTest, PipelineRepliesInOrder) {
  const std::vector<Request> requests(300, Request::of("INCR", "n"));
  const std::vector<Reply> replies = client_->pipeline(requests);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i], Reply::integer(static_cast<std::int64_t>(i + 1)));
  }
}

TEST(FiberSyncTest, ReplicasHaveWritesOfFibers) {
  constexpr std::int64_t kPatientMs = 20'000;
  testing::RedisServer primary{{.listens_on_tcp = true}};
  testing::RedisServer replica;
  replica.replicate(primary);
  RedisOptions options = *RedisOptions::from_url(primary.url());
  options.sync_replicas = 1;
  options.sync_timeout_ms = kPatientMs;
  const auto backend = *RedisBackend::open(options);
  const auto client = backend->open_client({.wait = &fiber_wait()});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ((*client)("SET", "key", i), Reply::ok());
    ASSERT_EQ(client->sync(), Reply::ok());
    EXPECT_EQ(testing::RawConnection(replica.socket_path()).call(Request::of("GET", "key")),
              Reply::bulk(std::to_string(i)));
  }
}

}  // namespace
}  // namespace rushgate
