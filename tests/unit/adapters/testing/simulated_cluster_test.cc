// The simulated cluster: where requests run, and what masters have when they come back.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include <rushgate/simulated_cluster.h>
#include <rushgate/testing.h>

namespace rushgate::testing {
namespace {

using ::testing::HasSubstr;

class SimulatedClusterTest : public ::testing::Test {
 protected:
  template <class... Args>
  Reply call(const Args&... args) {
    return (*client_)(args...);
  }
  /// Returns a key of this master.
  std::string key_on(int master) {
    for (int i = 0;; ++i) {
      std::string key = "k" + std::to_string(i);
      if (cluster_.master_of(key) == master) return key;
    }
  }

  SimulatedCluster cluster_{3};
  const std::unique_ptr<Backend> backend_ = cluster_.connect();
  const std::unique_ptr<Client> client_ = backend_->open_client();
};

TEST_F(SimulatedClusterTest, DeadMasterLeavesOthersAlone) {
  for (int master = 0; master < 3; ++master)
    EXPECT_THAT(call("INCR", key_on(master)), IsInteger(1));
  cluster_.kill(1);
  EXPECT_THAT(call("INCR", key_on(1)), IsError("CLOSED"));
  EXPECT_THAT(call("INCR", key_on(2)), IsInteger(2));
  EXPECT_THAT(call("PUBLISH", "channel", "x"), IsInteger(0));
  cluster_.start(1, Comeback::kWithAll);
  EXPECT_THAT(call("INCR", key_on(1)), IsInteger(2));
}

TEST_F(SimulatedClusterTest, SyncOfKeyNeedsItsMaster) {
  cluster_.kill(1);
  EXPECT_THAT(client_->sync_of(key_on(1)), IsError("CLOSED"));
  EXPECT_THAT(client_->sync_of(key_on(0)), IsOk());
}

TEST_F(SimulatedClusterTest, MasterThatRestartsDuringCheckIsDown) {
  const std::string key = key_on(2);
  int checks = 0;
  const auto check = std::make_shared<const ConnectionCheck>([&](Client& /*connection*/) {
    if (++checks == 1) cluster_.start(2, Comeback::kEmpty);
    return absl::OkStatus();
  });
  backend_->add_connection_check(check);
  EXPECT_THAT(call("INCR", key), IsError("CLOSED"));
  EXPECT_THAT(call("INCR", key), IsInteger(1));
  EXPECT_EQ(checks, 2) << "the next connection is checked, too";
}

TEST_F(SimulatedClusterTest, MasterComesBackWithLess) {
  const std::string key = key_on(0);
  EXPECT_THAT(call("SET", key, "1", "PX", 5'000), IsOk());
  cluster_.replicate(0);
  EXPECT_THAT(call("SET", key, "2"), IsOk());
  cluster_.start(0, Comeback::kAsReplicated);
  EXPECT_THAT(call("GET", key), IsText("1"));
  cluster_.advance_ms(5'000);
  EXPECT_THAT(call("GET", key), IsNil());
  EXPECT_THAT(call("SET", key, "3"), IsOk());
  cluster_.start(0, Comeback::kEmpty);
  EXPECT_THAT(call("GET", key), IsNil());
  cluster_.start(0, Comeback::kAsReplicated);
  EXPECT_THAT(call("GET", key), IsNil()) << "its replica copied nothing";
}

TEST_F(SimulatedClusterTest, MovedSlotTakesItsKeysAlong) {
  const std::string key = "{tag}";
  EXPECT_THAT(call("RPUSH", key + "list", "a", "b"), IsInteger(2));
  const int to = (cluster_.master_of(key) + 1) % 3;
  cluster_.move_slot_of(key, to);
  EXPECT_EQ(cluster_.master_of(key + "list"), to);
  EXPECT_THAT(call("LLEN", key + "list"), IsInteger(2));
}

TEST_F(SimulatedClusterTest, KeysOfTwoSlotsAreRefused) {
  EXPECT_THAT(call("MSET", "{a}1", "x", "{a}2", "y"), IsOk());
  EXPECT_THAT(call("MSET", "{a}1", "x", "{b}2", "y"), IsError("CROSSSLOT"));
}

TEST_F(SimulatedClusterTest, ConnectionIsCheckedOnceForEachRun) {
  int checks = 0;
  const std::string key = key_on(2);
  const auto check = std::make_shared<const ConnectionCheck>([&](Client& connection) {
    ++checks;
    const bool is_there = !connection("EXISTS", key).is_error();
    return is_there && checks == 2 ? absl::DataLossError("less than before") : absl::OkStatus();
  });
  backend_->add_connection_check(check);
  EXPECT_THAT(call("INCR", key), IsInteger(1));
  EXPECT_THAT(call("INCR", key), IsInteger(2));
  EXPECT_EQ(checks, 1);
  cluster_.start(2, Comeback::kEmpty);
  EXPECT_THAT(call("INCR", key), IsErrorThat(HasSubstr("less than before")));
  EXPECT_THAT(call("INCR", key), IsInteger(1));
  EXPECT_EQ(checks, 3);
}

}  // namespace
}  // namespace rushgate::testing
