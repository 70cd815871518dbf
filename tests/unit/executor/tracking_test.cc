// The limits of client-side caching, and its messages after a rollback.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "engine/redis/commands/tracking_table.h"
#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/reply.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TrackingTest : public ManualEngineTest {
 protected:
  TrackingTest() { expect_ok((*reader_)("CLIENT", "TRACKING", "ON")); }

  static void expect_ok(const Reply& reply) { EXPECT_EQ(reply, Reply::ok()); }
  /// Returns the keys of the messages since the last call.
  std::vector<std::string> invalidated() { return std::exchange(invalidated_, {}); }
  std::string info() { return (*client_)("INFO", "stats").text(); }
  void add_script(const char* name, NativeScript script) {
    const NamedScript named{name, std::move(script)};
    engine_->add_native_scripts({&named, 1});
  }
  void set_keys_max(int keys_max) {
    expect_ok((*client_)("CONFIG", "SET", "tracking-table-max-keys", keys_max));
  }
  void read_keys(int count) {
    for (int i = 0; i < count; ++i) (*reader_)("GET", "key" + std::to_string(i));
  }

  std::vector<std::string> invalidated_;
  std::unique_ptr<Client> reader_ =
      engine_->open_client({.protocol = 3, .on_message = [this](const Reply& message) {
                              for (const Reply& key : message.elements()[1].elements())
                                invalidated_.push_back(key.text());
                            }});
};

TEST_F(TrackingTest, ExcessKeysAreInvalidated) {
  set_keys_max(10);
  read_keys(100);
  EXPECT_EQ(invalidated().size(), 90U);
  EXPECT_THAT(info(), HasSubstr("tracking_total_keys:10\r\ntracking_total_items:10\r\n"));
}

TEST_F(TrackingTest, LowerLimitShrinksTable) {
  read_keys(100);
  EXPECT_THAT(invalidated(), IsEmpty());
  set_keys_max(30);
  EXPECT_EQ(invalidated().size(), 70U);
  set_keys_max(0);
  read_keys(100);
  EXPECT_THAT(info(), HasSubstr("tracking_total_keys:100\r\n"));
}

TEST_F(TrackingTest, LongKeyIsInvalidatedAtOnce) {
  const std::string key(TrackingTable::kKeyBytesMax + 1, 'k');
  (*reader_)("GET", key);
  EXPECT_THAT(invalidated(), ElementsAre(key));
  EXPECT_THAT(info(), HasSubstr("tracking_total_keys:0\r\n"));
}

TEST_F(TrackingTest, MemoryOfKeysIsBounded) {
  set_keys_max(0);
  constexpr std::size_t kFitting = TrackingTable::kBytesMax / TrackingTable::kKeyBytesMax;
  std::string key(TrackingTable::kKeyBytesMax, 'k');
  for (std::size_t i = 0; i < kFitting + 10; ++i) {
    key.replace(0, 5, std::to_string(10'000 + i));
    (*reader_)("GET", key);
  }
  EXPECT_GE(invalidated().size(), 10U);
}

TEST_F(TrackingTest, LeavingClientTakesItsKeys) {
  std::unique_ptr<Client> other =
      engine_->open_client({.protocol = 3, .on_message = [](const Reply& /*message*/) {}});
  expect_ok((*other)("CLIENT", "TRACKING", "ON"));
  (*other)("MGET", "a", "b", "c");
  (*reader_)("GET", "a");
  EXPECT_THAT(info(), HasSubstr("tracking_total_keys:3\r\ntracking_total_items:4\r\n"));
  other = nullptr;
  EXPECT_THAT(info(), HasSubstr("tracking_total_keys:1\r\ntracking_total_items:1\r\n"));
  (*client_)("SET", "a", 1);
  EXPECT_THAT(invalidated(), ElementsAre("a"));
}

TEST_F(TrackingTest, ManyKeysOfLeavingClientsLeaveInSteps) {
  set_keys_max(0);
  constexpr int kKeys = 10'000;
  std::vector<std::unique_ptr<Client>> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(
        engine_->open_client({.protocol = 3, .on_message = [](const Reply& /*message*/) {}}));
    expect_ok((*others.back())("CLIENT", "TRACKING", "ON"));
    for (int key = 0; key < kKeys; ++key) (*others.back())("GET", key);
  }
  (*reader_)("GET", 0);
  others.clear();
  EXPECT_THAT(info(), Not(HasSubstr("tracking_total_items:1\r\n"))) << "all have left at once";
  constexpr int kBatches = 50;
  for (int i = 0; i < kBatches; ++i) (*client_)("PING");
  EXPECT_THAT(info(), HasSubstr("tracking_total_keys:1\r\ntracking_total_items:1\r\n"));
  (*client_)("SET", 0, 1);
  EXPECT_THAT(invalidated(), ElementsAre("0"));
}

TEST_F(TrackingTest, ClientWithoutMessagesNeedsRedirection) {
  EXPECT_THAT((*client_)("CLIENT", "TRACKING", "ON").text(), HasSubstr("takes no messages"));
  const Reply id = (*reader_)("CLIENT", "ID");
  expect_ok((*client_)("CLIENT", "TRACKING", "ON", "REDIRECT", id.integer()));
  (*client_)("GET", "k");
  (*client_)("SET", "k", 1);
  EXPECT_THAT(invalidated(), ElementsAre("k"));
}

TEST_F(TrackingTest, RolledBackChangeIsReported) {
  add_script("fail", [](NativeCall& call) -> Reply {
    call.call(Request::of("PUBLISH", "channel", "message"));
    call.increment_by("k", 1);
    throw std::runtime_error("it fails");
  });
  (*reader_)("SUBSCRIBE", "channel");
  (*reader_)("GET", "k");
  EXPECT_TRUE((*client_)("FCALL", "fail", 0).is_error());
  EXPECT_THAT(invalidated(), ElementsAre("k"));
  (*reader_)("GET", "k");
  (*client_)("SET", "k", 1);
  EXPECT_THAT(invalidated(), ElementsAre("k"));
}

TEST_F(TrackingTest, NoLoopShowsChangesOfWokenClient) {
  expect_ok((*reader_)("CLIENT", "TRACKING", "OFF"));
  expect_ok((*reader_)("CLIENT", "TRACKING", "ON", "BCAST", "NOLOOP"));
  const std::unique_ptr<Client> blocked = engine_->open_client();
  Reply moved;
  blocked->submit(Request::of("BLMOVE", "source", "target", "LEFT", "LEFT", 0),
                  [&moved](Reply reply) { moved = std::move(reply); });
  (*reader_)("RPUSH", "source", "element");
  EXPECT_EQ(moved, Reply::bulk("element"));
  EXPECT_THAT(invalidated(), ElementsAre("source", "target"));
}

TEST_F(TrackingTest, NativeScriptReadsItsDeclaredKeys) {
  add_script("read", [](NativeCall& call) -> Reply {
    call.get_integer("k");
    return Reply::ok();
  });
  expect_ok((*reader_)("FCALL", "read", 1, "k"));
  (*client_)("SET", "k", 1);
  EXPECT_THAT(invalidated(), ElementsAre("k"));
}

}  // namespace
}  // namespace rushgate
