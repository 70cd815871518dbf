// Tests that transcripts cannot express: retries of blocked commands, and failures of the store.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/unit/commands/command_test.h"
#include <rushgate/memory_store.h>
#include <rushgate/testing_stores.h>

namespace rushgate {
namespace {

using ::testing::Test;

class StreamCommandsTest : public CommandTest {
 protected:
  StreamCommandsTest() {
    run("XADD", "s", "1-0", "a", "1");
    run("XGROUP", "CREATE", "s", "g", "$");
  }

  /// Returns the keys that a command waits for. Empty if it did not block: answer_ has its reply.
  std::optional<BlockRequest> block(
      const Request& request, CommandContext::Origin origin = CommandContext::Origin::kClient) {
    CommandContext context(services(), session(), request, origin, false);
    return run_in(context);
  }
  /// Runs a blocked command again, as after a signal of `key`.
  std::optional<BlockRequest> retry(const BlockRequest& waiting, std::string_view key = "s") {
    CommandContext context(services(), session(), waiting.retry, CommandContext::Origin::kClient,
                           false, key);
    return run_in(context);
  }
  std::optional<BlockRequest> run_in(CommandContext& context) {
    answer_ = to_debug_string(run_command(context));
    return std::move(context.block_request());
  }

  std::string answer_;
};

TEST_F(StreamCommandsTest, BlockedReadFixesLastId) {
  const auto waiting =
      block(Request::of("XREAD", "COUNT", 5, "BLOCK", 70, "STREAMS", "s", "none", "$", "$"));
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->keys, (std::vector<std::string>{"s", "none"}));
  EXPECT_EQ(waiting->timeout_ms, 70);
  EXPECT_EQ(waiting->on_timeout, Reply::nil_array());

