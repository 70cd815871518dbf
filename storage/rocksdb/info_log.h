// RocksDB's own messages.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <rocksdb/env.h>
#include <rocksdb/system_clock.h>
#include <spdlog/logger.h>

namespace rushgate {

/// Passes RocksDB's warnings and errors on to a logger. RocksDB's own logger writes a file into the
/// directory, and on a full disk one of RocksDB's assertions ends the process there: Debian builds
/// it with assertions, and a writer of files may not be used again after it failed.
///
/// Bounded: of messages that follow each other closely the first kLinesMax are passed on, and the
/// next one later says how many were left out. A line has at most kLineBytesMax bytes. Throws
/// nothing, whatever the logger does. Thread-safe.
class InfoLog final : public rocksdb::Logger {
 public:
  static constexpr int kLinesMax = 20;
  static constexpr std::uint64_t kPeriodUs = 10'000'000;
  static constexpr std::size_t kLineBytesMax = 512;

  /// `to` may be null: then everything is dropped.
  InfoLog(std::shared_ptr<spdlog::logger> to, std::shared_ptr<rocksdb::SystemClock> clock);

  using rocksdb::Logger::Logv;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override;
  void LogHeader(const char*, va_list) override {}

 private:
  /// Returns how many were left out before this line; nothing if it is left out too.
  std::optional<int> admit_line();

  const std::shared_ptr<spdlog::logger> to_;
  const std::shared_ptr<rocksdb::SystemClock> clock_;

  std::mutex mutex_;  // guards what follows
  std::uint64_t period_began_us_ = 0;
  int lines_ = 0;  // in this period
  int left_out_ = 0;
};

}  // namespace rushgate
