#include "engine/redis/executor/unblocker.h"

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "engine/redis/commands/dispatch.h"
#include "tests/unit/executor/executor_parts.h"

namespace rushgate {
namespace {

class UnblockerTest : public ExecutorPartsTest {
 protected:
  /// Runs a command outside of operations.
  void run(const Request& request) {
    Session session;
    CommandContext context(services_, session, request, CommandContext::Origin::kClient, false);
    ASSERT_FALSE(run_command(context).is_error());
  }
  /// Blocks the client of `operation` in BLPOP.
  void block(OwnOperation& operation, std::string key, std::int64_t timeout_ms = 0) {
    BlockRequest request{.keys = {key},
                         .timeout_ms = timeout_ms,
                         .retry = Request::of("BLPOP", key, 0),
                         .on_timeout = Reply::nil_array()};
    unblocker_.block(operation, std::move(request), clock_.monotonic_ms());
  }
  static std::vector<Request> one_request() { return {Request::of("BLPOP", "k", 0)}; }
};

TEST_F(UnblockerTest, SignalledKeyServesWaitersInOrder) {
  OwnOperation first(one_request());
  OwnOperation second(one_request());
  block(first, "k");
  block(second, "k");
  run(Request::of("RPUSH", "k", "a"));
  ASSERT_TRUE(unblocker_.has_signals());
  unblocker_.serve_signalled();
  EXPECT_EQ(first.replies.size(), 1U);
  EXPECT_FALSE(first.is_blocked);
  EXPECT_TRUE(second.is_blocked) << "the list is empty again";
  EXPECT_EQ(batch_operations_.pop(), &first) << "the reply waits for the commit";
}

TEST_F(UnblockerTest, KeyWithoutWaiterIsNotNoted) {
  run(Request::of("RPUSH", "k", "a"));
  EXPECT_FALSE(unblocker_.has_signals());
  OwnOperation operation(one_request());
  block(operation, "k");
  run(Request::of("RPUSH", "other", "a"));
  EXPECT_FALSE(unblocker_.has_signals());
}

TEST_F(UnblockerTest, TimeoutRepliesAndResumesRest) {
  OwnOperation operation({Request::of("BLPOP", "k", 0), Request::of("PING")});
  block(operation, "k", 10);
  EXPECT_EQ(unblocker_.next_timeout_ms(), clock_.monotonic_ms() + 10);
  unblocker_.time_out(clock_.monotonic_ms() + 9);
  EXPECT_TRUE(operation.is_blocked);
  unblocker_.time_out(clock_.monotonic_ms() + 10);
  ASSERT_EQ(operation.replies.size(), 1U);
  EXPECT_TRUE(operation.replies[0].is_nil());
  EXPECT_TRUE(queue_.has_begun()) << "PING is left";
  EXPECT_TRUE(unblocker_.empty());
}

TEST_F(UnblockerTest, UnblockedClientGetsGivenError) {
  OwnOperation operation(one_request());
  operation.own_session.id = 7;
  block(operation, "k");
  EXPECT_FALSE(unblocker_.unblock(8, std::nullopt));
  EXPECT_TRUE(unblocker_.is_blocked(7));
  EXPECT_TRUE(unblocker_.unblock(7, Reply::error("UNBLOCKED")));
  EXPECT_FALSE(unblocker_.is_blocked(7));
  ASSERT_EQ(operation.replies.size(), 1U);
  EXPECT_EQ(operation.replies[0], Reply::error("UNBLOCKED"));
}

TEST_F(UnblockerTest, RemovedOperationHasNoReply) {
  OwnOperation operation(one_request());
  block(operation, "k");
  EXPECT_EQ(unblocker_.remove_any(), &operation);
  EXPECT_TRUE(operation.replies.empty());
  EXPECT_EQ(unblocker_.remove_any(), nullptr);
}

}  // namespace
}  // namespace rushgate
