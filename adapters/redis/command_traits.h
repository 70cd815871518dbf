// The properties of a command that the client needs before it sends the command. They come from the
// engine's command records. Commands that only a Redis server has are listed in command_traits.cc.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/client/command_traits.h"
#include <rushgate/request.h>

namespace rushgate {

/// Returns the use, by the command's name and subcommand in any case. `request` must not be empty.
ConnectionUse connection_use(const Request& request);

/// Returns the timeout of a blocking command in ms; 0: no limit. Empty if the command does not
/// block, or the server will refuse its timeout.
std::optional<std::int64_t> block_timeout_ms(const Request& request);

}  // namespace rushgate
