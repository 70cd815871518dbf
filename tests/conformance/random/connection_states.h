// The states of a server's connections.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/conformance/backend.h"

namespace rushgate::testing {

struct ConnectionState {
  std::string fields;  // those of CLIENT LIST that commands decide: "db=0 sub=1 … cmd=blpop"
  std::string command;
  std::string redirect;  // the CLIENT ID that gets the messages of tracking; "0", "-1": none
  bool is_blocked = false;
  bool is_in_transaction = false;
};

/// By CLIENT ID.
using ConnectionStates = std::map<std::string, ConnectionState, std::less<>>;

/// Returns the states of all connections that the server is not about to close.
ConnectionStates connection_states(Backend& backend);

}  // namespace rushgate::testing
