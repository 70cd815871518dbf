// The turn to change vouchers, by itself.
#include "engine/sale/vouchers/change_turn.h"

#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "engine/core/client/thread_wait.h"
#include <rushgate/fiber_wait.h>

namespace rushgate {
namespace {

constexpr std::chrono::minutes kLong{1};

/// Sleeps as thread_wait() does, and counts a latch down once a caller is about to.
class AnnouncedWait final : public WaitMethod {
 public:
  explicit AnnouncedWait(std::latch& waits) : waits_(waits) {}
  void wait(absl::FunctionRef<void(Event&)> begin) const override {
    thread_wait().wait([&](Event& event) {
      begin(event);
      waits_.count_down();
    });
  }
  [[nodiscard]] std::uint64_t caller_number() const override {
    return thread_wait().caller_number();
  }

 private:
  std::latch& waits_;
};

TEST(ChangeTurnTest, TakenTurnIsTakenOnce) {
  ChangeTurn turn(nullptr);
  EXPECT_TRUE(turn.try_take());
  EXPECT_FALSE(turn.try_take());
  turn.give_back();
  EXPECT_TRUE(turn.take(kLong));
}

TEST(ChangeTurnTest, WaitingThreadGetsTurnGivenBack) {
  std::latch waits(1);
  const AnnouncedWait wait(waits);
  ChangeTurn turn(&wait);
  ASSERT_TRUE(turn.try_take());
  bool is_taken = false;
  std::thread waiting([&] { is_taken = turn.take(kLong); });
  waits.wait();
  turn.give_back();
  EXPECT_FALSE(turn.try_take()) << "it was handed to the thread";
  waiting.join();
  EXPECT_TRUE(is_taken);
}

/// No clock of a backend moves here.
TEST(ChangeTurnTest, WaitingFiberLetsHolderGoOn) {
  ChangeTurn turn(&fiber_wait());
  ASSERT_TRUE(turn.try_take());
  bool is_taken = false;
  boost::fibers::fiber waiting(boost::fibers::launch::dispatch,
                               [&] { is_taken = turn.take(kLong); });
  EXPECT_FALSE(is_taken);
  turn.give_back();
  waiting.join();
  EXPECT_TRUE(is_taken);
}

TEST(ChangeTurnTest, HolderWaitingForCallerKeepsTurn) {
  ChangeTurn turn(nullptr);
  ASSERT_TRUE(turn.try_take());
  EXPECT_FALSE(turn.take(std::chrono::milliseconds(1)));
  EXPECT_FALSE(turn.take(std::chrono::milliseconds(0)));
  turn.give_back();
  EXPECT_TRUE(turn.try_take()) << "it was handed to nobody who had given up";
}

TEST(ChangeTurnTest, ManyThreadsTakeTurns) {
  ChangeTurn turn(nullptr);
  constexpr int kTurns = 50;
  int taken = 0;  // guarded by the turn
  const auto take_turns = [&] {
    for (int i = 0; i < kTurns; ++i) {
      VoucherChange change(turn);
      ASSERT_TRUE(change.wait(kLong));
      ++taken;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(take_turns);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 4 * kTurns);
}

}  // namespace
}  // namespace rushgate
