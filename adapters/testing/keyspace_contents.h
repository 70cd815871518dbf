// Everything that a keyspace holds.
#pragma once

#include <map>
#include <string>

#include "engine/client/client.h"

namespace rushgate::testing {

/// By key: type, time of expiry and value, as a string for comparing and for messages.
using KeyspaceContents = std::map<std::string, std::string>;

/// Reads all keys. For tests: a keyspace of some hundred keys, which no other client changes
/// meanwhile. Throws std::runtime_error if the keyspace cannot be read.
KeyspaceContents read_contents(Client& client);

}  // namespace rushgate::testing
