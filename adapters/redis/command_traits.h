// What the client must know of a command before it sends it: does it block, does it change the
// connection?
#pragma once

#include <cstdint>
#include <optional>

#include "engine/client/request.h"

namespace rushgate {

enum class ConnectionUse {
  kOrdinary,     // the connection is the same before and after
  kLeavesState,  // the next user of the connection would notice: SELECT, MULTI, CLIENT SETNAME
  kUnsupported,  // not one request, one answer: SUBSCRIBE, MONITOR; or not RESP2: HELLO
};

/// By the command's name (and subcommand), in any case. `request` must not be empty.
ConnectionUse connection_use(const Request& request);

/// How long the command may wait before it answers, in ms; 0: for ever; nothing: it does not block,
/// or its timeout cannot be read and the server will refuse it.
std::optional<std::int64_t> block_timeout_ms(const Request& request);

}  // namespace rushgate
