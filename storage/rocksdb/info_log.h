// RocksDB's own log messages.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include <rocksdb/env.h>
#include <rocksdb/system_clock.h>
namespace spdlog {
class logger;
}

namespace rushgate {

/// Passes RocksDB's warnings and errors to a logger. RocksDB's own logger writes a file into the
/// directory. On a full disk an assertion of Debian's build ends the process there, because a file
/// writer must not be used again after a failure.
///
/// Bounded: of messages in quick succession, the first kLinesMax are passed on. A later message
/// reports the number of dropped ones. A line has at most kLineBytesMax bytes. Does not throw, even
/// if the logger does. Thread-safe.
class InfoLog final : public rocksdb::Logger {
 public:
  static constexpr int kLinesMax = 20;
  static constexpr std::uint64_t kPeriodUs = 10'000'000;
  static constexpr std::size_t kLineBytesMax = 512;

  /// `to` may be null: all messages are dropped then.
  InfoLog(std::shared_ptr<spdlog::logger> to, std::shared_ptr<rocksdb::SystemClock> clock);

  using rocksdb::Logger::Logv;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override;
  void LogHeader(const char*, va_list) override {}

 private:
  /// Returns the number of lines dropped before this one; empty if this one must be dropped.
  std::optional<int> admit_line();

  const std::shared_ptr<spdlog::logger> to_;
  const std::shared_ptr<rocksdb::SystemClock> clock_;

  std::mutex mutex_;  // guards the members below
  std::uint64_t period_began_us_ = 0;
  int lines_ = 0;  // in this period
  int left_out_ = 0;
};

}  // namespace rushgate
