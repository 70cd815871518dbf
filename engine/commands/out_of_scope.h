// Redis's commands outside the scope of Rushgate.
#pragma once

#include <string_view>

namespace rushgate {

/// Returns the missing part of Redis that the command belongs to, such as "replication"; empty for
/// other names. `name` may have any case; subcommands have the form "client|tracking".
std::string_view out_of_scope(std::string_view name);

}  // namespace rushgate
