#include "tests/conformance/random/duel.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/random/exchange.h"

namespace rushgate::testing {
namespace {

/// Replies +OK. An odd one replies differently to C once it has received A and then B, and to ID
/// unless its own client's id follows.
class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(bool is_odd) : is_odd_(is_odd) {}

  [[nodiscard]] std::string name() const override { return "fake"; }
  void reset() override {
    seen_ = 0;
    counts_d_ = false;
  }
  void send(int session, const Request& request) override {
    answers_[session].push_back(answer(request));
  }
  std::string receive(int session) override {
    std::string answer = answers_[session].front();
    answers_[session].erase(answers_[session].begin());
    return answer;
  }
  bool has_answer(int session) override { return !answers_[session].empty(); }
  void elapse(std::chrono::milliseconds) override {}

 private:
  std::string answer(const Request& request) {
    if (request[0] == "TIME") return "*2\r\n+0\r\n+0\r\n";
    if (request[0] == "CLIENT") return is_odd_ ? ":41\r\n" : ":40\r\n";
    if (request[0] == "ID") return is_odd_ && request[1] != "41" ? "+other\r\n" : "+OK\r\n";
    if (request[0] == "KEYS") return "*0\r\n";
    if (request[0] == "INFO") return is_odd_ && counts_d_ ? "+cmdstat_d:calls=1\r\n" : "+\r\n";
    counts_d_ = counts_d_ || request[0] == "D";
    if (seen_ == 0 && request[0] == "A") seen_ = 1;
    if (seen_ == 1 && request[0] == "B") seen_ = 2;
    return is_odd_ && seen_ == 2 && request[0] == "C" ? "+other\r\n" : "+OK\r\n";
  }

  const bool is_odd_;
  int seen_ = 0;
  bool counts_d_ = false;
  std::map<int, std::vector<std::string>> answers_;
};

std::vector<RandomStep> steps_of(const std::string& names) {
  std::vector<RandomStep> steps;
  for (const char name : names) {
    steps.push_back({{0, "", {}, Request::of(std::string(1, name))}});
  }
  return steps;
}

class Duelists {
 protected:
  explicit Duelists(const char* shapes) : grammar_(Grammar::parse("f", "", shapes)) {}

  FakeBackend oracle_{false};
  FakeBackend subject_{true};
  const Grammar grammar_;
  Duel duel_{oracle_, subject_, grammar_};
};

constexpr char kOfTwoSessions[] = "@sessions 2\nPING";

class DuelTest : public Duelists, public ::testing::TestWithParam<const char*> {
 protected:
  DuelTest() : Duelists(GetParam()) {}
};

class DuelOfSessionsTest : public Duelists, public ::testing::Test {
 protected:
  DuelOfSessionsTest() : Duelists(kOfTwoSessions) {}
};

TEST_P(DuelTest, DifferingStepIsFound) {
  EXPECT_FALSE(duel_.play(steps_of("xxACBxx")));
  const auto difference = duel_.play(steps_of("xxAxBxxCxxx"));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->steps, 8u);
}

TEST_P(DuelTest, DifferingCountIsFound) {
  const auto difference = duel_.play(steps_of("xDx"));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->what, "INFO: d: not there; but calls=1\n");
}

TEST_P(DuelTest, IrrelevantStepsAreRemoved) {
  std::string shortest;
  for (const RandomStep& step : shortened(steps_of("xyAxxzzBxxyyABxxCxxAxx"), duel_)) {
    shortest += step[0].request[0];
  }
  EXPECT_EQ(shortest, "ABC");
}

TEST_F(DuelOfSessionsTest, EachBackendGetsItsOwnClientIds) {
  const auto step = [](const char* id) { return RandomStep{{0, "", {}, Request::of("ID", id)}}; };
  EXPECT_FALSE(duel_.play(std::vector<RandomStep>{step("$client1"), step("$client0")}));
  EXPECT_TRUE(duel_.play(std::vector<RandomStep>{step("$client2")}));
}

INSTANTIATE_TEST_SUITE_P(Sessions, DuelTest, ::testing::Values("PING", kOfTwoSessions));

}  // namespace
}  // namespace rushgate::testing
