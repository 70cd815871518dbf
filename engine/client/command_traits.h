// The properties of a command that a client of a server needs before it sends the command. They are
// part of the command records in engine/commands/, which also defines find_command_traits(). The
// declarations are here, so that an adapter includes nothing above the module of its port.
#pragma once

#include <cstdint>
#include <optional>

#include <rushgate/request.h>

namespace rushgate {

/// The effect of a request on its connection.
enum class ConnectionUse : std::uint8_t {
  kOrdinary,           // the connection is the same before and after
  kMayBlock,           // like kOrdinary, but others wait if the request has a timeout
  kWatches,            // WATCH
  kUnwatches,          // UNWATCH, which a transaction delays
  kBeginsTransaction,  // MULTI
  kEndsTransaction,    // EXEC, DISCARD
  kChangesState,       // depends on the connection or changes it: SELECT, CLIENT SETNAME, CLIENT ID
  kSubscribes,         // SUBSCRIBE and similar: several replies, then messages
  kUnsupported,        // no single reply (MONITOR), or no RESP2 (HELLO)
};

/// The position of a command's timeout among its arguments.
enum class BlockTimeout : std::uint8_t {
  kNone,          // the command never blocks
  kFirstSeconds,  // the first argument
  kLastSeconds,   // the last argument
  kLastMs,        // the last argument
  kBlockOption,   // BLOCK milliseconds, before STREAMS; without it the command does not block
};

struct CommandTraits {
  ConnectionUse connection = ConnectionUse::kOrdinary;
  BlockTimeout timeout = BlockTimeout::kNone;
};

/// Returns the traits of the request's command, or of its subcommand; nothing if the engine does
/// not have it. `request` must not be empty.
std::optional<CommandTraits> find_command_traits(const Request& request);

}  // namespace rushgate
