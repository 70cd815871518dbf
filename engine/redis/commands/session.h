// The state of one client between its requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/base/shared_value.h"
#include "engine/redis/commands/channels.h"
#include "engine/redis/commands/connection_buffers.h"
#include "engine/redis/commands/key_tracking.h"
#include "engine/redis/commands/outlet.h"
#include "engine/redis/keyspace/watched_key.h"
#include <rushgate/reply.h>
#include <rushgate/request.h>

namespace rushgate {

struct CommandSpec;

/// The state between MULTI and EXEC.
struct Transaction {
  std::vector<Request> requests;  // to run at EXEC
  bool is_broken = false;         // one of them was invalid: EXEC will fail
  bool asks_for_memory = false;   // one of them needs memory, so EXEC does
  bool may_write = false;         // one of them may write, so EXEC does
};

/// Memory that the engine keeps for a client, in bytes.
struct HeldBytes {
  SharedValue<std::size_t> requests{0};  // waiting for EXEC
  SharedValue<std::size_t> watched{0};   // keys
  SharedValue<std::size_t> channels{0};  // subscribed channels and patterns
  SharedValue<std::size_t> prefixes{0};  // of CLIENT TRACKING
  SharedValue<std::size_t> names{0};     // of the client and of its library

  [[nodiscard]] std::size_t total() const {
    return requests + watched + channels + prefixes + names;
  }
};

/// Belongs to the thread that holds the turn.
struct Session {
  std::uint64_t id = 0;
  std::uint8_t db = 0;        // SELECT
  int protocol = 2;           // HELLO: 2 or 3
  std::string name;           // CLIENT SETNAME
  std::uint64_t replies = 0;  // number of replies so far

  std::optional<Transaction> transaction;           // MULTI
  std::set<WatchedKey, WatchedKey::Order> watched;  // WATCH
  bool has_lost_watch = false;                      // EXEC will fail
  std::uint64_t watch_checked_at = 0;      // Keyspace::changes_noted() when it had not lost one
  Subscriptions subscriptions;             // SUBSCRIBE and the like
  bool is_monitor = false;                 // MONITOR
  SharedValue<bool> is_subscribed{false};  // has subscriptions or is a monitor; any thread may
                                           // read it
  std::optional<KeyTracking> tracking;     // CLIENT TRACKING; only TrackingTable begins and ends it
  HeldBytes held_bytes;                    // total of the above; any thread may read it
  std::shared_ptr<Outlet> outlet;          // null: receives only replies

  Session* client = nullptr;  // of a script's own session: the client that runs the script

  // ---- CLIENT REPLY ----
  bool is_silent = false;  // OFF
  int silent_for = 0;      // SKIP: so many replies are not sent

  // ---- Shown by CLIENT LIST ----
  std::string address;  // empty: a client of this process
  std::string local_address;
  std::int64_t began_ms = 0;  // ms since 1970 UTC
  std::int64_t last_ms = 0;   // time of its last request
  const CommandSpec* last_command = nullptr;
  bool is_protected = false;      // CLIENT NO-EVICT
  bool keeps_idle_times = false;  // CLIENT NO-TOUCH
  std::string library_name;       // CLIENT SETINFO
  std::string library_version;
  ConnectionBuffers buffers;

  // ---- Of clients that come over a connection ----
  std::string password;  // required by AUTH; empty: no AUTH needed
  std::size_t reply_bytes_max = std::numeric_limits<std::size_t>::max();  // of one request
  bool is_authenticated = true;        // if false, only AUTH and a few others are allowed
  bool is_closing = false;             // QUIT: the connection ends after the reply
  SharedValue<bool> is_paused{false};  // its connection waits for the end of CLIENT PAUSE; any
                                       // thread may read it
  bool is_ended = false;  // the client has left or was killed: no more of its requests run
};

/// Returns true if this reply must not be sent (CLIENT REPLY). Call it exactly once per reply.
inline bool suppresses_reply(Session& session) {
  if (session.silent_for == 0) return session.is_silent;
  --session.silent_for;
  return true;
}

/// Returns the reply that sends no bytes.
inline Reply no_reply() { return Reply::several({}); }
inline bool is_no_reply(const Reply& reply) {
  return reply.kind() == Reply::Kind::kSeveral && reply.elements().empty();
}

}  // namespace rushgate
