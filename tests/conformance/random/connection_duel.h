// Plays random commands on the connections of two servers.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "tests/conformance/backend.h"
#include "tests/conformance/random/client_ids.h"
#include "tests/conformance/random/connection_states.h"
#include "tests/conformance/random/grammar.h"

namespace rushgate::testing {

/// Keeps references to both backends. The oracle is right by definition. Each command has taken
/// effect on both before the next one is sent. Then the states of all connections are compared, and
/// all that they have received: the replies, and the messages of RESP3, each in their order. A
/// blocked connection is compared when it continues. Pipelined commands run until one of them
/// blocks. Expired keys are removed only when a command finds them.
///
/// A connection that the server has closed begins again. "@close" closes the connection of its
/// session, which may be blocked.
class ConnectionDuel {
 public:
  /// Begins as many sessions on each backend.
  ConnectionDuel(Backend& oracle, Backend& subject, int sessions);

  /// Returns true if the session gets no commands other than @close.
  [[nodiscard]] bool is_blocked(int session) const { return blocked_.contains(session); }

  /// Plays the command, unless its session is blocked. Returns a difference.
  std::optional<std::string> play(const RandomCommand& command);
  /// Compares the effects of the time that has passed on both. Returns a difference.
  std::optional<std::string> elapsed();
  /// Ends all blocked commands. Returns a difference.
  std::optional<std::string> finish();

 private:
  struct Side {
    Backend& backend;
    ClientIds ids = {};
    ConnectionStates states = {};
  };

  void send(const Side& side, const RandomCommand& command);
  void send_pipelined(const Side& side, const RandomCommand& command);
  void read_states(Side& side) const;
  static void reconnect(Side& side, int session);
  void reconnect(int session);
  std::optional<std::string> effects_differ(const RandomCommand& command);
  std::optional<std::string> states_differ(int session);
  void send_barriers(const Side& side) const;
  std::optional<std::string> received_differs(const RandomCommand& command, int session);
  std::optional<std::string> last_bytes_differ(int session);

  const int sessions_;
  Side oracle_;
  Side subject_;
  std::set<int> blocked_;
  std::set<int> pipelines_;  // sessions with pipelined commands that may not have run yet
};

}  // namespace rushgate::testing
