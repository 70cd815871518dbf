// Messages to the user's optional logger. spdlog's headers are included in log.cc alone, because they
// cost each file that includes them a second of compiling.
#pragma once

#include <cstdint>
#include <string_view>

namespace spdlog {
class logger;
}

namespace rushgate {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError };

[[nodiscard]] bool should_log(const spdlog::logger& logger, LogLevel level);

void log(spdlog::logger& logger, LogLevel level, std::string_view message);
void log_info(spdlog::logger& logger, std::string_view message);
void log_warning(spdlog::logger& logger, std::string_view message);
void log_error(spdlog::logger& logger, std::string_view message);

}  // namespace rushgate
