// The effect of a command on its connection, and its timeout: what a client of a server must know
// before it sends the command, and the server before it runs it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

/// The use is kMayBlock if and only if there is a timeout.
struct CommandTraits {
  ConnectionUse connection = ConnectionUse::kOrdinary;
  BlockTimeout timeout = BlockTimeout::kNone;

  friend bool operator==(const CommandTraits&, const CommandTraits&) = default;
};

struct NamedCommandTraits {
  std::string_view name;  // lower case; of subcommands: client|id
  CommandTraits traits;
};

/// Returns the commands that need a row: all others are ordinary and do not block. A container's
/// row holds for its subcommands without one.
std::span<const NamedCommandTraits> named_command_traits();

/// Return the traits of the command of this name (lower case, client|id), and of a request, by its
/// command and subcommand in any case. `request` must not be empty.
CommandTraits command_traits(std::string_view name);
CommandTraits command_traits(const Request& request);

}  // namespace rushgate
