// The comparison of connections finds a fault that shows on another connection, later, or in a
// message alone.
#include "tests/conformance/random/connection_duel.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/random/duel.h"
#include "tests/conformance/random/random_commands.h"
#include "tests/conformance/redis_backend.h"
#include "tests/conformance/server_backend.h"

namespace rushgate::testing {
namespace {

using ::testing::HasSubstr;

/// A server that gets other requests than its clients have sent.
class FaultyBackend final : public Backend {
 public:
  using Fault = std::function<void(std::vector<std::string>& words)>;

  explicit FaultyBackend(Backend& backend) : backend_(backend) {}

  void set_fault(Fault fault) { fault_ = std::move(fault); }

  [[nodiscard]] std::string name() const override { return "faulty"; }
  void reset() override { backend_.reset(); }
  void send(int session, const Request& request) override {
    send_pipelined(session, {&request, 1});
  }
  void send_pipelined(int session, std::span<const Request> requests) override {
    std::vector<Request> sent;
    for (const Request& request : requests) sent.push_back(with_fault(request));
    backend_.send_pipelined(session, sent);
  }
  std::string receive(int session) override { return backend_.receive(session); }
  std::vector<std::string> call_all(int session, std::span<const Request> requests) override {
    return backend_.call_all(session, requests);
  }
  bool has_answer(int session) override { return backend_.has_answer(session); }
  void close(int session) override { backend_.close(session); }
  bool has_ended(int session) override { return backend_.has_ended(session); }
  std::string receive_all(int session) override { return backend_.receive_all(session); }
  void send_barrier(int session, bool in_transaction) override {
    backend_.send_barrier(session, in_transaction);
  }
  std::string receive_to_barrier(int session, bool in_transaction) override {
    return backend_.receive_to_barrier(session, in_transaction);
  }
  void elapse(std::chrono::milliseconds duration) override { backend_.elapse(duration); }

 private:
  [[nodiscard]] Request with_fault(const Request& request) const {
    std::vector<std::string> words;
    for (const std::string_view word : request.views()) words.emplace_back(word);
    fault_(words);
    Request changed;
    for (const std::string& word : words) changed.add(word);
    return changed;
  }

  Backend& backend_;
  Fault fault_ = [](std::vector<std::string>&) {};
};

/// Returns a fault that replaces the word at `index` of the commands with this name.
FaultyBackend::Fault replacing(const std::string& command, std::size_t index,
                               const std::string& word) {
  return [=](std::vector<std::string>& words) {
    if (words[0] == command && words.size() > index) words[index] = word;
  };
}

class ConnectionDuelTest : public ::testing::Test {
 public:
  static void SetUpTestSuite() {
    oracle_ = std::make_unique<RedisBackend>(RespVersion::k3, RedisTime::kManual);
    server_ = std::make_unique<ServerBackend>(RespVersion::k3);
  }
  static void TearDownTestSuite() {
    oracle_.reset();
    server_.reset();
  }

  ConnectionDuelTest() : subject_(*server_) {}

  /// Adds a step: "1: BLPOP k 0".
  ConnectionDuelTest& step(int session, const std::vector<std::string>& words) {
    Request request;
    for (const std::string& word : words) request.add(word);
    steps_.push_back({{session, "", {}, std::move(request)}});
    return *this;
  }

  /// Returns the difference after this many steps; "" if there is none.
  std::string difference_with(FaultyBackend::Fault fault, std::size_t& steps) {
    subject_.set_fault(std::move(fault));
    const auto difference = duel_.play(steps_);
    steps = difference ? difference->steps : 0;
    return difference ? difference->what : "";
  }

  /// Expects that the fault is found after so many steps, and nothing without it.
  void expect_found(FaultyBackend::Fault fault, std::size_t steps, const std::string& what) {
    std::size_t found_after = 0;
    EXPECT_EQ(difference_with([](auto&) {}, found_after), "");
    EXPECT_THAT(difference_with(std::move(fault), found_after), HasSubstr(what));
    EXPECT_EQ(found_after, steps);
  }

