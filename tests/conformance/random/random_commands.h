// Sends random commands of a family to a real Redis and a subject.
#pragma once

#include <strings.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/conformance/random/duel.h"
#include "tests/conformance/random/exchange.h"
#include "tests/conformance/random/grammar.h"
#include "tests/conformance/redis_backend.h"
#include <rushgate/random_seed.h>

namespace rushgate::testing {

Grammar grammar_of(const std::string& family);

/// Returns the names of all families that fulfil the condition.
std::vector<std::string> families(const std::function<bool(const Grammar&)>& condition =
                                      [](const Grammar&) { return true; });

/// Returns RUSHGATE_RANDOM_COMMANDS of the environment, or `usual`.
std::size_t commands_wanted(std::size_t usual);

/// Returns the shell command that repeats the round of this seed in the current test.
std::string command_to_repeat(std::uint64_t seed);

/// Runs rounds with different seeds. A failed round can be repeated as the first. Clocks stand
/// still, except for @elapse of the commands.
template <class Subject>
class RandomCommandsTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    for (std::size_t i = 0; i < kProtocols.size(); ++i) {
      oracles_[i] = std::make_unique<RedisBackend>(kProtocols[i], RedisTime::kManual);
      subjects_[i] = std::make_unique<Subject>(kProtocols[i]);
    }
  }
  static void TearDownTestSuite() {
    oracles_ = {};
    subjects_ = {};
  }

  static void play(std::size_t commands, bool reopens = false) {
    const Grammar grammar = grammar_of(GetParam());
    constexpr int kFailuresMax = 5;
    std::uint64_t seed = random_seed();
    std::cout << seed_text(seed) << "\n";
    std::size_t played = 0;
    for (int failures = 0; played < commands && failures < kFailuresMax; ++seed) {
      if (!play_round(grammar, reopens, seed, played)) ++failures;
    }
    std::cout << played << " commands\n";
  }

 private:
  /// Returns true if reopening would lose settings. Settings end with the engine, while Redis keeps
  /// encodings that they caused.
  static bool changes_settings(const RandomStep& step) {
    return std::ranges::any_of(step, [](const RandomCommand& command) {
      return ::strcasecmp(std::string(command.request[0]).c_str(), "CONFIG") == 0;
    });
  }

  static constexpr std::array kProtocols = {RespVersion::k2, RespVersion::k3};

  static bool play_round(const Grammar& grammar, bool reopens, std::uint64_t seed,
                         std::size_t& played) {
    constexpr std::size_t kStepsOfRound = 1'500;
    Random random(seed);
    RandomRound round(grammar, random);
    std::vector<RandomStep> steps = round.first();
    while (steps.size() < kStepsOfRound) steps.push_back(round.next());
    if (reopens) std::erase_if(steps, &changes_settings);
    const std::size_t protocol = seed % kProtocols.size();
    Duel duel(*oracles_[protocol], *subjects_[protocol], grammar, reopens);
    auto difference = duel.play(steps);
    played += duel.sent();
    if (!difference) return true;
    std::cout << "to repeat: " << command_to_repeat(seed) << std::endl;  // before shortening
    steps.resize(difference->steps);
    const std::string first = difference->what;
    difference = duel.play(steps);
    if (difference) {
      steps = shortened(std::move(steps), duel);
      difference = duel.play(steps);
    }
    ADD_FAILURE() << report(seed, steps,
                            difference ? difference->what : "not reproduced: " + first);
    return false;
  }

  static std::string report(std::uint64_t seed, const std::vector<RandomStep>& steps,
                            const std::string& what) {
    constexpr std::size_t kShown = 60;  // a failure without reproduction is not shortened
    std::string text;
    for (std::size_t i = steps.size() - std::min(steps.size(), kShown); i < steps.size(); ++i) {
      for (const RandomCommand& command : steps[i]) text += transcript_line(command) + "\n";
    }
    return text + what + "\nto repeat: " + command_to_repeat(seed);
  }

  static inline std::array<std::unique_ptr<RedisBackend>, kProtocols.size()> oracles_;
  static inline std::array<std::unique_ptr<Subject>, kProtocols.size()> subjects_;
};

inline std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace rushgate::testing
