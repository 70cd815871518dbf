// Runs a sequence of random commands on two backends.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/conformance/backend.h"
#include "tests/conformance/random/client_ids.h"
#include "tests/conformance/random/grammar.h"

namespace rushgate::testing {

struct Difference {
  std::size_t steps;  // number of steps before it was found
  std::string what;
};

/// Keeps references to both backends. The oracle is right by definition. A session with a blocked
/// command gets no further commands until its reply. An argument $client2 stands for the CLIENT ID
/// of session 2, a different one on each backend.
///
/// If the sessions are connections, ConnectionDuel plays the commands.
///
/// A command "@elapse" lets the backends' clocks advance by so many ms. With `reopens`, and one
/// session, both backends are reopened at times, with a comparison of all data before and after.
class Duel {
 public:
  Duel(Backend& oracle, Backend& subject, const Grammar& grammar, bool reopens = false)
      : oracle_(oracle),
        subject_(subject),
        sessions_(grammar.sessions()),
        databases_(grammar.databases()),
        has_connections_(grammar.has_connections()),
        reopens_(reopens) {}

  /// Runs steps from empty data on. Finally compares all data, and the counts of calls and
  /// failures.
  std::optional<Difference> play(std::span<const RandomStep> steps);
  /// Returns the number of commands that the last play() sent.
  [[nodiscard]] std::size_t sent() const { return sent_; }

 private:
  void begin();
  ClientIds ask_client_ids(Backend& backend) const;
  /// Advances the subject's clock to the oracle's, which may run by itself.
  void catch_up();
  void elapse(const RandomCommand& command);
  /// Runs the steps. The first has the number `first`.
  std::optional<Difference> play_batch(std::span<const RandomStep> batch, std::size_t first);
  /// Compares all data, reopens the backends, and compares again.
  std::optional<std::string> look();
  std::optional<Difference> play_in_one_session(std::span<const RandomStep> steps);
  std::optional<Difference> play_in_sessions(std::span<const RandomStep> steps);
  std::optional<std::string> play_one(const RandomCommand& command);
  std::optional<Difference> play_on_connections(std::span<const RandomStep> steps);
  std::optional<std::string> receive_what_is_there();
  std::optional<std::string> receive_what_is_there(int session);

  Backend& oracle_;
  Backend& subject_;
  const int sessions_;
  const int databases_;
  const bool has_connections_;
  const bool reopens_;
  std::size_t sent_ = 0;
  // Reopening met a hash table. A small one was in Redis's order of tables then, which is random, and
  // has kept that order since, as has each copy of it.
  bool in_any_order_ = false;
  ClientIds oracle_ids_;
  ClientIds subject_ids_;
  std::map<int, RandomCommand> last_;  // by session
  std::set<int> waiting_;              // sessions that wait for a reply
};

/// Returns a minimal selection of the steps that still differs.
std::vector<RandomStep> shortened(std::vector<RandomStep> steps, Duel& duel);

}  // namespace rushgate::testing
