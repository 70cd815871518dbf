// Blocking and expiry in an engine that loaded its data from disk.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/engine.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

class ReopenedTest : public testing::Test {
 protected:
  ReopenedTest() { reopen(); }

  void reopen() {
    client_.reset();
    engine_.reset();
    auto store = RocksDbStore::open(directory_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    engine_ = open_engine({.manual_clock = &clock_}, {}, *std::move(store));
    client_ = engine_->open_client();
  }
  template <class... Args>
  std::string call(const Args&... args) {
    return to_debug_string((*client_)(args...));
  }
  /// Submits a request and stores its reply in `received` when it arrives.
  template <class... Args>
  void submit(std::optional<std::string>& received, const Args&... args) {
    client_->submit(Request::of(args...),
                    [&received](const Reply& reply) { received = to_debug_string(reply); });
  }

  const TemporaryDirectory directory_;
  ManualClock clock_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Client> client_;
};

TEST_F(ReopenedTest, ExistingEntryServesBlockingReadAtOnce) {
  call("RPUSH", "l", "a");
  call("ZADD", "z", 1, "m");
  call("XADD", "s", "1-1", "f", "v");
  call("XGROUP", "CREATE", "s", "g", 0);
  reopen();
  EXPECT_EQ(call("BLPOP", "l", 0), R"(["l", "a"])");
  EXPECT_EQ(call("BZPOPMIN", "z", 0), R"(["z", "m", "1"])");
  EXPECT_EQ(call("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">"),
            R"([["s", [["1-1", ["f", "v"]]]]])");
}

TEST_F(ReopenedTest, WaitersAreServedInArrivalOrder) {
  call("RPUSH", "l", "gone");
  call("LPOP", "l");
  reopen();
  std::optional<std::string> first;
  std::optional<std::string> second;
  submit(first, "BLPOP", "l", 0);
  submit(second, "BLMOVE", "l", "to", "LEFT", "RIGHT", 0);
  EXPECT_EQ(call("RPUSH", "l", "a", "b"), "(integer) 2");
  EXPECT_EQ(first, R"(["l", "a"])");
  EXPECT_EQ(second, R"("b")");
  reopen();
  EXPECT_EQ(call("LRANGE", "to", 0, -1), R"(["b"])");
  EXPECT_EQ(call("EXISTS", "l"), "(integer) 0");
}

TEST_F(ReopenedTest, BlockedGroupKeepsPositionAcrossReopen) {
  call("XADD", "s", "1-1", "f", "v");
  call("XGROUP", "CREATE", "s", "g", 0);
  call("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">");
  reopen();
  std::optional<std::string> read;
  submit(read, "XREADGROUP", "GROUP", "g", "c", "BLOCK", 100, "STREAMS", "s", ">");
  EXPECT_FALSE(read.has_value());
  call("XADD", "s", "2-1", "f", "w");
  EXPECT_EQ(read, R"([["s", [["2-1", ["f", "w"]]]]])");
  EXPECT_EQ(call("XACK", "s", "g", "1-1", "2-1"), "(integer) 2");
}

TEST_F(ReopenedTest, UnservedWaitEndsAtTimeout) {
  reopen();
  std::optional<std::string> read;
  submit(read, "XREAD", "BLOCK", 50, "STREAMS", "s", "$");
  engine_->advance_ms(49);
  EXPECT_FALSE(read.has_value());
  engine_->advance_ms(1);
  EXPECT_EQ(read, "(nil array)");
}

TEST_F(ReopenedTest, KeyExpiresOnTime) {
  call("SET", "k", "v", "PX", 1'000);
  call("RPUSH", "l", "a");
  call("PEXPIRE", "l", 500);
  engine_->advance_ms(400);
  reopen();
  EXPECT_EQ(call("PTTL", "k"), "(integer) 600");
  EXPECT_EQ(call("PTTL", "l"), "(integer) 100");
  engine_->advance_ms(100);
  EXPECT_EQ(call("DBSIZE"), "(integer) 1");
  engine_->advance_ms(499);
  EXPECT_EQ(call("GET", "k"), R"("v")");
  engine_->advance_ms(1);
  EXPECT_EQ(call("DBSIZE"), "(integer) 0");
}

}  // namespace
}  // namespace rushgate
