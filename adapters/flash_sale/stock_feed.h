// Reports the free stock of vouchers to a function.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/clock.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace spdlog {
class logger;
}

namespace rushgate {

/// Thread-safe, except that start(), stop() and the destructor must not run concurrently. Does not
/// own its arguments, which must outlive it.
class StockFeed {
 public:
  using Hook = std::function<void(VoucherId voucher, std::int64_t free)>;

  /// Creates a feed that looks at the stock in these lanes each `every_ms`. `logger` may be null.
  StockFeed(Client& client, const Clock& clock, std::span<const SaleLane> lanes, const Hook& hook,
            std::int64_t every_ms, std::shared_ptr<spdlog::logger> logger);
  ~StockFeed() { stop(); }
  StockFeed(const StockFeed&) = delete;
  StockFeed& operator=(const StockFeed&) = delete;

  /// Starts a thread that reports, unless it runs.
  void start();
  /// Ends the thread, after a call of the function that runs.
  void stop();

  /// Reports on the calling thread, if that is due. Returns at once if a report is running, also in
  /// the function. For a sale without threads.
  void report_if_due();

 private:
  using Stocks = std::map<VoucherId, std::int64_t>;
  /// The stock of the lanes that were read.
  struct Sum {
    std::int64_t free = 0;
    std::int64_t lanes = 0;  // how many
  };
  using Sums = std::map<VoucherId, Sum>;

  void loop();
  void report();
  absl::StatusOr<Stocks> read();
  absl::Status read_lane(const SaleKeys& keys, Sums& sums);
  bool knows_lanes(const SaleKeys& keys, VoucherId voucher);
  absl::Status call_hook(VoucherId voucher, std::int64_t free);

  Client& client_;
  const Clock& clock_;
  const std::span<const SaleLane> lanes_;
  const Hook& hook_;
  const std::int64_t every_ms_;
  const std::shared_ptr<spdlog::logger> logger_;
  std::atomic<bool> is_reporting_{false};  // guards the next four members
  Stocks reported_;                        // for which the function returned
  Stocks lanes_of_;                        // on how many lanes each voucher is
  std::int64_t due_ms_ = 0;                // monotonic
  std::string failure_;                    // of the last report; empty: none
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace rushgate
