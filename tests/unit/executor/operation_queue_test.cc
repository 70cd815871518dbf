#include "engine/redis/executor/operation_queue.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/redis/executor/executor_errors.h"
#include "tests/unit/executor/executor_parts.h"

namespace rushgate {
namespace {

class OperationQueueTest : public ExecutorPartsTest {
 protected:
  static std::vector<Request> one_request() { return {Request::of("PING")}; }

  Operation* next() {
    Operation* none = nullptr;
    return queue_.next(none);
  }
};

TEST_F(OperationQueueTest, BegunOperationsPrecedeOwnAndQueuedOnes) {
  OwnOperation queued;
  OwnOperation own;
  OwnOperation resumed;
  OwnOperation unfinished;
  ASSERT_TRUE(queue_.push(queued));
  queue_.resume(resumed);
  queue_.put_back(unfinished);
  EXPECT_TRUE(queue_.has_begun());
  Operation* first = &own;
  EXPECT_EQ(queue_.next(first), &unfinished);
  EXPECT_EQ(queue_.next(first), &resumed);
  EXPECT_FALSE(queue_.has_begun());
  EXPECT_EQ(queue_.next(first), &own);
  EXPECT_EQ(first, nullptr);
  EXPECT_EQ(queue_.next(first), &queued);
  EXPECT_EQ(queue_.next(first), nullptr);
}

TEST_F(OperationQueueTest, FullQueueTakesNoMore) {
  OperationQueue queue(1, clock_, sender_);
  OwnOperation first;
  OwnOperation second;
  EXPECT_TRUE(queue.push(first));
  EXPECT_FALSE(queue.push(second));
  EXPECT_EQ(queue.pop(), &first);
  EXPECT_TRUE(queue.push(second));
}

TEST_F(OperationQueueTest, FreedCapacityWakesWaitingThread) {
  OwnOperation operation;
  ASSERT_TRUE(queue_.push(operation));
  const std::uint32_t before = queue_.times_freed();
  queue_.report_freed_capacity();
  EXPECT_EQ(queue_.times_freed(), before) << "nothing was removed";
  std::thread waiter([&] { queue_.wait_for_capacity(before, -1); });
  ASSERT_EQ(queue_.pop(), &operation);
  queue_.report_freed_capacity();
  waiter.join();
  EXPECT_NE(queue_.times_freed(), before);
}

TEST_F(OperationQueueTest, OperationIsRefusedAfterDeadline) {
  OwnOperation operation(one_request());
  operation.deadline_ms = clock_.monotonic_ms() + 10;
  ASSERT_TRUE(queue_.push(operation));
  clock_.advance_ms(10);
  EXPECT_EQ(next(), nullptr);
  ASSERT_TRUE(operation.state.is_replied());
  EXPECT_EQ(operation.replies[0], Reply::error(std::string(executor_errors::kTimedOutText)));
}

TEST_F(OperationQueueTest, AbandonedOperationIsDeleted) {
  const auto alive = std::make_shared<int>();
  auto operation = std::make_unique<Operation>();
  operation->deadline_ms = 10;
  operation->completion = [alive](Operation::Replies, int) {};
  ASSERT_TRUE(queue_.push(*operation));
  ASSERT_TRUE(operation->state.abandon());
  static_cast<void>(operation.release());
  EXPECT_EQ(next(), nullptr);
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(OperationQueueTest, ClosingRefusesAllQueuedOperations) {
  OwnOperation first(one_request());
  OwnOperation second(one_request());
  ASSERT_TRUE(queue_.push(first));
  ASSERT_TRUE(queue_.push(second));
  queue_.refuse_all(executor_errors::kClosedText);
  EXPECT_TRUE(queue_.empty());
  for (const OwnOperation* const operation : {&first, &second}) {
    ASSERT_TRUE(operation->state.is_replied());
    EXPECT_EQ(operation->replies[0], Reply::error(std::string(executor_errors::kClosedText)));
  }
}

}  // namespace
}  // namespace rushgate
