// The lines of MONITOR after a rollback, and without replies. (tests/conformance/monitor_test.cc
// compares the lines themselves with those of Redis.)
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/executor/engine_fixture.h"
#include <rushgate/reply.h>
#include <rushgate/script.h>

namespace rushgate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class MonitorTest : public ManualEngineTest {
 protected:
  MonitorTest() { EXPECT_EQ((*monitor_)("MONITOR"), Reply::ok()); }

  std::vector<std::string> lines_;
  std::unique_ptr<Client> monitor_ = engine_->open_client(
      {.on_message = [this](const Reply& line) { lines_.push_back(line.text()); }});
};

TEST_F(MonitorTest, RollbackKeepsLines) {
  const NamedScript fail{"fail", [](NativeCall& call) -> Reply {
                           call.call(Request::of("PUBLISH", "channel", "message"));
                           call.call(Request::of("INCR", "later"));
                           throw std::runtime_error("it fails");
                         }};
  engine_->add_native_scripts({&fail, 1});
  const std::unique_ptr<Client> subscriber =
      engine_->open_client({.on_message = [](const Reply& /*message*/) {}});
  (*subscriber)("SUBSCRIBE", "channel");  // so that the rollback has a message to withdraw
  (*client_)("MULTI");
  (*client_)("FCALL", "fail", 0);
  (*client_)("GET", "k");
  (*client_)("EXEC");
  EXPECT_THAT(lines_, Contains(HasSubstr("\"PUBLISH\"")));
  EXPECT_THAT(lines_, Contains(HasSubstr("\"later\"")));
  EXPECT_THAT(lines_, Contains(HasSubstr("\"GET\"")));
}

TEST_F(MonitorTest, ReplyOffSilencesLines) {
  lines_.clear();
  monitor_->submit(Request::of("CLIENT", "REPLY", "OFF"), [](const Reply& /*none*/) {});
  (*client_)("SET", "k", "v");
  (*monitor_)("CLIENT", "REPLY", "ON");
  (*client_)("GET", "k");
  EXPECT_THAT(lines_, Contains(HasSubstr("\"GET\"")));
  EXPECT_THAT(lines_, Not(Contains(HasSubstr("\"SET\""))));
}

}  // namespace
}  // namespace rushgate
