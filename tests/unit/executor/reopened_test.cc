// Blocking and expiry in an engine that loaded its data from disk.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "engine/core/base/concat.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/rocksdb_store.h>

namespace rushgate {
namespace {

class ReopenedTest : public ::testing::Test {
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
  std::string call(Args... args) {
    return to_debug_string((*client_)(args...));
  }
  /// Submits a request and stores its reply in `received` when it arrives.
  template <class... Args>
  void submit(std::optional<std::string>& received, Args... args) {
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

TEST_F(ReopenedTest, IdleTimesBeginAtOpening) {
  call("SET", "old", "v");
  engine_->advance_ms(100'000);
  EXPECT_EQ(call("OBJECT", "IDLETIME", "old"), "(integer) 100");
  reopen();
  engine_->advance_ms(5'000);
  EXPECT_EQ(call("OBJECT", "IDLETIME", "old"), "(integer) 5");
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

constexpr const char* kLibrary =
    "#!lua name=shop\nredis.register_function('buy', function(keys) return redis.call('INCR', "
    "keys[1]) "
    "end)";

TEST_F(ReopenedTest, LibrariesSurviveReopen) {
  EXPECT_EQ(call("FUNCTION", "LOAD", kLibrary), "\"shop\"");
  EXPECT_EQ(call("FCALL", "buy", 1, "n"), "(integer) 1");
  reopen();
  EXPECT_EQ(call("FCALL", "buy", 1, "n"), "(integer) 2");
  EXPECT_EQ((*client_)("FUNCTION", "LIST", "WITHCODE").elements()[0].elements()[7],
            Reply::bulk(kLibrary));
  EXPECT_EQ(call("FUNCTION", "LOAD", "REPLACE",
                 "#!lua name=shop\nredis.register_function('sell', function() return 2 end)"),
            "\"shop\"");
  reopen();
  EXPECT_EQ(call("FCALL", "sell", 0), "(integer) 2");
  EXPECT_EQ(call("FCALL", "buy", 1, "n"), "(error) ERR Function not found");
}

TEST_F(ReopenedTest, RemovedLibrariesStayRemoved) {
  call("FUNCTION", "LOAD", kLibrary);
  call("FUNCTION", "LOAD", "#!lua name=other\nredis.register_function('f', function() end)");
  EXPECT_EQ(call("FUNCTION", "DELETE", "other"), "OK");
  EXPECT_EQ(call("FLUSHALL"), "OK");
  reopen();
  EXPECT_EQ(call("FUNCTION", "LIST", "LIBRARYNAME", "other"), "[]");
  EXPECT_EQ(call("FCALL", "buy", 1, "n"), "(integer) 1");
  for (int i = 0; i < 100; ++i) {
    call("FUNCTION", "LOAD",
         concat("#!lua name=l", i, "\nredis.register_function('f", i, "', function() end)"));
  }
  reopen();
  EXPECT_EQ((*client_)("FUNCTION", "LIST").elements().size(), 101U);
  EXPECT_EQ(call("FUNCTION", "FLUSH"), "OK");
  reopen();
  EXPECT_EQ(call("FUNCTION", "LIST"), "[]");
  EXPECT_EQ(call("EXISTS", "n"), "(integer) 1");
}

TEST(ReopenedLibrariesTest, BrokenLibraryIsDataLoss) {
  const auto open_with = [](std::string_view name, std::string_view code) {
    auto store = std::make_unique<MemoryStore>(MemoryStoreOptions{.keep_state = true});
    StoreBatch batch;
    batch.put("\x09" + std::string(name), code);
    EXPECT_TRUE(store->commit(batch).ok());
    return Engine::open(std::move(store)).status();
  };
  EXPECT_TRUE(open_with("shop", kLibrary).ok());
  EXPECT_EQ(open_with("shop", "#!lua name=shop\nx y"),
            absl::DataLossError("the store holds a function library that cannot be loaded: 'shop': "
                                "ERR Error compiling function: user_function:2: '=' expected near "
                                "'y'"));
  EXPECT_TRUE(absl::IsDataLoss(open_with("other", kLibrary)));
  EXPECT_TRUE(absl::IsDataLoss(open_with("shop", "")));
}

TEST_F(ReopenedTest, NativeScriptHidesStoredFunction) {
  call("FUNCTION", "LOAD", kLibrary);
  client_.reset();
  engine_.reset();
  auto store = RocksDbStore::open(directory_.path());
  ASSERT_TRUE(store.ok()) << store.status();
  engine_ =
      open_engine({.manual_clock = &clock_},
                  {{"buy", [](NativeCall&) { return Reply::integer(42); }}}, *std::move(store));
  client_ = engine_->open_client();
  EXPECT_EQ(call("FCALL", "buy", 0), "(integer) 42");
  EXPECT_EQ(call("FUNCTION", "LIST"),
            R"([["library_name", "shop", "engine", "LUA", "functions", [["name", "buy", )"
            R"("description", (nil), "flags", []]]]])");
  reopen();
  EXPECT_EQ(call("FCALL", "buy", 1, "n"), "(integer) 1");
}

}  // namespace
}  // namespace rushgate
