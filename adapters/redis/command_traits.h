// The properties of a command that the client needs before sending it: blocking, and changes of the
// connection.
#pragma once

#include <cstdint>
#include <optional>

#include <rushgate/request.h>

namespace rushgate {

/// The effect of a request on its connection.
enum class ConnectionUse : std::uint8_t {
  kOrdinary,           // the connection is the same before and after
  kMayBlock,           // like kOrdinary, but others wait if block_timeout_ms() is set
  kWatches,            // WATCH
  kUnwatches,          // UNWATCH, which a transaction delays
  kBeginsTransaction,  // MULTI
  kEndsTransaction,    // EXEC, DISCARD
  kChangesState,       // the next user of the connection would notice: SELECT, CLIENT SETNAME
  kSubscribes,         // SUBSCRIBE and similar: several replies, then messages
  kUnsupported,        // no single reply (MONITOR), or no RESP2 (HELLO)
};

/// Returns the use, by the command's name and subcommand in any case. `request` must not be empty.
ConnectionUse connection_use(const Request& request);

/// Returns the timeout of a blocking command in ms; 0: no limit. Empty if the command does not
/// block, or the server will refuse its timeout.
std::optional<std::int64_t> block_timeout_ms(const Request& request);

}  // namespace rushgate
