// A clock for the examples of a game loop: 60 frames per second, and a report of the frame thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

/// Belongs to the thread that creates it. Frame 0 begins 1/60 s after the creation.
class FrameMeter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::nanoseconds kFrame{1'000'000'000 / 60};

  FrameMeter() : schedstat_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ~FrameMeter() { close(schedstat_); }
  FrameMeter(const FrameMeter&) = delete;
  FrameMeter& operator=(const FrameMeter&) = delete;

  /// Returns the time at which a frame begins.
  [[nodiscard]] Clock::time_point begin_of(std::int64_t frame) const {
    return start_ + (frame + 1) * kFrame;
  }

  /// Call this once per frame, at once after the sleep until begin_of(frame). The kernel adds up a
  /// thread's CPU time when the thread sleeps, so each frame is complete at the next call.
  void begin(std::int64_t frame) {
    const double late_us =
        std::chrono::duration<double, std::micro>(Clock::now() - begin_of(frame)).count();
    const Times now = read_times();
    const double waited_us = now.waited_us - before_.waited_us;
    if (frame > 0) {
      cpu_us_.push_back(now.ran_us - before_.ran_us);
      late_us_.push_back(late_us);
      waited_us_.push_back(waited_us);
      own_late_us_.push_back(std::max(0.0, late_us - waited_us - overrun_us_));
    }
    before_ = now;
    overrun_us_ =
        std::max(0.0, late_us - std::chrono::duration<double, std::micro>(kFrame).count());
  }

  /// Prints the figures of all complete frames to stderr, in microseconds. `purchases`: how many
  /// were made in them.
  void print(std::int64_t purchases) {
    const double cpu_us = std::accumulate(cpu_us_.begin(), cpu_us_.end(), 0.0);
    std::fprintf(stderr, "%zu frames, CPU of 2,000 purchases    us: mean %4.0f\n", cpu_us_.size(),
                 cpu_us * 2'000 / static_cast<double>(std::max<std::int64_t>(purchases, 1)));
    print("CPU of the frame thread", cpu_us_);
    print("late", late_us_);
    print("runnable, but another thread ran", waited_us_);
    print("late without that", own_late_us_);
  }

 private:
  struct Times {
    double ran_us = 0;
    double waited_us = 0;  // runnable, but not running
  };

  [[nodiscard]] Times read_times() const {
    char text[128] = {};
    long long ran_ns = 0;
    long long waited_ns = 0;
    if (pread(schedstat_, text, sizeof text - 1, 0) > 0) {
      (void)std::sscanf(text, "%lld %lld", &ran_ns, &waited_ns);
    }
    return {static_cast<double>(ran_ns) / 1e3, static_cast<double>(waited_ns) / 1e3};
  }

  static void print(const char* name, std::vector<double>& values) {
    if (values.empty()) return;
    std::sort(values.begin(), values.end());
    const auto at = [&](std::size_t percent) {
      return values[(values.size() - 1) * percent / 100];
    };
    std::fprintf(stderr, "%-34s us: p50 %5.0f  p99 %5.0f  max %5.0f\n", name, at(50), at(99),
                 at(100));
  }

  const int schedstat_;
  const Clock::time_point start_ = Clock::now();
  Times before_ = {};
  double overrun_us_ = 0;  // how late this frame makes the next one
  std::vector<double> cpu_us_;
  std::vector<double> late_us_;
  std::vector<double> waited_us_;
  std::vector<double> own_late_us_;
};
