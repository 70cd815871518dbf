// The program's log, on stderr.
#pragma once

#include <memory>

namespace spdlog {
class logger;
}

namespace rushgate {

/// Warnings and errors; with `verbose` all there is. On a terminal it waits as everybody does, else
/// for nobody: what a pipe has no room for is left out, and counted in the next line that has room.
std::shared_ptr<spdlog::logger> make_logger(bool verbose);

}  // namespace rushgate
