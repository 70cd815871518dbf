// What the client must know of a command before it sends it: does it block, does it change the
// connection?
#pragma once

#include <cstdint>
#include <optional>

#include "engine/client/request.h"

namespace rushgate {

/// What a request does to the connection that it is sent over.
enum class ConnectionUse : std::uint8_t {
  kOrdinary,           // the connection is the same before and after
  kMayBlock,           // as kOrdinary, but others wait if block_timeout_ms() is set
  kWatches,            // WATCH
  kUnwatches,          // UNWATCH, which a transaction delays
  kBeginsTransaction,  // MULTI
  kEndsTransaction,    // EXEC, DISCARD
  kChangesState,       // the next user of the connection would notice: SELECT, CLIENT SETNAME
  kSubscribes,         // SUBSCRIBE and its like: several replies, then messages
  kUnsupported,        // not one request, one reply: MONITOR; or not RESP2: HELLO
};

/// By the command's name (and subcommand), in any case. `request` must not be empty.
ConnectionUse connection_use(const Request& request);

/// How long the command may wait before it answers, in ms; 0: for ever; nothing: it does not block,
/// or its timeout cannot be read and the server will refuse it.
std::optional<std::int64_t> block_timeout_ms(const Request& request);

}  // namespace rushgate
