// What the engine remembers of one client between its requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/client/request.h"
#include "engine/keyspace/watched_key.h"

namespace rushgate {

/// What MULTI has begun.
struct Transaction {
  std::vector<Request> requests;  // to run at EXEC
  bool is_broken = false;         // one of them made no sense: EXEC will refuse all
};

/// Belongs to whoever has the turn.
struct Session {
  std::uint64_t id = 0;
  std::uint8_t db = 0;  // SELECT
  int protocol = 2;     // HELLO: 2 or 3
  std::string name;     // CLIENT SETNAME

  std::optional<Transaction> transaction;  // MULTI
  std::vector<WatchedKey> watched;         // WATCH

  // ---- Of clients that come over a connection ----
  std::string password;          // what AUTH must give; empty: nobody asks
  bool is_authenticated = true;  // if not, it may do little more than AUTH
  bool is_closing = false;       // QUIT: after the answer the connection ends
};

}  // namespace rushgate
