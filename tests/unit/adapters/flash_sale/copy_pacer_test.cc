// The pace of a backup.
#include "adapters/flash_sale/copy_pacer.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>

#include <gtest/gtest.h>

namespace rushgate {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr CopyPortion kOneOfTen{.bytes = 100, .bytes_left = 900};

TEST(CopyPacerTest, CopyWorksThirtiethOfTheTime) {
  EXPECT_EQ(pause_after(milliseconds(10), hours(1), kOneOfTen), milliseconds(290));
  EXPECT_EQ(pause_after(milliseconds(10), hours(1), {.bytes = 100}), milliseconds(290));
}

TEST(CopyPacerTest, PortionTakesItsShareOfScarceTime) {
  EXPECT_EQ(pause_after(milliseconds(10), seconds(1), kOneOfTen), milliseconds(90));
  EXPECT_EQ(pause_after(milliseconds(10), milliseconds(50), kOneOfTen), milliseconds(0));
  EXPECT_EQ(pause_after(milliseconds(10), -seconds(1), kOneOfTen), milliseconds(0));
}

TEST(CopyPacerTest, OneSlowPortionDoesNotStopTheCopy) {
  EXPECT_EQ(pause_after(seconds(30), hours(1), kOneOfTen), seconds(2));
}

TEST(CopyPacerTest, StoppedCopyEndsAfterItsPortion) {
  const auto source = std::make_unique<std::stop_source>();  // GCC 12 warns of one on the stack
  std::uint64_t sales = 0;
  CopyPacer pacer([&] { return ++sales; }, source->get_token());
  pacer.begin_part(CopyPacer::Clock::now() + hours(1));
  EXPECT_EQ(pacer.after(kOneOfTen), absl::OkStatus());
  source->request_stop();
  EXPECT_EQ(pacer.after(kOneOfTen).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(pacer.copied(), 2 * kOneOfTen.bytes);
}

}  // namespace
}  // namespace rushgate
