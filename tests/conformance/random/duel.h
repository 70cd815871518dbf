// A sequence of random commands, played against two backends.
#pragma once

#include <cstddef>
#include <functional>
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

/// Keeps references to both. The oracle is right by definition. Of several sessions, those that
/// wait are left alone until they are answered: commands for them are not sent. An argument
/// $client2 stands for what CLIENT ID says in session 2, to each backend its own.
///
/// A command "@elapse" is for the backends: so many ms pass. With `reopens`, and one session, both
/// are reopened now and then, and all data compared before and after.
class Duel {
 public:
  Duel(Backend& oracle, Backend& subject, const Grammar& grammar, bool reopens = false)
      : oracle_(oracle),
        subject_(subject),
        sessions_(grammar.sessions()),
        databases_(grammar.databases()),
        reopens_(reopens) {}

  /// From empty data on; at the end all data, and how often commands ran and failed.
  std::optional<Difference> play(std::span<const RandomStep> steps);
  /// How many commands were sent in the last play().
  [[nodiscard]] std::size_t sent() const { return sent_; }

 private:
  using ClientIds = std::map<std::string, std::string, std::less<>>;  // by what stands for them

  void begin();
  ClientIds ask_client_ids(Backend& backend) const;
  static Request with_ids(const Request& request, const ClientIds& ids);
  /// The oracle's time may go on by itself.
  void catch_up();
  void elapse(const RandomCommand& command);
  /// Plays the steps, of which `first` is the number of the first.
  std::optional<Difference> play_batch(std::span<const RandomStep> batch, std::size_t first);
  /// Compares all data; reopens, and compares again.
  std::optional<std::string> look();
  std::optional<Difference> play_in_one_session(std::span<const RandomStep> steps);
  std::optional<Difference> play_in_sessions(std::span<const RandomStep> steps);
  std::optional<std::string> play_one(const RandomCommand& command);
  std::optional<std::string> receive_what_is_there();
  std::optional<std::string> receive_what_is_there(int session);

  Backend& oracle_;
  Backend& subject_;
  const int sessions_;
  const int databases_;
  const bool reopens_;
  std::size_t sent_ = 0;
  ClientIds oracle_ids_;
  ClientIds subject_ids_;
  std::map<int, RandomCommand> last_;  // of each session
  std::set<int> waiting_;              // for their answers
};

/// A few of the steps that still differ: as many are left out as can be.
std::vector<RandomStep> shortened(std::vector<RandomStep> steps, Duel& duel);

}  // namespace rushgate::testing
