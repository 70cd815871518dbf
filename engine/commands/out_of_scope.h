// Commands of Redis that are not for Rushgate.
#pragma once

#include <string_view>

namespace rushgate {

/// What of Redis the command is part of, if none of that is here: "replication". Empty for other
/// names. `name` in any case, of a subcommand as in command_table.h: "client|tracking".
std::string_view out_of_scope(std::string_view name);

}  // namespace rushgate
