// The embedded engine: Redis's data types, commands and scripts in the process, with durable
// storage. Start here to embed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/script.h>
#include <rushgate/store.h>

namespace spdlog {
class logger;
}

namespace rushgate {

class Executor;

/// What close() does with running and queued Lua scripts. Native scripts always run to their end.
enum class EndOfScripts : std::uint8_t {
  kAwait,  // wait until they end; an endless script needs SCRIPT KILL from another client
  kKill,   // kill scripts that run for more than 10,000 instructions (about 50 µs) from now on;
           // their changes are rolled back, and they reply as after SCRIPT KILL
};

struct EngineOptions {
  /// The threads that run requests.
  enum class Policy : std::uint8_t {
    kCallers,  // a calling thread that finds the engine idle runs its request and the requests queued
               // meanwhile, scripts included. It stops about 100 µs after its own reply, or after
               // one fsync for others, and hands the rest to the next waiting caller
    kServiceThreadOnly,  // callers always wait: other clients' fsyncs and scripts never run on the
                         // caller's thread. A callback (see below) blocks all requests
  };

  Policy policy = Policy::kCallers;
  std::size_t queue_capacity = 32'768;  // requests that may wait; at most 65,534
  std::size_t batch_requests_max = 1'024;

  /// Manual mode, if set: no threads. The clock moves only in Engine::advance_ms(). The same calls
  /// and seed give the same results. Not owned; it must outlive the engine. Clients may outlive
  /// both.
  ManualClock* manual_clock = nullptr;

  /// Seed of the iteration order of tables and of the choices of SPOP and similar commands. 0: a
  /// random seed, or 1 in manual mode.
  std::uint64_t seed = 0;

  /// The most memory that the keyspace may take, in bytes. Beyond it, commands that need memory are
  /// refused (maxmemory with the policy noeviction). docs/differences.md lists what counts. 0: no
  /// limit.
  std::uint64_t memory_bytes_max = 0;

  /// Measures commands for INFO and LATENCY, at about 50 ns per command (latency-tracking). Redis's
  /// default is true.
  bool latency_tracking = false;

  /// Keeps commands that take at least this time (µs) in the slow log, at about 50 ns per command
  /// (slowlog-log-slower-than). Redis's default is 10,000. Negative: no slow log.
  std::int64_t slowlog_log_slower_than_us = -1;

  /// Allows the command DEBUG (enable-debug-command). A client can then stop all requests by DEBUG
  /// SLEEP.
  bool debug_commands = false;

  // ---- Lua scripts ----
  std::int64_t script_busy_after_ms =
      5'000;  // after that, other clients get BUSY, and SCRIPT KILL works
  std::size_t script_memory_bytes_max = 256 * 1024 * 1024;
  std::size_t scripts_cached_max = 4'096;
  bool roll_back_failed_scripts = false;  // Redis keeps the changes of failed scripts

  /// May be null. The library logs nothing else.
  std::shared_ptr<spdlog::logger> logger = {};
};

/// Runs Redis's commands and scripts on a store, in the process. Thread-safe. Destroying it is
/// close().
///
/// Callbacks (completions of submit(), timers of scheduler()) run on the service thread, one at a
/// time and never inside the turn.
/// - They may use any client, also with blocking calls. While such a call waits, the service thread
///   continues to run requests, expiries and BLOCK timeouts. It runs no other callback until this
///   one returns, so a blocking read in a callback must not wait for a write of another callback.
/// - They should be short, and wait only for clients. Until a callback returns, no request with a
///   completion runs, and none that callers leave to the service thread. With kServiceThreadOnly no
///   request runs at all.
/// - They must not close the engine.
/// - While a script runs for too long, requests get the reply BUSY. A completion receives it only
///   when the service thread is free. If the script runs on that thread (with kServiceThreadOnly,
///   or because it was submitted with a completion or by a fiber), completions wait until it has
///   ended or was killed. A call() that waits on a thread of its own gets BUSY at once, and may use
///   SCRIPT KILL.
class Engine final : public Backend {
 public:
  /// Opens the engine and loads the data of the store. `scripts` are the native scripts.
  /// kInvalidArgument: invalid options, no store, or two scripts of one name.
  static absl::StatusOr<std::unique_ptr<Engine>> open(std::unique_ptr<Store> store,
                                                      EngineOptions options = {},
                                                      std::vector<NamedScript> scripts = {});
  ~Engine() override;
  /// Returns the version of this library, as "0.1.0".
  static std::string_view version();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Opens a session, which may outlive the engine; its calls then return CLOSED. Its destructor
  /// makes its blocking commands time out. A client for fibers never runs a command on a fiber's
  /// stack. In a callback of this engine it blocks the thread, as any client does.
  [[nodiscard]] std::unique_ptr<Client> open_client(const ClientOptions& options) override;
  using Backend::open_client;

  /// Returns the engine's clock: the system's, or the manual one.
  [[nodiscard]] const Clock& clock() const override;
  /// Returns the timers. They run on the service thread; in manual mode in advance_ms().
  [[nodiscard]] Scheduler& scheduler() override;

  /// Returns true if the engine was opened with a manual clock.
  [[nodiscard]] bool is_manual() const;
  /// Manual mode only. Moves the clock forward and runs due timers, expiries, timeouts and the
  /// fsyncs of durability kEverySec in order of their time. Throws std::logic_error in another
  /// mode. Throws std::invalid_argument if the clock would go back, or the time of day would pass
  /// kLastMs.
  void advance_ms(std::int64_t duration_ms);
  static constexpr std::int64_t kLastMs = std::int64_t{1} << 62;

  /// Returns OK, or why writes are refused after a store failure. kUnavailable: the engine reopens
  /// the store by itself, and writes are accepted again when that succeeds (RocksDbStore). Any
  /// other code: only opening another engine recovers the durable data.
  [[nodiscard]] absl::Status health() const override;

  /// sync() waits for the disk if the store has one.
  [[nodiscard]] Capabilities capabilities() const override;
  void add_native_scripts(std::span<const NamedScript> scripts) override;
  /// Copies the store, while requests go on. kUnimplemented: it is in memory.
  absl::Status copy_to(const std::filesystem::path& dir, const std::filesystem::path& previous,
                       AfterPortion after) override;
  /// Does nothing: the embedded engine has no connections.
  void add_connection_check(std::weak_ptr<const ConnectionCheck> check) override;

  /// Returns true while a Lua script runs. close() would wait for it.
  [[nodiscard]] bool is_running_script() const;

  /// Runs the queued requests, replies CLOSED to blocked commands, and closes the store. Repeated
  /// calls do nothing, except that kKill also ends scripts that another thread's close() waits for.
  /// Must not be called in a callback. Completions of later requests run in submit().
  void close(EndOfScripts scripts = EndOfScripts::kAwait);

 private:
  friend class ServedSession;  // uses the executor

  explicit Engine(std::shared_ptr<Executor> executor);

  std::shared_ptr<Executor> executor_;
};

/// Returns "await" or "kill".
std::string_view end_of_scripts_name(EndOfScripts scripts);
/// Returns "callers" or "service thread only".
std::string_view policy_name(EngineOptions::Policy policy);

}  // namespace rushgate
