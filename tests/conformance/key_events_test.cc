// Compares the keyspace notifications of every transcript with Redis's.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/named_cases.h"
#include "tests/conformance/redis_backend.h"
#include "tests/conformance/runner.h"

namespace rushgate::testing {
namespace {

/// A backend with a session that receives the events of all keys.
class ObservedBackend final : public Backend {
 public:
  explicit ObservedBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  [[nodiscard]] std::string name() const override { return backend_->name(); }
  void reset() override {
    backend_->reset();
    expect_reply(Request::of("CONFIG", "SET", "notify-keyspace-events", kClasses));
    expect_reply(Request::of("PSUBSCRIBE", "__key*__:*"));
  }
  void send(int session, const Request& request) override { backend_->send(session, request); }
  std::string receive(int session) override { return backend_->receive(session); }
  bool has_answer(int session) override { return backend_->has_answer(session); }
  void elapse(std::chrono::milliseconds duration) override { backend_->elapse(duration); }

  /// Returns the events since reset(), a line each.
  std::string take_events() {
    backend_->send(kObserver, Request::of("PING"));
    for (std::string events;;) {
      const Reply message = parse_raw_reply(backend_->receive(kObserver))->reply;
      if (message.elements().front() == Reply::bulk("pong")) return events;
      events += message.elements().at(2).text() + " " + message.elements().at(3).text() + "\n";
    }
  }

 private:
  static constexpr int kObserver = 1'000'000;
  // Without x: Redis removes expired keys in no particular order.
  static constexpr std::string_view kClasses = "KEg$lshztn";

  void expect_reply(const Request& request) {
    backend_->send(kObserver, request);
    const std::string reply = backend_->receive(kObserver);
    if (reply.starts_with('-')) throw std::runtime_error(name() + ": " + reply);
  }

  std::unique_ptr<Backend> backend_;
};

/// Returns the cases without the families whose replies depend on the observing session.
std::vector<NamedCase> cases_of_data() {
  constexpr std::string_view kOthers[] = {"clients",       "command", "connection", "info",
                                          "object_config", "pubsub",  "shutdown",   "maxmemory"};
  std::vector<NamedCase> cases = named_cases(RUSHGATE_TRANSCRIPTS);
  std::erase_if(cases, [&](const NamedCase& named) {
    return std::ranges::find(kOthers, named.family) != std::end(kOthers) ||
           named.name == "script_values_the_clock_stands_still";  // the key expires or not
  });
  return cases;
}

class KeyEventsTest : public ::testing::TestWithParam<NamedCase> {
 protected:
  static void SetUpTestSuite() {
    oracle_ = std::make_unique<ObservedBackend>(std::make_unique<RedisBackend>(RespVersion::k2));
    subject_ =
        std::make_unique<ObservedBackend>(std::make_unique<EmbeddedBackend>(RespVersion::k2));
  }
  static void TearDownTestSuite() {
    oracle_.reset();
    subject_.reset();
  }

  static inline std::unique_ptr<ObservedBackend> oracle_;
  static inline std::unique_ptr<ObservedBackend> subject_;
};

TEST_P(KeyEventsTest, EventsAreTheSame) {
  EXPECT_EQ(run_case(GetParam().parsed, *oracle_, *subject_, nullptr), std::vector<std::string>());
  EXPECT_EQ(oracle_->take_events(), subject_->take_events());
}

INSTANTIATE_TEST_SUITE_P(Transcripts, KeyEventsTest, ::testing::ValuesIn(cases_of_data()), name_of);

}  // namespace
}  // namespace rushgate::testing
