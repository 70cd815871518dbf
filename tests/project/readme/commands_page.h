// Generates docs/commands.md from the command table.
#pragma once

#include <string>

namespace rushgate {

std::string commands_page();

}  // namespace rushgate
