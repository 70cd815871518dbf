// XREADGROUP with BLOCK and CLAIM: a pending entry that becomes idle for long enough serves a blocked
// client.
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/unit/executor/engine_fixture.h"

namespace rushgate {
namespace {

class ClaimWaitsTest : public ManualEngineTest {
 protected:
  /// Creates a stream with a group, whose consumer "one" has the entry 1-0.
  ClaimWaitsTest() { create("s"); }

  void create(std::string_view key) {
    call("XGROUP", "CREATE", key, "g", 0, "MKSTREAM");
    deliver(key, "1-0");
  }
  /// Adds an entry and delivers it to the consumer "one".
  void deliver(std::string_view key, std::string_view id) {
    call("XADD", key, id, "f", "v");
    call("XREADGROUP", "GROUP", "g", "one", "STREAMS", key, ">");
  }
  template <class... Args>
  std::string call(Args... args) {
    return to_debug_string((*client_)(args...));
  }
  /// A request of another client. `reply` is empty while it waits.
  struct Wait {
    std::unique_ptr<Client> client;
    std::string reply;
  };
  template <class... Args>
  Wait& wait(Args... args) {
    Wait& wait = waits_.emplace_back();
    wait.client = engine_->open_client();
    wait.client->submit(Request::of(args...),
                        [&wait](const Reply& reply) { wait.reply = to_debug_string(reply); });
    return wait;
  }
  Wait& wait_for_claim(std::int64_t idle_ms, std::string_view consumer = "two",
                       std::int64_t timeout_ms = 0) {
    return wait("XREADGROUP", "GROUP", "g", consumer, "BLOCK", timeout_ms, "CLAIM", idle_ms,
                "STREAMS", "s", ">");
  }
  static std::string claimed(std::string_view id, std::int64_t idle_ms, int deliveries = 1,
                             std::string_view key = "s") {
    return "[[\"" + std::string(key) + "\", [[\"" + std::string(id) +
           "\", [\"f\", \"v\"], (integer) " + std::to_string(idle_ms) + ", (integer) " +
           std::to_string(deliveries) + "]]]]";
  }

