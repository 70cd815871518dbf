// docs/commands.md, as the command table and what is written about its commands make it.
#pragma once

#include <string>

namespace rushgate {

std::string commands_page();

}  // namespace rushgate
