#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rushgate/clock.h>
#include <rushgate/engine.h>
#include <rushgate/memory_store.h>
#include <rushgate/testing.h>
#include <rushgate/testing_stores.h>

namespace rushgate::faults {
namespace {

using Fault = FaultyBackend::Fault;

/// The ways to make a request.
struct Way {
  const char* name;
  Reply (*ask)(Client& client, Request request);

  friend void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
};

Reply by_call(Client& client, Request request) { return client.call(std::move(request)); }
Reply by_submit(Client& client, Request request) {
  Reply got;
  client.submit(std::move(request), [&](Reply reply) { got = std::move(reply); });
  return got;
}
Reply by_pipeline(Client& client, Request request) {
  return std::move(client.pipeline({&request, 1}).front());
}

class FaultyBackendTest : public ::testing::TestWithParam<Way> {
 protected:
  Reply increment() { return GetParam().ask(*client_, Request::of("INCR", "n")); }
  [[nodiscard]] Reply value() { return (*engine_->open_client())("GET", "n"); }

  ManualClock clock_;
  Fault next_ = Fault::kNone;
  std::vector<std::string> late_;  // values at the time of late replies
  const std::unique_ptr<Engine> engine_ =
      *Engine::open(std::make_unique<MemoryStore>(), {.manual_clock = &clock_});
  FaultyBackend backend_{*engine_,
                         [this](const Request&) { return std::exchange(next_, Fault::kNone); },
                         [this](const Request&) { late_.push_back(value().text()); }};
  const std::unique_ptr<Client> client_ = backend_.open_client();
};
INSTANTIATE_TEST_SUITE_P(Ways, FaultyBackendTest,
                         ::testing::Values(Way{"Call", by_call}, Way{"Submit", by_submit},
                                           Way{"Pipeline", by_pipeline}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(FaultyBackendTest, LostRequestIsNotExecuted) {
  next_ = Fault::kRequestLost;
  EXPECT_TRUE(increment().text().starts_with("CLOSED "));
  EXPECT_TRUE(value().is_nil());
  EXPECT_EQ(increment(), Reply::integer(1));
}

TEST_P(FaultyBackendTest, LateRequestIsLeftToTheTest) {
  next_ = Fault::kRequestLate;
  EXPECT_TRUE(increment().text().starts_with("OUTCOMEUNKNOWN "));
  EXPECT_TRUE(value().is_nil());
}

TEST_P(FaultyBackendTest, LostReplyLeavesTheOutcomeUnknown) {
  next_ = Fault::kReplyLost;
  EXPECT_TRUE(increment().text().starts_with("OUTCOMEUNKNOWN "));
  EXPECT_EQ(value(), Reply::bulk("1"));
}

TEST_P(FaultyBackendTest, LateReplyComesAfterTheHook) {
  next_ = Fault::kReplyLate;
  EXPECT_EQ(increment(), Reply::integer(1));
  EXPECT_EQ(late_, std::vector<std::string>{"1"});
  EXPECT_EQ(increment(), Reply::integer(2));
  EXPECT_EQ(late_.size(), 1U);
}

TEST_P(FaultyBackendTest, RepeatedRequestIsExecutedTwice) {
  next_ = Fault::kSentTwice;
  EXPECT_EQ(increment(), Reply::integer(2));
  EXPECT_EQ(value(), Reply::bulk("2"));
}

TEST(FaultNamesTest, EachFaultHasItsName) {
  EXPECT_EQ(fault_name(Fault::kNone), "none");
  EXPECT_EQ(fault_name(Fault::kRequestLost), "request lost");
  EXPECT_EQ(fault_name(Fault::kRequestLate), "request late");
  EXPECT_EQ(fault_name(Fault::kReplyLost), "reply lost");
  EXPECT_EQ(fault_name(Fault::kReplyLate), "reply late");
  EXPECT_EQ(fault_name(Fault::kSentTwice), "sent twice");
}

}  // namespace
}  // namespace rushgate::faults
