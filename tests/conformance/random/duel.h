// A sequence of random commands, played against two backends.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/conformance/backend.h"
#include "tests/conformance/random/grammar.h"

namespace rushgate::testing {

struct Difference {
  std::size_t steps;  // how many were played to find it
  std::string what;
};

/// Keeps references to both. The oracle is right by definition.
class Duel {
 public:
  Duel(Backend& oracle, Backend& subject, const Grammar& grammar)
      : oracle_(oracle),
        subject_(subject),
        sessions_(grammar.sessions()),
        databases_(grammar.databases()) {}

  /// From empty data on; at the end all data, and how often commands ran and failed.
  std::optional<Difference> play(std::span<const RandomStep> steps);

 private:
  void begin();
  /// The oracle's time goes on by itself.
  void catch_up();
  std::optional<Difference> play_in_one_session(std::span<const RandomStep> steps);
  std::optional<Difference> play_in_sessions(std::span<const RandomStep> steps);
  std::optional<std::string> play_one(const RandomCommand& command);
  std::optional<std::string> receive_what_is_there();
  std::optional<std::string> receive_what_is_there(int session);

  Backend& oracle_;
  Backend& subject_;
  const int sessions_;
  const int databases_;
  std::map<int, RandomCommand> last_;  // of each session
  std::set<int> waiting_;              // for their answers
};

/// A few of the steps that still differ: as many are left out as can be.
std::vector<RandomStep> shortened(std::vector<RandomStep> steps, Duel& duel);

}  // namespace rushgate::testing
