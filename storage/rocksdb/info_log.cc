#include "storage/rocksdb/info_log.h"

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"

namespace rushgate {

InfoLog::InfoLog(std::shared_ptr<spdlog::logger> to, std::shared_ptr<rocksdb::SystemClock> clock)
    : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), to_(std::move(to)), clock_(std::move(clock)) {}

void InfoLog::Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) {
  const bool is_header = level == rocksdb::InfoLogLevel::HEADER_LEVEL;  // above the errors
  if (!to_ || level < GetInfoLogLevel() || is_header) return;
  std::array<char, kLineBytesMax> line{};
  if (std::vsnprintf(line.data(), line.size(), format, arguments) < 0) return;
  const std::optional<int> left_out = admit_line();
  if (!left_out) return;
  // Most of RocksDB's warnings are about its own speed.
  const bool is_warning = level == rocksdb::InfoLogLevel::WARN_LEVEL;
  const LogLevel severity = is_warning ? LogLevel::kInfo : LogLevel::kError;
  try {
    if (*left_out > 0) {
      log(*to_, severity, concat("RocksDB: ", *left_out, " messages were left out"));
    }
    log(*to_, severity, concat("RocksDB: ", line.data()));
  } catch (...) {  // a user's sink; RocksDB's threads must not throw
  }
}

std::optional<int> InfoLog::admit_line() {
  const std::uint64_t now_us = clock_->NowMicros();
  const std::lock_guard lock(mutex_);
  // The clock may go back.
  if (now_us < period_began_us_ || now_us - period_began_us_ >= kPeriodUs) {
    period_began_us_ = now_us;
    lines_ = 0;
  }
  if (lines_ == kLinesMax) {
    ++left_out_;
    return std::nullopt;
  }
  ++lines_;
  return std::exchange(left_out_, 0);
}

}  // namespace rushgate
