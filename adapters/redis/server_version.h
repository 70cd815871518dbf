// Which server a connection leads to: Redis, or a fork of it. Private to this module.
#pragma once

#include <optional>
#include <string>

#include <rushgate/reply.h>

namespace rushgate {

struct ServerVersion {
  std::string name;     // "Redis", or the name of a fork: "valkey"
  std::string version;  // in the server's own count: 8.1.1 of Valkey
  std::string redis;    // the version of Redis with which it is compatible: 7.2.4 of Valkey 8.1.1
};

/// Returns the version in a reply to INFO server; nothing if it reports none. A fork that does not
/// name itself counts as Redis.
std::optional<ServerVersion> server_version(const Reply& info);

/// Returns the reason to refuse a server with this reply to INFO server: it is compatible with a
/// Redis before 6.2. Empty if it is with a later one, or does not report its version.
std::string refused_version(const Reply& info);

}  // namespace rushgate
