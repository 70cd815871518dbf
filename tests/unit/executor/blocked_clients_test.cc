// Clients of the engine that go on while a request of theirs is blocked.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/executor/engine_fixture.h"

namespace rushgate {
namespace {

class BlockedClientsTest : public ManualEngineTest {
 protected:
  template <class... Args>
  static void submit(Client& client, std::optional<std::string>& reply, Args... args) {
    client.submit(Request::of(args...),
                  [&reply](const Reply& got) { reply = to_debug_string(got); });
  }
  template <class... Args>
  std::string call(Args... args) {
    return to_debug_string((*client_)(args...));
  }
};

TEST_F(BlockedClientsTest, RequestIsServedInItsDatabase) {
  const auto waiting = engine_->open_client();
  std::optional<std::string> popped;
  submit(*waiting, popped, "BLPOP", "k", 0);
  EXPECT_EQ((*waiting)("SELECT", 1), Reply::ok());
  (*waiting)("RPUSH", "k", "of database 1");
  EXPECT_EQ(popped, std::nullopt);
  call("RPUSH", "k", "of database 0");
  EXPECT_EQ(popped, R"(["k", "of database 0"])");
  EXPECT_EQ(to_debug_string((*waiting)("LRANGE", "k", 0, -1)), R"(["of database 1"])")
      << "the client is still in database 1";
}

TEST_F(BlockedClientsTest, KeysSignalledAlternatelyServeTheirWaiters) {
  const auto waiting = engine_->open_client();
  std::optional<std::string> of_a;
  std::optional<std::string> of_b;
  submit(*waiting, of_a, "BLPOP", "a", 0);
  submit(*waiting, of_b, "BLPOP", "b", 0);
  call("EVAL", "for i = 1, 3 do redis.call('RPUSH', 'a', i) redis.call('RPUSH', 'b', i) end", 0);
  EXPECT_EQ(of_a, R"(["a", "1"])");
  EXPECT_EQ(of_b, R"(["b", "1"])");
  EXPECT_EQ(call("LLEN", "a"), "(integer) 2");
}

}  // namespace
}  // namespace rushgate
