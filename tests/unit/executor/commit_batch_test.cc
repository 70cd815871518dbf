#include "engine/redis/executor/commit_batch.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/executor/executor_parts.h"

namespace rushgate {
namespace {

class CommitBatchTest : public ExecutorPartsTest {
 protected:
  /// Queues a read that blocks, with a completion, and runs it.
  void block_on(const std::string& key) {
    auto operation = std::make_unique<Operation>();
    operation->session = &reader_;
    operation->owned_requests.push_back(Request::of("BLPOP", key, 0));
    operation->requests = operation->owned_requests;
    operation->reserve_replies();
    operation->completion = [this](Operation::Replies replies, int) {
      reply_ = std::move(replies.front());
    };
    ASSERT_TRUE(queue_.push(*operation.release()));
    run_batch();
    ASSERT_EQ(unblocker_.count(), 1U);
  }

  Session reader_;
  Reply reply_ = Reply::error("no reply");
};

TEST_F(CommitBatchTest, OwnAndQueuedOperationsShareCommit) {
  OwnOperation own({Request::of("INCR", "n")});
  OwnOperation queued({Request::of("INCR", "n")});
  ASSERT_TRUE(queue_.push(queued));
  run_batch(&own);
  EXPECT_EQ(test_store_.commits, 1);
  ASSERT_TRUE(own.state.is_replied());
  ASSERT_TRUE(queued.state.is_replied());
  EXPECT_EQ(own.replies[0], Reply::integer(1));
  EXPECT_EQ(queued.replies[0], Reply::integer(2));
}

TEST_F(CommitBatchTest, LongPipelineContinuesInNextBatch) {
  OwnOperation own(std::vector<Request>(options_.batch_requests_max + 1, Request::of("INCR", "n")));
  run_batch(&own);
  EXPECT_EQ(own.replies.size(), options_.batch_requests_max);
  EXPECT_FALSE(own.state.is_replied());
  EXPECT_TRUE(queue_.has_begun());
  run_batch();
  EXPECT_TRUE(own.state.is_replied());
  EXPECT_EQ(test_store_.commits, 2);
}

TEST_F(CommitBatchTest, FailedCommitReplacesRepliesOfThisBatchAlone) {
  OwnOperation own(std::vector<Request>(options_.batch_requests_max + 1, Request::of("INCR", "n")));
  run_batch(&own);
  test_store_.failure = absl::InternalError("broken disk");
  run_batch();
  ASSERT_TRUE(own.state.is_replied());
  EXPECT_EQ(own.replies.front(), Reply::integer(1));
  EXPECT_TRUE(has_code(own.replies.back(), error_code::kOutcomeUnknown));
  EXPECT_TRUE(store_.has_failed());
  OwnOperation later({Request::of("INCR", "n"), Request::of("GET", "n")});
  run_batch(&later);
  EXPECT_TRUE(has_code(later.replies[0], "MISCONF"));
  EXPECT_EQ(later.replies[1], Reply::bulk(std::to_string(options_.batch_requests_max)));
}

TEST_F(CommitBatchTest, SaveSyncsOwnBatchAfterCommit) {
  clock_.advance_ms(5'000);
  OwnOperation own({Request::of("SET", "k", "v"), Request::of("SAVE"), Request::of("BGSAVE")});
  run_batch(&own);
  EXPECT_EQ(test_store_.commits, 1);
  EXPECT_EQ(test_store_.syncs, 1);
  EXPECT_EQ(own.replies[1], Reply::ok());
  EXPECT_EQ(services_.saved_ms, clock_.now_ms());
  OwnOperation later({Request::of("GET", "k")});
  run_batch(&later);
  EXPECT_EQ(test_store_.syncs, 1);
}

TEST_F(CommitBatchTest, FailedSaveStopsWriting) {
  OwnOperation own({Request::of("SAVE")});
  test_store_.failure = absl::InternalError("broken disk");
  run_batch(&own);
  EXPECT_TRUE(has_code(own.replies[0], error_code::kOutcomeUnknown));
  EXPECT_EQ(services_.saved_ms, 0);
  OwnOperation later({Request::of("SET", "k", "v"), Request::of("SAVE"), Request::of("GET", "k")});
  run_batch(&later);
  EXPECT_TRUE(has_code(later.replies[0], "MISCONF"));
  EXPECT_TRUE(has_code(later.replies[1], "MISCONF"));
  EXPECT_TRUE(later.replies[2].is_nil());
}

TEST_F(CommitBatchTest, BlockedReaderIsServedInBatchOfPush) {
  block_on("k");
  OwnOperation push({Request::of("RPUSH", "k", "a")});
  run_batch(&push);
  EXPECT_EQ(test_store_.commits, 1);
  service_.run_pending();
  EXPECT_EQ(reply_, Reply::array({Reply::bulk("k"), Reply::bulk("a")}));
}

TEST_F(CommitBatchTest, RefusedBlockedReaderGetsError) {
  block_on("k");
  batch_.refuse_blocked("CLOSED the engine is closed");
  service_.run_pending();
  EXPECT_EQ(reply_, Reply::error("CLOSED the engine is closed"));
  EXPECT_TRUE(unblocker_.empty());
}

TEST_F(CommitBatchTest, ExpiredKeysAreRemovedAtTheirTime) {
  OwnOperation own({Request::of("SET", "k", "v", "PX", 10)});
  run_batch(&own);
  EXPECT_EQ(due_work_.next_ms(), clock_.monotonic_ms() + 10);
  EXPECT_FALSE(due_work_.is_due());
  clock_.advance_ms(10);
  EXPECT_TRUE(due_work_.is_due());
  run_batch();
  EXPECT_FALSE(due_work_.is_planned());
  EXPECT_EQ(test_store_.commits, 2);
}

TEST_F(CommitBatchTest, ExpiredKeysStayUntilRemovalIsAllowed) {
  services_.settings.removes_expired = false;
  OwnOperation own({Request::of("SET", "k", "v", "PX", 10)});
  run_batch(&own);
  clock_.advance_ms(1'000);
  run_batch();
  EXPECT_EQ(keyspace_.db(0).size(), 1U);
  services_.settings.removes_expired = true;
  clock_.advance_ms(1'000);
  EXPECT_TRUE(due_work_.is_due());
  run_batch();
  EXPECT_EQ(keyspace_.db(0).size(), 0U);
}

}  // namespace
}  // namespace rushgate
