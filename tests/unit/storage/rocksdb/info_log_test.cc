#include "storage/rocksdb/info_log.h"

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

namespace rushgate {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class Lines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> lines;
  bool throws = false;

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (throws) throw 7;  // NOLINT(hicpp-exception-baseclass): the worst that a sink can do
    const auto level = spdlog::level::to_string_view(message.level);
    lines.push_back(std::string(level.data(), level.size()) + " " +
                    std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}
};

class HeldClock final : public rocksdb::SystemClockWrapper {
 public:
  HeldClock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  [[nodiscard]] const char* Name() const override { return "HeldClock"; }
  std::uint64_t NowMicros() override { return now_us; }

  std::uint64_t now_us = 1'700'000'000'000'000;
};

class InfoLogTest : public ::testing::Test {
 protected:
  void warn(const char* message) { rocksdb::Warn(&log_, "%s", message); }

  const std::shared_ptr<Lines> sink_ = std::make_shared<Lines>();
  const std::shared_ptr<HeldClock> clock_ = std::make_shared<HeldClock>();
  InfoLog log_{std::make_shared<spdlog::logger>("test", sink_), clock_};
};

TEST_F(InfoLogTest, WarningsAndErrorsAreForwarded) {
  rocksdb::Header(&log_, "header");
  rocksdb::Debug(&log_, "debug");
  rocksdb::Info(&log_, "info");
  rocksdb::Warn(&log_, "%d is late", 1);
  rocksdb::Error(&log_, "%d is lost", 2);
  rocksdb::Fatal(&log_, "%d is gone", 3);
  EXPECT_THAT(sink_->lines, ElementsAre("info RocksDB: 1 is late", "error RocksDB: 2 is lost",
                                        "error RocksDB: 3 is gone"));
}

TEST_F(InfoLogTest, LongMessageIsTruncated) {
  const std::string text(1'000'000, 'x');
  warn(text.c_str());
  ASSERT_THAT(sink_->lines, SizeIs(1));
  EXPECT_LT(sink_->lines[0].size(), InfoLog::kLineBytesMax + 100);
}

TEST_F(InfoLogTest, FloodIsDroppedAndCounted) {
  for (int i = 0; i < InfoLog::kLinesMax + 1000; ++i) warn("again");
  EXPECT_THAT(sink_->lines, SizeIs(InfoLog::kLinesMax));
  sink_->lines.clear();
  clock_->now_us += InfoLog::kPeriodUs - 1;
  warn("again");
  EXPECT_THAT(sink_->lines, SizeIs(0));
  clock_->now_us += 1;
  warn("later");
  warn("and then");
  EXPECT_THAT(sink_->lines, ElementsAre("info RocksDB: 1001 messages were left out",
                                        "info RocksDB: later", "info RocksDB: and then"));
}

TEST_F(InfoLogTest, ClockSetBackStartsPeriod) {
  for (int i = 0; i < InfoLog::kLinesMax; ++i) warn("again");
  clock_->now_us -= 3'600'000'000;
  sink_->lines.clear();
  warn("earlier");
  EXPECT_THAT(sink_->lines, ElementsAre("info RocksDB: earlier"));
}

TEST_F(InfoLogTest, ThrowingSinkIsHarmless) {
  sink_->throws = true;
  EXPECT_NO_THROW(warn("hello"));
}

TEST_F(InfoLogTest, MessagesWithoutLoggerAreDropped) {
  InfoLog log(nullptr, clock_);
  EXPECT_NO_THROW(rocksdb::Error(&log, "hello"));
}

}  // namespace
}  // namespace rushgate