 protected:
  static inline std::unique_ptr<RedisBackend> oracle_;
  static inline std::unique_ptr<ServerBackend> server_;
  FaultyBackend subject_;
  const Grammar grammar_ = Grammar::parse("f", "", "@connections 4\nPING");
  Duel duel_{*oracle_, subject_, grammar_};
  std::vector<RandomStep> steps_;
};

TEST_F(ConnectionDuelTest, WrongElementOfBlockedClientIsFound) {
  step(1, {"BLPOP", "k", "0"}).step(2, {"PING"}).step(0, {"RPUSH", "k", "a", "b"});
  expect_found(replacing("BLPOP", 0, "BRPOP"), 1, "cmd=blpop");
  steps_.clear();
  step(1, {"BLMOVE", "k", "q", "LEFT", "LEFT", "0"}).step(0, {"RPUSH", "k", "a", "b"});
  expect_found(replacing("BLMOVE", 3, "RIGHT"), 2, "session 1: ");
}

TEST_F(ConnectionDuelTest, WrongOrderOfServiceIsFound) {
  step(1, {"BLPOP", "k", "0"}).step(2, {"BLPOP", "k", "l", "0"}).step(0, {"RPUSH", "k", "a"});
  expect_found(replacing("BLPOP", 1, "l"), 3, "session 1: ");
}

TEST_F(ConnectionDuelTest, MissedWatchIsFound) {
  step(1, {"WATCH", "k"}).step(0, {"SET", "k", "v"}).step(1, {"MULTI"}).step(1, {"EXEC"});
  expect_found(replacing("WATCH", 1, "other"), 2, "session 1: \n  expected: name= flags=dU");
}

TEST_F(ConnectionDuelTest, MissingMessageIsFound) {
  step(0, {"CONFIG", "SET", "notify-keyspace-events", "KEA"});
  step(1, {"PSUBSCRIBE", "__keyevent@0__:*"}).step(1, {"MULTI"}).step(2, {"SET", "k", "v"});
  expect_found(replacing("CONFIG", 3, "Kl"), 4, "session 1: missing: ");
}

TEST_F(ConnectionDuelTest, MessageOfBlockedClientIsComparedFinally) {
  step(0, {"CONFIG", "SET", "notify-keyspace-events", "KEA"});
  step(1, {"SUBSCRIBE", "__keyevent@0__:set"}).step(1, {"BLPOP", "l", "0"});
  step(2, {"SET", "k", "v"}).step(2, {"PING"});
  expect_found(replacing("CONFIG", 3, "Kl"), 5, "finally: session 1: missing: ");
}

TEST_F(ConnectionDuelTest, WrongEndOfConnectionIsFound) {
  step(1, {"BLPOP", "k", "0"}).step(0, {"CLIENT", "KILL", "ID", "$client1"}).step(1, {"PING"});
  expect_found(replacing("CLIENT", 3, "1000000"), 2, "session 1: the connection was not closed");
}

TEST_F(ConnectionDuelTest, ClosedConnectionLosesItsState) {
  step(1, {"SELECT", "1"}).step(1, {"BLPOP", "k", "0"}).step(1, {"@close"});
  step(0, {"RPUSH", "k", "a"}).step(1, {"LPOP", "k"});
  expect_found(replacing("LPOP", 1, "other"), 5, "expected: $1\\r\\na");
}

TEST_F(ConnectionDuelTest, PipelinedCommandsRunAfterBlock) {
  step(1, {"BLPOP", "k", "0"}).step(0, {"RPUSH", "k", "a"}).step(0, {"GET", "other"});
  steps_[0][0].pipelined.push_back(Request::of("SET", "other", "v"));
  expect_found(replacing("SET", 1, "another"), 3, "expected: $1\\r\\nv");
}

TEST_F(ConnectionDuelTest, ElapsedTimeEndsBlocks) {
  step(1, {"BLPOP", "k", "0.1"}).step(0, {"@elapse", "200"}).step(1, {"PING"});
  expect_found(replacing("BLPOP", 2, "9"), 2, "session 1: ");
}

}  // namespace
}  // namespace rushgate::testing