  std::deque<Wait> waits_;
};

TEST_F(ClaimWaitsTest, IdleEntryServesBlockedClient) {
  engine_->advance_ms(10);
  const Wait& waiting = wait_for_claim(100);
  engine_->advance_ms(89);
  EXPECT_EQ(waiting.reply, "");
  engine_->advance_ms(1);
  EXPECT_EQ(waiting.reply, claimed("1-0", 100));
  EXPECT_EQ(call("XPENDING", "s", "g", "-", "+", 10),
            R"([["1-0", "two", (integer) 0, (integer) 2]])");
}

TEST_F(ClaimWaitsTest, FurtherClientWaitsForNextIdleTime) {
  const Wait& first = wait_for_claim(100, "two");
  const Wait& second = wait_for_claim(100, "three");
  engine_->advance_ms(100);
  EXPECT_EQ(first.reply, claimed("1-0", 100));
  engine_->advance_ms(99);
  EXPECT_EQ(second.reply, "");
  engine_->advance_ms(1);
  EXPECT_EQ(second.reply, claimed("1-0", 100, 2));
}

TEST_F(ClaimWaitsTest, LaterDeliveryDelaysClaim) {
  const Wait& waiting = wait_for_claim(100);
  engine_->advance_ms(60);
  call("XCLAIM", "s", "g", "three", 0, "1-0");
  engine_->advance_ms(99);
  EXPECT_EQ(waiting.reply, "");
  engine_->advance_ms(1);
  EXPECT_EQ(waiting.reply, claimed("1-0", 100, 2));
}

TEST_F(ClaimWaitsTest, EarlierDeliveryServesAtOnce) {
  const Wait& waiting = wait_for_claim(100);
  call("XCLAIM", "s", "g", "three", 0, "1-0", "IDLE", 500, "JUSTID");
  EXPECT_EQ(waiting.reply, claimed("1-0", 500));
}

TEST_F(ClaimWaitsTest, ForcedClaimIsAwaited) {
  call("XACK", "s", "g", "1-0");
  const Wait& waiting = wait_for_claim(100);
  engine_->advance_ms(1'000);
  call("XCLAIM", "s", "g", "three", 0, "1-0", "FORCE");
  engine_->advance_ms(100);
  EXPECT_EQ(waiting.reply, claimed("1-0", 100, 2));
}

TEST_F(ClaimWaitsTest, DeletedEntryServesNothingAndIsForgotten) {
  call("XADD", "s", "2-0", "f", "v");
  call("XDEL", "s", "1-0", "2-0");
  const Wait& waiting = wait_for_claim(100);
  engine_->advance_ms(1'000);
  EXPECT_EQ(waiting.reply, "");
  EXPECT_EQ(call("XPENDING", "s", "g", "-", "+", 10), "[]");
  call("XADD", "s", "3-0", "f", "v");
  EXPECT_EQ(waiting.reply, claimed("3-0", 0, 0));
}

TEST_F(ClaimWaitsTest, AcknowledgedEntryServesNothing) {
  const Wait& waiting = wait_for_claim(100, "two", 150);
  call("XACK", "s", "g", "1-0");
  engine_->advance_ms(149);
  EXPECT_EQ(waiting.reply, "");
  engine_->advance_ms(1);
  EXPECT_EQ(waiting.reply, "(nil array)");
}

TEST_F(ClaimWaitsTest, ClaimPrecedesTimeoutOfSameTime) {
  const Wait& waiting = wait_for_claim(100, "two", 100);
  engine_->advance_ms(100);
  EXPECT_EQ(waiting.reply, claimed("1-0", 100));
}

TEST_F(ClaimWaitsTest, NewEntryServesBeforeIdleTime) {
  const Wait& waiting = wait_for_claim(100);
  engine_->advance_ms(50);
  call("XADD", "s", "2-0", "f", "v");
  EXPECT_EQ(waiting.reply, claimed("2-0", 0, 0));
}

TEST_F(ClaimWaitsTest, EntryDeliveredMeanwhileIsAwaited) {
  call("XACK", "s", "g", "1-0");
  const Wait& waiting = wait_for_claim(100);
  call("EVAL",
       "redis.call('XADD', KEYS[1], '2-0', 'f', 'v')"
       "redis.call('XREADGROUP', 'GROUP', 'g', 'one', 'STREAMS', KEYS[1], '>')",
       1, "s");
  EXPECT_EQ(waiting.reply, "");
  engine_->advance_ms(100);
  EXPECT_EQ(waiting.reply, claimed("2-0", 100));
}

TEST_F(ClaimWaitsTest, EachStreamHasItsTime) {
  engine_->advance_ms(30);
  create("t");
  const auto wait_for_both = [this](std::string_view consumer) -> const Wait& {
    return wait("XREADGROUP", "GROUP", "g", consumer, "BLOCK", 0, "CLAIM", 100, "STREAMS", "s", "t",
                ">", ">");
  };
  const Wait& first = wait_for_both("two");
  const Wait& second = wait_for_both("three");
  engine_->advance_ms(70);
  EXPECT_EQ(first.reply, claimed("1-0", 100, 1, "s"));
  engine_->advance_ms(30);
  EXPECT_EQ(second.reply, claimed("1-0", 100, 1, "t"));
}

TEST_F(ClaimWaitsTest, PauseDelaysClaim) {
  const Wait& waiting = wait_for_claim(100);
  call("CLIENT", "PAUSE", 500, "WRITE");
  engine_->advance_ms(499);
  EXPECT_EQ(waiting.reply, "");
  engine_->advance_ms(1);
  EXPECT_EQ(waiting.reply, claimed("1-0", 500));
}

TEST_F(ClaimWaitsTest, DistantIdleTimeNeverComes) {
  const Wait& waiting = wait_for_claim(std::numeric_limits<std::int64_t>::max(), "two", 1'000);
  engine_->advance_ms(1'000);
  EXPECT_EQ(waiting.reply, "(nil array)");
}

}  // namespace
}  // namespace rushgate
