// Counts purchases while they are made.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "engine/core/client/caller_number.h"
#include "engine/sale/orders/latency_recorder.h"
#include <rushgate/purchase.h>
#include <rushgate/purchase_statistics.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Thread-safe. Counting costs a request a few instructions: threads have counters of their own, and
/// only one request in 64 is timed.
class PurchaseCounters {
 private:
  static constexpr std::size_t kTimedEach = 64;
  static constexpr std::size_t kStripes = 8;  // of which each thread uses one
  // A voucher that is counted apart has a slot. Slot 0 is that of all others.
  static constexpr std::size_t kSlots = PurchaseStatistics::kVouchersMax + 1;
  static constexpr std::uint8_t kOthers = 0;
  // What is counted: each outcome, and repeated requests, which are among the accepted ones.
  static constexpr std::size_t kRepeated = kPurchaseOutcomes.size();
  static constexpr std::size_t kKinds = kRepeated + 1;
  // The places of a hash table of vouchers, less than half of which are taken.
  static constexpr std::size_t kPlaces = 256;
  static_assert(kPlaces > 2 * kSlots);

  using Totals = std::array<std::atomic<std::uint64_t>, kKinds>;
  struct Stripe {
    alignas(64) std::atomic<std::size_t> untimed{0};  // requests since one was timed
    std::array<Totals, kSlots> totals{};
  };
  struct Place {
    std::atomic<VoucherId> voucher{0};  // 0: it is free
    std::uint8_t slot = kOthers;        // constant once `voucher` is set
  };

 public:
  PurchaseCounters();
  PurchaseCounters(const PurchaseCounters&) = delete;
  PurchaseCounters& operator=(const PurchaseCounters&) = delete;

  /// One call of Sale::buy() or buy_all(). For one thread. Times the call, perhaps.
  class Counting {
   public:
    ~Counting() {
      if (began_ns_ != 0) counters_.latency_.add(began_ns_, LatencyRecorder::now_ns(), requests_);
    }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;

    /// Counts the result of a request, unless it is undecided (BuyResult::is_partial).
    void add(VoucherId voucher, const BuyResult& result) {
      if (result.is_partial) return;
      Totals& totals = stripe_.totals[counters_.slot_of(voucher, {&result, 1})];
      totals[kind_of(result)].fetch_add(1, std::memory_order_relaxed);
      if (result.is_repeated) totals[kRepeated].fetch_add(1, std::memory_order_relaxed);
    }
    /// The same for several requests for one voucher. add_repeated() must follow for each repeated one.
    void add(VoucherId voucher, std::span<const BuyResult> results);
    void add_repeated(VoucherId voucher) {
      stripe_.totals[counters_.slot_of(voucher, {})][kRepeated].fetch_add(
          1, std::memory_order_relaxed);
    }

   private:
    friend class PurchaseCounters;
    Counting(PurchaseCounters& counters, std::size_t requests)
        : counters_(counters),
          stripe_(counters.stripes_[thread_number() % kStripes]),
          requests_(requests),
          began_ns_(begin_timing(stripe_, requests)) {}

    PurchaseCounters& counters_;
    Stripe& stripe_;
    const std::size_t requests_;
    const std::int64_t began_ns_;  // 0: it is not timed
  };
  [[nodiscard]] Counting begin(std::size_t requests) { return {*this, requests}; }

  [[nodiscard]] PurchaseStatistics read();

 private:
  static std::size_t kind_of(const BuyResult& result) {
    return static_cast<std::size_t>(result.outcome);
  }
  /// Returns the time if so many requests are to be timed, else 0.
  static std::int64_t begin_timing(Stripe& stripe, std::size_t requests) {
    const std::size_t untimed = stripe.untimed.load(std::memory_order_relaxed) + requests;
    const bool is_timed = untimed >= kTimedEach;
    stripe.untimed.store(is_timed ? 0 : untimed, std::memory_order_relaxed);
    return is_timed ? LatencyRecorder::now_ns() : 0;
  }

  static std::size_t first_place(VoucherId voucher) {
    constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio
    constexpr int kHighBits = 64 - 8;
    static_assert(kPlaces == std::size_t{1} << (64 - kHighBits));
    return static_cast<std::size_t>((static_cast<std::uint64_t>(voucher) * kSpread) >> kHighBits);
  }
  /// Returns the slot of a voucher, with these results. Anybody can ask for any voucher, so only one
  /// that exists takes one.
  std::uint8_t slot_of(VoucherId voucher, std::span<const BuyResult> results) {
    const Place& first = places_[first_place(voucher)];
    if (first.voucher.load(std::memory_order_acquire) == voucher) return first.slot;
    return find_slot(voucher, results);
  }
  std::uint8_t find_slot(VoucherId voucher, std::span<const BuyResult> results);
  static bool proves_voucher(const BuyResult& result);
  [[nodiscard]] std::size_t find_place(VoucherId voucher) const;
  std::uint8_t take_slot(VoucherId voucher);
  [[nodiscard]] PurchaseCounts sum(std::size_t slot) const;

  const std::unique_ptr<Stripe[]> stripes_;
  std::array<Place, kPlaces> places_;
  std::mutex slots_mutex_;  // guards the next member, and the taking of places
  std::uint8_t slots_taken_ = 1;
  LatencyRecorder latency_;
};

}  // namespace rushgate
