// The positions of each command's keys: the engine's records and clients of a Redis Cluster use them.
#pragma once

#include <span>
#include <string_view>

#include "engine/core/client/key_specs.h"
#include <rushgate/request.h>

namespace rushgate {

struct NamedKeySpecs {
  std::string_view name;  // lower case; of subcommands: object|encoding
  KeySpecs keys;
};

/// Returns the commands that have keys, or channels that are used like keys.
std::span<const NamedKeySpecs> named_key_specs();

/// Return the key specs of the command of this name (lower case, object|encoding), and of a request,
/// by its command and subcommand in any case; empty if it has no keys, or is unknown. `request` must
/// not be empty.
KeySpecs command_keys(std::string_view name);
KeySpecs command_keys(const Request& request);

}  // namespace rushgate
