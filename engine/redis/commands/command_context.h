// The environment of a running command.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/random.h"
#include "engine/redis/commands/channels.h"
#include "engine/redis/commands/client_pause.h"
#include "engine/redis/commands/installed_commands.h"
#include "engine/redis/commands/latency_events.h"
#include "engine/redis/commands/session.h"
#include "engine/redis/commands/settings.h"
#include "engine/redis/commands/slowlog_entries.h"
#include "engine/redis/commands/statistics.h"
#include "engine/redis/keyspace/keyspace.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

class LuaHost;
class NativeHost;
class Sessions;
class TrackingTable;

/// The running Lua script or function, for clients that arrive while it exceeds its time limit
/// (BusyMonitor). It has written if keyspace.changes().changed_since(began).
struct RunningScript {
  std::string_view name;  // a script's SHA-1, or a function's name
  Changes::Savepoint began;
  bool kill = false;               // SCRIPT KILL was granted: BusyMonitor::poll() returns it
  RequestView function_call = {};  // FCALL with its arguments; empty for a script
  std::chrono::steady_clock::time_point function_began = {};

  [[nodiscard]] bool is_function() const { return !function_call.empty(); }
};

/// The clients with blocked commands, and those with requests that CLIENT PAUSE delays.
class BlockedClients {
 public:
  virtual ~BlockedClients() = default;
  [[nodiscard]] virtual std::size_t count() const = 0;
  /// Returns the number of blocked clients with a timeout.
  [[nodiscard]] virtual std::size_t count_with_timeout() const = 0;
  [[nodiscard]] virtual bool is_blocked(std::uint64_t session_id) const = 0;
  /// Ends a client's blocking command: with `error`, or as if it had timed out. Returns false if
  /// the client is not blocked.
  virtual bool unblock(std::uint64_t session_id, std::optional<Reply> error) = 0;
  /// Ends CLIENT PAUSE: the delayed requests run, in their order.
  virtual void end_pause() = 0;
  /// Removes the delayed requests of a client that ends.
  virtual void drop_paused(std::uint64_t session_id) = 0;
};

/// Shared by all commands. Owned by the executor.
struct CommandServices {
  Keyspace& keyspace;
  LuaHost& lua;
  NativeHost& natives;
  Sessions& sessions;
  Channels& channels;
  TrackingTable& tracking;
  BlockedClients& blocked;
  std::function<absl::Status()> sync;     // Client::sync(): a failure stops all writing
  bool roll_back_failed_scripts = false;  // roll back failed Lua scripts, unlike Redis
  std::string write_refusal =
      {};  // if not empty, the reply to every write, because the store has failed
  RunningScript* running_script = nullptr;
  std::uint64_t memory_bytes_max = 0;  // maxmemory; 0: no bound
  bool refuses_growth = false;  // it was exceeded when the client's request began; false again
                                // once a script has written
  std::int64_t began_ms = 0;    // when the engine was opened: ms since 1970 UTC
  std::int64_t saved_ms = 0;    // the last successful SAVE, or began_ms
  std::uint64_t saves = 0;      // successful SAVEs
  const CommitCounts* commits = nullptr;  // null: no store is committed to
  std::size_t memory_peak_bytes = 0;      // the most memory of the keyspace after a commit batch
  std::string run_id = {};                // 40 hexadecimal digits, drawn when the engine was opened
  bool saves_batch = false;  // SAVE: the commit batch is synced before its replies are sent
  Statistics statistics = {};
  Settings settings = {};
  LatencyEvents latency_events = {};
  Slowlog slowlog = {};
  ClientPause pause = {};
  InstalledCommands program_commands = {};  // any thread may change them
};

/// A time at which a blocked command runs again for a key that is not signalled.
struct TimedRetry {
  std::string key;
  std::int64_t at_ms;  // ms since 1970 UTC; in the future
};

/// A blocking command that found no data. When one of `keys` is signalled, `retry` runs for that
/// key alone (CommandContext::ready_key()). The reply after the timeout is `on_timeout`.
struct BlockRequest {
  std::vector<std::string> keys;
  std::int64_t timeout_ms;  // 0: none
  Request retry;            // the request with fixed arguments ('$' becomes the last id)
  Reply on_timeout;
  std::vector<TimedRetry> timed_retries = {};  // of a retry: only for its key
};

/// One execution of one command. Valid during the call.
class CommandContext {
 public:
  enum class Origin : std::uint8_t {
    kClient,       // may block
    kTransaction,  // under EXEC: a blocking command times out at once
    kScript,       // as kTransaction
  };

  /// The cause of the retry of a blocking command.
  enum class Woken : std::uint8_t { kBySignal, kByTime };

