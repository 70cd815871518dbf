// What the engine remembers of one client between its requests.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/client/reply.h"
#include "engine/client/request.h"
#include "engine/commands/channels.h"
#include "engine/commands/outlet.h"
#include "engine/keyspace/watched_key.h"

namespace rushgate {

struct CommandSpec;

/// What MULTI has begun.
struct Transaction {
  std::vector<Request> requests;  // to run at EXEC
  bool is_broken = false;         // one of them made no sense: EXEC will refuse all
  bool asks_for_memory = false;   // one of them does: so does EXEC
};

/// A value of a session that any thread may read. Copying it copies the value.
template <class T>
class SharedValue {
 public:
  explicit SharedValue(T value) : value_(value) {}
  SharedValue(const SharedValue& other) : value_(other.get()) {}
  SharedValue& operator=(const SharedValue& other) { return *this = other.get(); }
  SharedValue& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return get(); }

 private:
  [[nodiscard]] T get() const { return value_.load(std::memory_order_relaxed); }

  std::atomic<T> value_;
};

/// What a client has the engine keep for it, in bytes.
struct HeldBytes {
  SharedValue<std::size_t> requests{0};  // that wait for EXEC
  SharedValue<std::size_t> watched{0};   // keys
  SharedValue<std::size_t> channels{0};  // those that it is subscribed to, and patterns
  SharedValue<std::size_t> name{0};

  [[nodiscard]] std::size_t total() const { return requests + watched + channels + name; }
};

/// Belongs to the thread that holds the turn.
struct Session {
  std::uint64_t id = 0;
  std::uint8_t db = 0;        // SELECT
  int protocol = 2;           // HELLO: 2 or 3
  std::string name;           // CLIENT SETNAME
  std::uint64_t replies = 0;  // requests answered so far

  std::optional<Transaction> transaction;  // MULTI
  std::vector<WatchedKey> watched;         // WATCH
  Subscriptions subscriptions;             // SUBSCRIBE and the like
  SharedValue<bool> is_subscribed{false};  // there are some: for any thread
  HeldBytes held_bytes;                    // of all these: for any thread
  std::shared_ptr<Outlet> outlet;          // null: it takes answers only

  // ---- CLIENT REPLY ----
  bool is_silent = false;  // OFF
  int silent_for = 0;      // SKIP: so many answers are not sent

  // ---- What CLIENT LIST shows ----
  std::string address;  // empty: it is a client of this process
  std::string local_address;
  std::int64_t began_ms = 0;  // ms since 1970 UTC
  std::int64_t last_ms = 0;   // of its last request
  const CommandSpec* last_command = nullptr;
  bool is_protected = false;  // CLIENT NO-EVICT

  // ---- Of clients that come over a connection ----
  std::string password;  // what AUTH must give; empty: nobody asks
  std::size_t reply_bytes_max = std::numeric_limits<std::size_t>::max();  // of one request
  bool is_authenticated = true;  // if not, it may do little more than AUTH
  bool is_closing = false;       // QUIT: after the answer the connection ends
  bool is_ended = false;         // its client is gone, or was killed: nothing of it runs any more
};

/// Has the client said that it wants no answer (CLIENT REPLY)? To be asked once an answer.
inline bool wants_no_answer(Session& session) {
  if (session.silent_for == 0) return session.is_silent;
  --session.silent_for;
  return true;
}

/// Returns what takes the place of a reply that the client does not want: no bytes are sent for it.
inline Reply no_reply() { return Reply::several({}); }
inline bool is_no_reply(const Reply& reply) {
  return reply.kind() == Reply::Kind::kSeveral && reply.elements().empty();
}

}  // namespace rushgate
