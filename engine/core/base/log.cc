#include "engine/core/base/log.h"

#include <spdlog/logger.h>

namespace rushgate {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::off;
}

}  // namespace

bool should_log(const spdlog::logger& logger, LogLevel level) {
  return logger.should_log(spdlog_level(level));
}

void log(spdlog::logger& logger, LogLevel level, std::string_view message) {
  logger.log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
}
void log_info(spdlog::logger& logger, std::string_view message) {
  log(logger, LogLevel::kInfo, message);
}
void log_warning(spdlog::logger& logger, std::string_view message) {
  log(logger, LogLevel::kWarning, message);
}
void log_error(spdlog::logger& logger, std::string_view message) {
  log(logger, LogLevel::kError, message);
}

}  // namespace rushgate
