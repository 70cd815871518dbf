#include "adapters/flash_sale/copy_pacer.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace rushgate {
namespace {

using std::chrono::nanoseconds;

}  // namespace

nanoseconds pause_after(nanoseconds work, nanoseconds time_left, const CopyPortion& portion) {
  constexpr int kPausePerWork = 29;
  constexpr nanoseconds kPauseMax = std::chrono::seconds(2);  // after an uncommonly slow portion
  // This portion's share of the time, if the next ones take as long.
  const double bytes = static_cast<double>(portion.bytes);
  const double left = static_cast<double>(portion.bytes_left);
  const double share = bytes > 0 ? bytes / (bytes + left) : 1;
  const nanoseconds fair(static_cast<std::int64_t>(static_cast<double>(time_left.count()) * share));
  return std::clamp(fair - work, nanoseconds(0), std::min(work * kPausePerWork, kPauseMax));
}

CopyPacer::CopyPacer(std::function<std::uint64_t()> count_sales, std::stop_token stop)
    : count_sales_(std::move(count_sales)), stop_(std::move(stop)), sales_(count_sales_()) {}

void CopyPacer::begin_part(Clock::time_point end) {
  part_ends_ = end;
  portion_began_ = Clock::now();
  copied_ = 0;
}

absl::Status CopyPacer::after(const CopyPortion& portion) {
  copied_ += portion.bytes;
  const Clock::time_point now = Clock::now();
  if (is_selling(now)) {
    const nanoseconds pause = pause_after(now - portion_began_, part_ends_ - now, portion);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait_for(lock, stop_, pause, [] { return false; });  // until the pause ends, or stop_
  }
  if (stop_.stop_requested()) return absl::AbortedError("the backup was stopped");
  portion_began_ = Clock::now();
  return absl::OkStatus();
}

bool CopyPacer::is_selling(Clock::time_point now) {
  constexpr std::chrono::seconds kLately{1};
  if (const std::uint64_t sales = count_sales_(); sales != sales_) {
    sales_ = sales;
    sold_at_ = now;
  }
  return sold_at_ != Clock::time_point() && now - sold_at_ < kLately;
}

}  // namespace rushgate
