// Commands of each family, picked at random: whatever is sent, the engine answers as a real Redis
// does, and holds the same data afterwards.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/embedded_backend.h"
#include "tests/conformance/random/duel.h"
#include "tests/conformance/random/exchange.h"
#include "tests/conformance/random/grammar.h"
#include "tests/conformance/redis_backend.h"
#include "tests/conformance/server_backend.h"
#include "tests/random_seed.h"

namespace rushgate::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kWords[] = "words";  // shapes/words.txt: what all families may use

std::vector<std::string> all_families() {
  std::vector<std::string> families;
  for (const fs::directory_entry& entry : fs::directory_iterator(RUSHGATE_SHAPES)) {
    if (entry.path().stem() != kWords) families.push_back(entry.path().stem().string());
  }
  std::sort(families.begin(), families.end());
  return families;
}

std::string text_of(const std::string& family) {
  std::ifstream in(fs::path(RUSHGATE_SHAPES) / (family + ".txt"), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t commands_wanted(std::size_t usual) {
  const char* chosen = std::getenv("RUSHGATE_RANDOM_COMMANDS");
  return chosen == nullptr ? usual : std::strtoull(chosen, nullptr, 10);
}

/// A Redis and a subject for each protocol.
template <class Subject>
class RandomCommandsTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    for (std::size_t i = 0; i < kProtocols.size(); ++i) {
      oracles_[i] = std::make_unique<RedisBackend>(kProtocols[i]);
      subjects_[i] = std::make_unique<Subject>(kProtocols[i]);
    }
  }
  static void TearDownTestSuite() {
    oracles_ = {};
    subjects_ = {};
  }

  /// Rounds of their own seeds: one that fails runs again as the first.
  static void play(std::size_t commands) {
    const Grammar grammar = Grammar::parse(GetParam(), text_of(kWords), text_of(GetParam()));
    constexpr int kFailuresMax = 5;
    std::uint64_t seed = random_seed();
    std::cout << seed_text(seed) << "\n";
    std::size_t played = 0;
    for (int failures = 0; played < commands && failures < kFailuresMax; ++seed) {
      if (!play_round(grammar, seed, played)) ++failures;
    }
    std::cout << played << " commands\n";
  }

 private:
  static constexpr std::array kProtocols = {RespVersion::k2, RespVersion::k3};

  static bool play_round(const Grammar& grammar, std::uint64_t seed, std::size_t& played) {
    constexpr std::size_t kStepsOfRound = 1'500;
    Random random(seed);
    RandomRound round(grammar, random);
    std::vector<RandomStep> steps = round.first();
    while (steps.size() < kStepsOfRound) steps.push_back(round.next());
    const std::size_t protocol = seed % kProtocols.size();
    Duel duel(*oracles_[protocol], *subjects_[protocol], grammar);
    auto difference = duel.play(steps);
    played += duel.sent();
    if (!difference) return true;
    steps.resize(difference->steps);
    const std::string first = difference->what;
    difference = duel.play(steps);
    if (difference) {
      steps = shortened(std::move(steps), duel);
      difference = duel.play(steps);
    }
    ADD_FAILURE() << report(seed, steps, difference ? difference->what : "not again: " + first);
    return false;
  }

  static std::string report(std::uint64_t seed, const std::vector<RandomStep>& steps,
                            const std::string& what) {
    constexpr std::size_t kShown = 60;  // one that did not happen again could not be shortened
    std::string text = seed_text(seed) + "\n";
    for (std::size_t i = steps.size() - std::min(steps.size(), kShown); i < steps.size(); ++i) {
      for (const RandomCommand& command : steps[i]) text += transcript_line(command) + "\n";
    }
    return text + what;
  }

  static inline std::array<std::unique_ptr<RedisBackend>, kProtocols.size()> oracles_;
  static inline std::array<std::unique_ptr<Subject>, kProtocols.size()> subjects_;
};

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

using EmbeddedRandomly = RandomCommandsTest<EmbeddedBackend>;

TEST_P(EmbeddedRandomly, AnswersAsRedis) { play(commands_wanted(20'000)); }

INSTANTIATE_TEST_SUITE_P(Families, EmbeddedRandomly, ::testing::ValuesIn(all_families()), name_of);

using ServerRandomly = RandomCommandsTest<ServerBackend>;

TEST_P(ServerRandomly, AnswersAsRedis) { play(commands_wanted(5'000)); }

INSTANTIATE_TEST_SUITE_P(Families, ServerRandomly, ::testing::ValuesIn(all_families()), name_of);

}  // namespace
}  // namespace rushgate::testing
