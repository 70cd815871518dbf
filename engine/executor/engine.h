// The engine: Redis's data types, commands and scripts inside the process, kept by a store. Start
// here to embed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/client/backend.h"
#include "engine/client/client.h"
#include "engine/client/client_options.h"
#include "engine/client/native_script.h"
#include "engine/commands/settings.h"
#include "engine/store/store.h"
#include "engine/time/clock.h"
#include "engine/time/manual_clock.h"
#include "engine/time/scheduler.h"

namespace spdlog {
class logger;
}

namespace rushgate {

class Executor;

/// How to end what may run a Lua script, or have one queued. (Native scripts are always awaited.)
enum class EndOfScripts : std::uint8_t {
  kAwait,  // wait until they end. One without an end takes a SCRIPT KILL of another client
  kKill,   // kill each that runs more than 10,000 instructions, about 50 µs, from now on: its
           // reply is that of SCRIPT KILL, and what it wrote is rolled back in any case
};

struct EngineOptions {
  /// Who runs requests.
  enum class Policy : std::uint8_t {
    kCallers,  // a calling thread that finds the engine idle runs its own request, and those queued
               // meanwhile, scripts included. It stops about 100 µs after its own reply, or after
               // one fsync for others, and hands the rest to the next caller that waits
    kServiceThreadOnly,  // callers always wait: somebody else's fsync or script never runs on the
                         // caller's thread. A callback (see below) holds up all requests
  };

  Policy policy = Policy::kCallers;
  std::size_t queue_capacity = 32'768;  // submissions that may wait; at most 65,534
  std::size_t group_requests_max = 1'024;

  /// Manual mode, if set: no threads; the clock moves by Engine::advance_ms() alone; same calls and
  /// seed, same results. Not owned; it must be there as long as the engine is. Clients that outlive
  /// both need neither.
  ManualClock* manual_clock = nullptr;

  /// Order of iteration of tables, and what SPOP and its like choose. 0: chosen at random, or 1 in
  /// manual mode.
  std::uint64_t seed = 0;

  /// Bytes that the keyspace may hold before commands that take memory are refused (maxmemory, with
  /// the policy noeviction); docs/differences.md says what is counted. 0: no bound.
  std::uint64_t memory_bytes_max = 0;

  /// Whether commands are timed.
  Settings settings = {};

  // ---- Lua scripts ----
  std::int64_t script_busy_after_ms =
      5'000;  // then others are answered BUSY, and SCRIPT KILL works
  std::size_t script_memory_bytes_max = 256 * 1024 * 1024;
  std::size_t scripts_cached_max = 4'096;
  bool roll_back_failed_scripts = false;  // Redis keeps what a failed script did before it failed

  /// May be null: a library prints nothing by itself.
  std::shared_ptr<spdlog::logger> logger = {};
};

/// Thread-safe. Destroying it is close().
///
/// Callbacks (completions of submit(), timers of scheduler()) run on the service thread, one at a
/// time and never inside the turn.
/// - They may use any client, blocking calls included: while such a call waits, the service thread
///   goes on running requests, expiries and BLOCK timeouts. It runs no other callback until this
///   one returns; so a blocking read there must not wait for what another callback would write.
/// - They should be short, and wait for nothing but a client: with kServiceThreadOnly nobody is
///   served meanwhile; with kCallers what has a completion is not, nor what callers leave to the
///   service thread when they have done their share.
/// - They must not close the engine.
/// - The answer BUSY, which requests get while a script runs for too long, reaches a completion
///   only when the service thread is free. If the script runs on that thread (with
///   kServiceThreadOnly, or because it was submitted with a completion or by a fiber), that is when
///   the script has ended or was killed. A call() that waits on a thread of its own gets it at
///   once, and may SCRIPT KILL.
class Engine final : public Backend {
 public:
  /// Loads what the store holds. `scripts` are the native scripts that may be called.
  /// kInvalidArgument: options that make no sense, no store, two scripts of one name.
  static absl::StatusOr<std::unique_ptr<Engine>> open(std::unique_ptr<Store> store,
                                                      EngineOptions options = {},
                                                      std::vector<NamedScript> scripts = {});
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Opens a session of its own. It may outlive the engine: its calls reply CLOSED then. When it is
  /// destroyed, its blocking commands end as if they had timed out. A client for fibers runs no
  /// command on a fiber's stack. In a callback of this engine it blocks the thread, as any client.
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override;
  using Backend::open_client;

  /// The engine's clock: the machine's, or the manual one.
  [[nodiscard]] const Clock& clock() const override;
  /// Timers fire on the service thread; in manual mode in advance_ms().
  [[nodiscard]] Scheduler& scheduler() override;

  /// Was it opened with a manual clock?
  [[nodiscard]] bool is_manual() const;
  /// Manual mode only: moves the clock on, firing timers, expiries, timeouts and the fsyncs of
  /// durability kEverySec on the way, in order of their time. Throws std::logic_error if the mode
  /// is another, std::invalid_argument if the clock would go back or, the time of day, past
  /// kLastMs.
  void advance_ms(std::int64_t duration_ms);
  static constexpr std::int64_t kLastMs = std::int64_t{1} << 62;

  /// Why writes are refused, once the store has failed. Reopening recovers what was durable.
  [[nodiscard]] absl::Status health() const override;

  /// It waits for the disk if its store keeps anything there.
  [[nodiscard]] Capabilities capabilities() const override;
  void add_native_scripts(std::span<const NamedScript> scripts) override;
  /// Does nothing: there are no connections.
  void add_connection_check(std::weak_ptr<const ConnectionCheck> check) override;

  /// Returns true while a Lua script runs: close() would wait for it.
  [[nodiscard]] bool is_running_script() const;

  /// Runs what is queued, answers those who still wait CLOSED, and lets go of the store. Again: no
  /// effect, but kKill also ends the scripts that another thread's close() waits for. Not from a
  /// callback. Completions of requests that come later run in submit().
  void close(EndOfScripts scripts = EndOfScripts::kAwait);

 private:
  friend class ServedSession;  // knows the executor

  explicit Engine(std::shared_ptr<Executor> executor);

  std::shared_ptr<Executor> executor_;
};

}  // namespace rushgate
