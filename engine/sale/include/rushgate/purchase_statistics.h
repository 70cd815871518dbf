// What a sale counts of its purchases: outcomes and latencies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>

#include <rushgate/purchase.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Latencies of requests. A value type.
struct LatencyFigures {
  /// The bounds of `within`: 1 µs to 10 s.
  static constexpr std::array<std::int64_t, 22> kBoundsNs = {
      1'000,         2'500,         5'000,         10'000,        25'000,      50'000,
      100'000,       250'000,       500'000,       1'000'000,     2'500'000,   5'000'000,
      10'000'000,    25'000'000,    50'000'000,    100'000'000,   250'000'000, 500'000'000,
      1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};

  std::uint64_t count = 0;
  double sum_s = 0;
  /// How many took at most kBoundsNs of the same index.
  std::array<std::uint64_t, kBoundsNs.size()> within = {};

  /// Those of the last 10 to 20 seconds. The percentiles are at most 1.6 % too high.
  struct Recent {
    std::uint64_t count = 0;
    std::int64_t p50_ns = 0;
    std::int64_t p90_ns = 0;
    std::int64_t p99_ns = 0;
    std::int64_t p999_ns = 0;
  };
  Recent recent = {};
};

/// All outcomes, in the order of their numbers.
inline constexpr std::array kPurchaseOutcomes = {
    Outcome::kAccepted,        Outcome::kSoldOut,        Outcome::kLimitReached,
    Outcome::kDayLimitReached, Outcome::kTokenRefused,   Outcome::kNotStarted,
    Outcome::kEnded,           Outcome::kUnknownVoucher, Outcome::kOverloaded,
    Outcome::kUnavailable,     Outcome::kOutcomeUnknown, Outcome::kKeyReused,
    Outcome::kRefused,         Outcome::kFailed};
static_assert(kPurchaseOutcomes.size() == static_cast<std::size_t>(Outcome::kFailed) + 1);

/// Requests by their outcome. A value type.
struct PurchaseCounts {
  /// By the number of the outcome. Of the accepted ones, only those that made an order.
  std::array<std::uint64_t, kPurchaseOutcomes.size()> outcomes = {};
  std::uint64_t repeated = 0;  // were accepted before, with the same idempotency key

  [[nodiscard]] std::uint64_t of(Outcome outcome) const {
    return outcomes[static_cast<std::size_t>(outcome)];
  }
  [[nodiscard]] std::uint64_t total() const {
    return std::accumulate(outcomes.begin(), outcomes.end(), repeated);
  }
};

/// The purchases of a sale since it was opened in this process. A value type.
struct PurchaseStatistics {
  /// Only so many vouchers are counted apart: the first that sold or refused something.
  static constexpr std::size_t kVouchersMax = 100;

  std::map<VoucherId, PurchaseCounts> vouchers = {};
  PurchaseCounts others = {};  // of further vouchers, and of unknown ones
  /// Of one request in 64, from the call of Sale::buy() to its return. A request of a larger
  /// Sale::buy_all() takes as long as the call.
  LatencyFigures latency = {};

  /// Returns how many requests had an outcome.
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = others.total();
    for (const auto& [voucher, counts] : vouchers) sum += counts.total();
    return sum;
  }
};

}  // namespace rushgate
