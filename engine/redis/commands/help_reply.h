// The reply of HELP subcommands.
#pragma once

#include <span>
#include <string_view>

#include <rushgate/reply.h>

namespace rushgate {

Reply help_reply(std::span<const std::string_view> lines);

}  // namespace rushgate
