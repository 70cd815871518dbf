// What a command sees while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "engine/client/reply.h"
#include "engine/client/request.h"
#include "engine/commands/channels.h"
#include "engine/commands/session.h"
#include "engine/commands/settings.h"
#include "engine/commands/statistics.h"
#include "engine/keyspace/keyspace.h"

namespace rushgate {

class LuaHost;
class NativeHost;
class Sessions;

/// The Lua script that is running, for those who come while it is over its time (BusyMonitor).
/// Whether it has written: keyspace.changes().changed_since(began).
struct RunningScript {
  std::string_view sha1;
  Changes::Mark began;
  bool kill = false;  // SCRIPT KILL was granted: BusyMonitor::poll() is to say so
};

/// Clients whose commands wait.
class BlockedClients {
 public:
  virtual ~BlockedClients() = default;
  [[nodiscard]] virtual std::size_t count() const = 0;
  /// Those whose waiting ends by itself.
  [[nodiscard]] virtual std::size_t count_with_timeout() const = 0;
  [[nodiscard]] virtual bool is_blocked(std::uint64_t session_id) const = 0;
  /// Answers what the client waits for: with `error`, or as if the time were up. False if it does
  /// not wait.
  virtual bool unblock(std::uint64_t session_id, std::optional<Reply> error) = 0;
};

/// What all commands share. Owned by the executor.
struct CommandServices {
  Keyspace& keyspace;
  LuaHost& lua;
  NativeHost& natives;
  Sessions& sessions;
  Channels& channels;
  BlockedClients& blocked;
  std::function<absl::Status()> sync;     // Client::sync(): a failure stops all writing
  bool roll_back_failed_scripts = false;  // undo what a failed Lua script did; Redis does not
  std::string write_refusal =
      {};  // if not empty, the error that every write gets: the store has failed
  RunningScript* running_script = nullptr;
  std::uint64_t memory_bytes_max = 0;  // maxmemory; 0: no bound
  bool refuses_growth = false;  // more was used when the client's request began. Within a script no
                                // more once it may write
  std::int64_t began_ms = 0;    // when the engine was opened: ms since 1970 UTC
  Statistics statistics = {};
  Settings settings = {};
};

/// A blocking command that found nothing: run `retry` again when one of `keys` is signalled, for
/// that key alone (CommandContext::ready_key()), answer `on_timeout` when the time is up.
struct Park {
  std::vector<std::string> keys;
  std::int64_t timeout_ms;  // 0: none
  Request retry;            // the request with what must be fixed fixed ('$' is the id of now)
  Reply on_timeout;
};

/// One run of one command. Valid during the call.
class CommandContext {
 public:
  enum class Origin : std::uint8_t {
    kClient,       // may block
    kTransaction,  // under EXEC: a blocking command acts as if its time were up
    kScript,       // that, too
  };

  CommandContext(CommandServices& services, Session& session, RequestView request, Origin origin,
                 bool read_only)
      : services_(services),
        session_(session),
        request_(request),
        origin_(origin),
        read_only_(read_only) {}
  CommandContext(CommandServices& services, Session& session, const Request& request, Origin origin,
                 bool read_only, std::optional<std::string_view> ready_key = std::nullopt)
      : services_(services),
        session_(session),
        views_(request.views()),
        request_(views_),
        origin_(origin),
        read_only_(read_only),
        ready_key_(ready_key) {}
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
  [[nodiscard]] bool resp3() const { return session_.protocol == 3; }
  [[nodiscard]] bool in_script() const { return origin_ == Origin::kScript; }
  [[nodiscard]] bool read_only() const {
    return read_only_;
  }  // under EVAL_RO: write commands are refused

  /// The object at `key` if it is of `type`. False, with `object` null, if it is of another: answer
  /// errors::kWrongType then. True with null if there is none.
  [[nodiscard]] bool find(std::string_view key, ValueType type, Object*& object) const {
    object = db().find(key);
    if (object == nullptr || object->type() == type) return true;
    object = nullptr;
    return false;
  }

  /// Of a command that has waited: the key that was signalled, which alone is to be looked at. If
  /// it is of another type than what is waited for, the command parks again.
  [[nodiscard]] const std::optional<std::string_view>& ready_key() const { return ready_key_; }
  /// Is a blocking command to look at `key`?
  [[nodiscard]] bool may_serve(std::string_view key) const {
    return !ready_key_ || *ready_key_ == key;
  }
  /// May it wait? Not in a script or transaction.
  [[nodiscard]] bool may_wait() const { return origin_ == Origin::kClient; }
  /// Does it come from a client, to be run for the first time?
  [[nodiscard]] bool is_new_request() const { return may_wait() && !ready_key_; }
  /// Waits instead of answering: `return context.park(…);`. In a script or transaction it is as if
  /// the time were up at once.
  Reply park(Park park) {
    if (!may_wait()) return std::move(park.on_timeout);
    park_ = std::move(park);
    return Reply::nil();
  }
  /// What the command waits for, if it does; its Reply means nothing then.
  [[nodiscard]] std::optional<Park>& parked() { return park_; }

  /// Of a command that has noted in the statistics itself what errors its answer holds: how many
  /// times it has failed.
  void set_failures(std::uint64_t failures) { failures_ = failures; }
  [[nodiscard]] const std::optional<std::uint64_t>& failures() const { return failures_; }

 private:
  CommandServices& services_;
  Session& session_;
  const Request::Views views_;  // empty if the caller keeps them
  const RequestView request_;
  const Origin origin_;
  const bool read_only_;
  const std::optional<std::string_view> ready_key_;
  std::optional<Park> park_;
  std::optional<std::uint64_t> failures_;
};

}  // namespace rushgate