  CommandContext(CommandServices& services, Session& session, RequestView request, Origin origin,
                 bool read_only)
      : services_(services),
        session_(session),
        request_(request),
        origin_(origin),
        read_only_(read_only) {}
  CommandContext(CommandServices& services, Session& session, const Request& request, Origin origin,
                 bool read_only, std::optional<std::string_view> ready_key = std::nullopt,
                 Woken woken = Woken::kBySignal)
      : services_(services),
        session_(session),
        views_(request.views()),
        request_(views_),
        origin_(origin),
        read_only_(read_only),
        ready_key_(ready_key),
        woken_(woken) {}
  CommandContext(const CommandContext&) = delete;
  CommandContext& operator=(const CommandContext&) = delete;

  // ---- The request: argument 0 is the command's name ----
  [[nodiscard]] RequestView request() const { return request_; }
  [[nodiscard]] std::size_t size() const { return request_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t index) const { return request_[index]; }

  // ---- Where it runs ----
  [[nodiscard]] CommandServices& services() const { return services_; }
  [[nodiscard]] Keyspace& keyspace() const { return services_.keyspace; }
  [[nodiscard]] Database& db() const { return services_.keyspace.db(session_.db); }
  [[nodiscard]] Session& session() const { return session_; }
  [[nodiscard]] std::int64_t now_ms() const { return services_.keyspace.now_ms(); }
  /// proto-max-bulk-len: the length of the longest string.
  [[nodiscard]] std::size_t string_bytes_max() const { return services_.settings.string_bytes_max; }
  [[nodiscard]] bool resp3() const { return session_.protocol == 3; }
  [[nodiscard]] bool in_script() const { return origin_ == Origin::kScript; }
  [[nodiscard]] bool read_only() const {
    return read_only_;
  }  // under EVAL_RO: write commands are refused

  /// Sets `object` to the object at `key`, or to null if there is none. Returns false if it has
  /// another type than `type`; the command then replies errors::kWrongType.
  [[nodiscard]] bool find(std::string_view key, ValueType type, Object*& object) const {
    object = db().find(key);
    if (object == nullptr || object->type() == type) return true;
    object = nullptr;
    return false;
  }

  /// Returns the key for which a blocking command is retried. Only this key may be examined. If it
  /// has the wrong type, the command blocks again.
  [[nodiscard]] const std::optional<std::string_view>& ready_key() const { return ready_key_; }
  /// Returns true if a blocking command is retried because ready_key() was signalled.
  [[nodiscard]] bool is_woken_by_signal() const { return ready_key_ && woken_ == Woken::kBySignal; }
  /// Returns true if a blocking command may examine `key`.
  [[nodiscard]] bool may_serve(std::string_view key) const {
    return !ready_key_ || *ready_key_ == key;
  }
  /// Returns true outside of scripts and transactions.
  [[nodiscard]] bool may_wait() const { return origin_ == Origin::kClient; }
  /// Returns true if the command comes from a client and runs for the first time.
  [[nodiscard]] bool is_new_request() const { return may_wait() && !ready_key_; }
  /// Blocks the client: `return context.block(…);`. In a script or transaction, replies as after a
  /// timeout.
  Reply block(BlockRequest request) {
    if (!may_wait()) return std::move(request.on_timeout);
    block_request_ = std::move(request);
    return Reply::nil();
  }
  /// Returns the argument of block(), if the command blocks. Its Reply is meaningless then.
  [[nodiscard]] std::optional<BlockRequest>& block_request() { return block_request_; }

  /// Delays the request until the end of CLIENT PAUSE. Its Reply is meaningless then.
  void pause() { is_paused_ = true; }
  [[nodiscard]] bool is_paused() const { return is_paused_; }

  /// Publishes an event of `key` in the client's database, if notify-keyspace-events asks for its
  /// class. Called after the change, in the order of Redis's events.
  void notify(KeyEventFlag events, std::string_view event, std::string_view key) const {
    services_.keyspace.events().note(events, event, session_.db, key);
  }
  /// Publishes "del" if the command has removed the last element of `key`.
  void notify_if_removed(std::string_view key) const {
    if (services_.keyspace.events().wants(kGenericEvents) && db().find(key) == nullptr)
      notify(kGenericEvents, "del", key);
  }

  /// Sets the number of failures of a command that counts the errors in its reply
  /// itself.
  void set_failures(std::uint64_t failures) { failures_ = failures; }
  [[nodiscard]] const std::optional<std::uint64_t>& failures() const { return failures_; }

 private:
  CommandServices& services_;
  Session& session_;
  const Request::Views views_;  // empty if the caller owns them
  const RequestView request_;
  const Origin origin_;
  const bool read_only_;
  const std::optional<std::string_view> ready_key_;
  const Woken woken_ = Woken::kBySignal;
  std::optional<BlockRequest> block_request_;
  std::optional<std::uint64_t> failures_;
  bool is_paused_ = false;
};

}  // namespace rushgate
