// The program's log, written to stderr.
#pragma once

#include <memory>

namespace spdlog {
class logger;
}

namespace rushgate {

/// Returns a logger for warnings and errors, or for everything with `verbose`. It blocks only on a
/// terminal. Elsewhere, lines that do not fit into the pipe are dropped, and the next line reports
/// how many.
std::shared_ptr<spdlog::logger> make_logger(bool verbose);

}  // namespace rushgate
