#include "adapters/flash_sale/stock_feed.h"

#include <chrono>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/numbers.h"
#include "engine/core/base/thread_name.h"
#include "engine/core/base/thrown.h"
#include "engine/core/client/reply_status.h"

namespace rushgate {

StockFeed::StockFeed(Client& client, const Clock& clock, std::span<const SaleLane> lanes,
                     const Hook& hook, std::int64_t every_ms,
                     std::shared_ptr<spdlog::logger> logger)
    : client_(client),
      clock_(clock),
      lanes_(lanes),
      hook_(hook),
      every_ms_(every_ms),
      logger_(std::move(logger)) {}

void StockFeed::start() {
  if (thread_.joinable()) return;
  stopping_ = false;
  thread_ = std::thread([this] { loop(); });
}

void StockFeed::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StockFeed::loop() {
  name_this_thread("rg-stock");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    report();
    lock.lock();
    stopped_.wait_for(lock, std::chrono::milliseconds(every_ms_), [this] { return stopping_; });
  }
}

void StockFeed::report_if_due() {
  if (is_reporting_.exchange(true)) return;
  if (clock_.monotonic_ms() >= due_ms_) {
    report();
    due_ms_ = clock_.monotonic_ms() + every_ms_;
  }
  is_reporting_ = false;
}

/// Calls the function for each voucher whose stock differs from the reported one. After an exception
/// the stock counts as not reported. A keyspace that is away is named by those who sell.
void StockFeed::report() {
  auto stocks = read();
  if (!stocks.ok()) return;
  std::string failure;
  for (auto stock = stocks->begin(); stock != stocks->end();) {
    const auto& [voucher, free] = *stock;
    const auto before = reported_.find(voucher);
    const bool is_known = before != reported_.end() && before->second == free;
    const absl::Status called = is_known ? absl::OkStatus() : call_hook(voucher, free);
    if (!called.ok()) failure = std::string(called.message());
    stock = called.ok() ? std::next(stock) : stocks->erase(stock);
  }
  if (logger_ && !failure.empty() && failure != failure_) log_error(*logger_, failure);
  failure_ = std::move(failure);
  reported_ = *std::move(stocks);
}

/// Reads the lanes that can be read; all of them fail if the keyspace is away. A voucher is left out while one of
/// its lanes is missing.
absl::StatusOr<StockFeed::Stocks> StockFeed::read() {
  Sums sums;
  absl::Status failure;
  std::size_t failed = 0;
  for (const SaleLane& lane : lanes_) {
    absl::Status read = read_lane(lane.keys, sums);
    if (read.ok()) continue;
    failure = std::move(read);
    ++failed;
  }
  if (failed == lanes_.size()) return failure;
  Stocks stocks;
  for (const auto& [voucher, sum] : sums) {
    if (sum.lanes == lanes_of_[voucher]) stocks.emplace(voucher, sum.free);
  }
  return stocks;
}

/// Adds the stock of the vouchers on sale. A voucher that is being rebuilt may have none.
absl::Status StockFeed::read_lane(const SaleKeys& keys, Sums& sums) {
  constexpr std::string_view kReading = "reading the stock";
  const Reply members = client_("SMEMBERS", keys.vouchers());
  if (members.is_error()) return to_status(members, kReading);
  std::vector<VoucherId> vouchers;
  Request request = Request::of("MGET");
  for (const Reply& member : members.elements()) {
    const auto voucher = parse_int64(member.text());
    if (!voucher) continue;
    vouchers.push_back(*voucher);
    request.add(keys.stock(*voucher));
  }
  if (vouchers.empty()) return absl::OkStatus();
  const Reply values = client_.call(std::move(request));
  if (values.elements().size() != vouchers.size()) return to_status(values, kReading);
  for (std::size_t i = 0; i < vouchers.size(); ++i) {
    const auto stock = parse_int64(values.elements()[i].text());
    if (!stock || !knows_lanes(keys, vouchers[i])) continue;
    Sum& sum = sums[vouchers[i]];
    sum.free += *stock;
    ++sum.lanes;
  }
  return absl::OkStatus();
}

/// Finds out on how many lanes a voucher is, which never changes. Returns false if its terms are missing.
bool StockFeed::knows_lanes(const SaleKeys& keys, VoucherId voucher) {
  if (lanes_of_.contains(voucher)) return true;
  std::int64_t lanes = 1;
  if (lanes_.size() > 1) {
    const Reply terms = client_("HMGET", keys.voucher(voucher), "version", "lanes");
    if (terms.elements().size() != 2 || !terms.elements()[0].is_text()) return false;
    lanes = parse_int64(terms.elements()[1].text()).value_or(1);
  }
  lanes_of_.emplace(voucher, lanes);
  return true;
}

absl::Status StockFeed::call_hook(VoucherId voucher, std::int64_t free) {
  try {
    hook_(voucher, free);
    return absl::OkStatus();
  } catch (...) {
    return absl::UnknownError(
        concat("on_stock failed for voucher ", voucher, ": ", std::string(thrown().message())));
  }
}

}  // namespace rushgate
