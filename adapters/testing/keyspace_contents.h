// The contents of a keyspace.
#pragma once

#include <map>
#include <string>

#include <rushgate/client.h>

namespace rushgate::testing {

/// By key: type, expiry and value, as a string for comparisons and messages.
using KeyspaceContents = std::map<std::string, std::string>;

/// Reads all keys. Intended for tests with some hundred keys and no concurrent writer. Throws
/// std::runtime_error if the keyspace is unreadable.
KeyspaceContents read_contents(Client& client);

}  // namespace rushgate::testing
