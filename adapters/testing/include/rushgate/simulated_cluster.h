// A Redis Cluster of embedded engines for tests: no process, no network and no thread; its clock moves on
// request. Masters are killed, come back with less than they had, and give slots to each other when the test
// says so. docs/testing-with-rushgate.md has an example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <rushgate/backend.h>
#include <rushgate/clock.h>

namespace rushgate::testing {

/// What a master has when it starts again.
enum class Comeback : std::uint8_t {
  kWithAll,       // everything that it replied to
  kAsReplicated,  // what it had at the last replicate() or start(): a replica that lagged has taken over
  kEmpty,
};

/// Masters with the numbers 0, 1, …, which have about as many slots each. A request to a master that is down
/// returns CLOSED, and so does Client::sync_of(); one whose keys are in several slots, CROSSSLOT. Channels are those of the whole cluster,
/// and work while a master is down.
///
/// Not thread-safe. Must outlive the backends of connect(). Throws std::runtime_error if an engine cannot be
/// opened, and std::out_of_range if there is no such master.
class SimulatedCluster {
 public:
  explicit SimulatedCluster(int masters, std::int64_t now_ms = ManualClock::kStartMs);
  ~SimulatedCluster();
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  /// Opens a backend as a process does that has the cluster's URL: it runs the connection checks of its own
  /// whenever it connects to a master that has started since. Scripts run as Lua, as on a server.
  [[nodiscard]] std::unique_ptr<Backend> connect();

  [[nodiscard]] int masters() const;
  /// Returns the master of a key's slot.
  [[nodiscard]] int master_of(std::string_view key) const;
  [[nodiscard]] bool is_up(int master) const;

  /// Ends a master. Nothing happens if it is down.
  void kill(int master);
  /// Starts a master, or starts it again. Connections to it are made anew.
  void start(int master, Comeback comeback);
  /// Copies what a master has to its replica. Nothing happens if it is down.
  void replicate(int master);
  /// Moves a key's slot to another master, with all its keys. Nothing happens if one of the two is down.
  void move_slot_of(std::string_view key, int to);

  [[nodiscard]] std::int64_t now_ms() const;
  /// Advances the clock of all. Timers of backends run.
  void advance_ms(std::int64_t duration_ms);

 private:
  class Impl;
  class ConnectedBackend;
  class Session;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rushgate::testing