  run("XADD", "s", "2-0", "a", "2");
  run("XADD", "none", "1-0", "a", "3");
  EXPECT_FALSE(retry(*waiting).has_value());
  EXPECT_EQ(answer_, R"([["s", [["2-0", ["a", "2"]]]]])") << "one key serves it";
  EXPECT_FALSE(retry(*waiting, "none").has_value());
  EXPECT_EQ(answer_, R"([["none", [["1-0", ["a", "3"]]]]])");
}

TEST_F(StreamCommandsTest, RetryWithoutDataWaitsForSameKeys) {
  const auto waiting = block(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"));
  ASSERT_TRUE(waiting.has_value());
  const auto still_waiting = retry(*waiting);
  ASSERT_TRUE(still_waiting.has_value());
  EXPECT_EQ(still_waiting->retry, waiting->retry);
  EXPECT_EQ(still_waiting->keys, waiting->keys);
}

TEST_F(StreamCommandsTest, BlockedReadSurvivesRemovalOfStream) {
  const auto waiting = block(Request::of("XREAD", "BLOCK", 0, "STREAMS", "s", "$"));
  ASSERT_TRUE(waiting.has_value());
  run("DEL", "s");
  EXPECT_TRUE(retry(*waiting).has_value());
  run("SET", "s", 1);
  EXPECT_TRUE(retry(*waiting).has_value());
}

TEST_F(StreamCommandsTest, BlockedGroupReadEndsOnRemoval) {
  const auto waiting =
      block(Request::of("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">"));
  ASSERT_TRUE(waiting.has_value());
  run("XGROUP", "DESTROY", "s", "g");
  EXPECT_FALSE(retry(*waiting).has_value());
  EXPECT_EQ(answer_,
            "(error) NOGROUP the consumer group this client was blocked on no longer exists");
  run("DEL", "s");
  EXPECT_FALSE(retry(*waiting).has_value());
  EXPECT_EQ(answer_, "(error) UNBLOCKED the stream key no longer exists");
  run("SET", "s", 1);
  EXPECT_FALSE(retry(*waiting).has_value());
  EXPECT_EQ(answer_, "(error) UNBLOCKED the stream key no longer exists");
}

TEST_F(StreamCommandsTest, BlockedGroupReadCreatesNoConsumer) {
  const auto waiting =
      block(Request::of("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", ">"));
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(text("XINFO", "CONSUMERS", "s", "g"), "[]");
  run("XADD", "s", "2-0", "a", "2");
  EXPECT_FALSE(retry(*waiting).has_value());
  EXPECT_EQ(answer_, R"([["s", [["2-0", ["a", "2"]]]]])");
  EXPECT_EQ(text("XPENDING", "s", "g"), R"([(integer) 1, "2-0", "2-0", [["c", "1"]]])");
}

TEST_F(StreamCommandsTest, HistoryReadDoesNotBlock) {
  EXPECT_FALSE(block(Request::of("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", "s", "0"))
                   .has_value());
  EXPECT_EQ(answer_, R"([["s", []]])");
}

TEST_F(StreamCommandsTest, ScriptsDoNotBlock) {
  const auto script = CommandContext::Origin::kScript;
  EXPECT_FALSE(block(Request::of("xread", "BLOCK", "0", "STREAMS", "s", "$"), script).has_value());
  EXPECT_EQ(answer_, "(error) ERR xread command is not allowed with BLOCK option from scripts");
  EXPECT_FALSE(block(Request::of("XREAD", "STREAMS", "s", "$"), script).has_value());
  EXPECT_EQ(answer_, "(nil array)");
}

// ---- A failing store -------

class StreamCommandsOnAFailingStoreTest : public Test {
 protected:
  StreamCommandsOnAFailingStoreTest() {
    Keyspace writer(store_, 7);
    for (int i = 1; i <= 20; ++i) {
      run(writer, Request::of("XADD", "s", std::to_string(i), "a", i));
      EXPECT_TRUE(writer.commit().ok());
    }
    run(writer, Request::of("XGROUP", "CREATE", "s", "g", "0"));
    run(writer, Request::of("XREADGROUP", "GROUP", "g", "c", "COUNT", 5, "STREAMS", "s", ">"));
    EXPECT_TRUE(writer.commit().ok());
    EXPECT_TRUE(keyspace_.load().ok());
    store_.fail_reads(absl::UnavailableError("the disk is gone"));
  }

  std::string run(Keyspace& keyspace, const Request& request) {
    LoneServices services(keyspace, lua_, natives_);
    CommandContext context(services.get(), session_, request, CommandContext::Origin::kClient,
                           false);
    return to_debug_string(run_command(context));
  }

  struct NeverStop final : BusyMonitor {
    bool poll() override { return false; }
  };

  faults::FaultyStore store_{std::make_unique<MemoryStore>(MemoryStoreOptions{.keep_state = true})};
  Keyspace keyspace_{store_, 7};
  NeverStop never_stop_;
  LuaHost lua_{LuaLimits{}, never_stop_, nullptr};
  NativeHost natives_;
  Session session_;
};

TEST_F(StreamCommandsOnAFailingStoreTest, FailedReadOfStoreAppliesNothing) {
  const std::vector<Request> requests = {
      Request::of("XRANGE", "s", "-", "+"),
      Request::of("XREVRANGE", "s", "+", "-", "COUNT", 1),
      Request::of("XREAD", "STREAMS", "s", 0),
      Request::of("XDEL", "s", 1, 2),
      Request::of("XTRIM", "s", "MAXLEN", 3),
      Request::of("XADD", "s", "30", "a", "1"),
      Request::of("XREADGROUP", "GROUP", "g", "d", "STREAMS", "s", ">"),
      Request::of("XREADGROUP", "GROUP", "g", "d", "NOACK", "STREAMS", "s", "s", ">", "0"),
      Request::of("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", 0),
      Request::of("XCLAIM", "s", "g", "d", 0, 1, 2, 3, "LASTID", "9"),
      Request::of("XAUTOCLAIM", "s", "g", "d", 0, 0),
      Request::of("XINFO", "STREAM", "s"),
      Request::of("XINFO", "STREAM", "s", "FULL"),
  };
  for (const Request& request : requests) {
    EXPECT_EQ(run(keyspace_, request), "(error) ERR the disk is gone") << request[0];
    EXPECT_TRUE(keyspace_.changes().empty()) << request[0];
  }
}

TEST_F(StreamCommandsOnAFailingStoreTest, CommandsWithoutEntriesStillWork) {
  EXPECT_EQ(run(keyspace_, Request::of("XLEN", "s")), "(integer) 20");
  EXPECT_EQ(run(keyspace_, Request::of("XACK", "s", "g", 1, 2)), "(integer) 2");
}

TEST_F(StreamCommandsOnAFailingStoreTest, AppendNeedsNoEntriesAfterEndCheck) {
  store_.fail_reads(absl::OkStatus());
  EXPECT_EQ(run(keyspace_, Request::of("XADD", "s", "30", "a", "1")), "\"30-0\"");
  ASSERT_TRUE(keyspace_.commit().ok());
  store_.fail_reads(absl::UnavailableError("the disk is gone"));
  EXPECT_EQ(run(keyspace_, Request::of("XADD", "s", "MAXLEN", 3, "31", "a", "1")),
            "(error) ERR the disk is gone");
  EXPECT_TRUE(keyspace_.changes().empty());
  EXPECT_EQ(run(keyspace_, Request::of("XADD", "s", "31", "a", "1")), "\"31-0\"");
}

TEST_F(StreamCommandsTest, CopyCountsItsOwnNodes) {
  for (int i = 1; i <= 100; ++i) run("XADD", "s", i, "f", "v");
  EXPECT_EQ(text("XTRIM", "s", "MAXLEN", 60), "(integer) 40");
  run("COPY", "s", "copy");
  for (int i = 101; i <= 140; ++i) {
    run("XADD", "s", i, "f", "v");
    run("XADD", "copy", i, "f", "v");
  }
  EXPECT_EQ(text("XTRIM", "s", "MAXLEN", "~", 40), "(integer) 60");
  EXPECT_EQ(text("XTRIM", "copy", "MAXLEN", "~", 40), "(integer) 0");
}

}  // namespace
}  // namespace rushgate
