#include "engine/sale/orders/purchase_counters.h"

#include <algorithm>

namespace rushgate {

PurchaseCounters::PurchaseCounters() : stripes_(std::make_unique<Stripe[]>(kStripes)) {}

// ---- One call ---------------------------------------------------------------------------------

void PurchaseCounters::Counting::add(VoucherId voucher, std::span<const BuyResult> results) {
  Totals& totals = stripe_.totals[counters_.slot_of(voucher, results)];
  std::array<std::uint32_t, kKinds> counts{};
  for (const BuyResult& result : results) ++counts[kind_of(result)];
  std::uint32_t& overloaded = counts[static_cast<std::size_t>(Outcome::kOverloaded)];
  if (overloaded > 0) {  // those that are undecided have this outcome, too
    overloaded -=
        static_cast<std::uint32_t>(std::ranges::count_if(results, &BuyResult::is_partial));
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (counts[kind] > 0) totals[kind].fetch_add(counts[kind], std::memory_order_relaxed);
  }
}

/// Returns true for a result that only requests for a published voucher get.
bool PurchaseCounters::proves_voucher(const BuyResult& result) {
  switch (result.outcome) {
    case Outcome::kAccepted:
    case Outcome::kSoldOut:
    case Outcome::kLimitReached:
    case Outcome::kDayLimitReached:
    case Outcome::kTokenRefused:
    case Outcome::kNotStarted:
    case Outcome::kEnded:
      return true;
    case Outcome::kUnknownVoucher:
    case Outcome::kOverloaded:
    case Outcome::kUnavailable:
    case Outcome::kOutcomeUnknown:
    case Outcome::kKeyReused:
    case Outcome::kRefused:
    case Outcome::kFailed:
      break;
  }
  return false;
}

// ---- The table of vouchers ----

/// Returns the place of a voucher, or the free one where it would be.
std::size_t PurchaseCounters::find_place(VoucherId voucher) const {
  for (std::size_t at = first_place(voucher);; at = (at + 1) % kPlaces) {
    const VoucherId there = places_[at].voucher.load(std::memory_order_acquire);
    if (there == voucher || there == 0) return at;
  }
}

std::uint8_t PurchaseCounters::find_slot(VoucherId voucher, std::span<const BuyResult> results) {
  const Place& place = places_[find_place(voucher)];
  if (place.voucher.load(std::memory_order_acquire) == voucher) return place.slot;
  return std::ranges::any_of(results, proves_voucher) ? take_slot(voucher) : kOthers;
}

std::uint8_t PurchaseCounters::take_slot(VoucherId voucher) {
  const std::lock_guard lock(slots_mutex_);
  Place& place = places_[find_place(voucher)];
  if (place.voucher.load(std::memory_order_acquire) == voucher) return place.slot;
  if (slots_taken_ == kSlots) return kOthers;
  place.slot = slots_taken_++;
  place.voucher.store(voucher, std::memory_order_release);
  return place.slot;
}

// ---- Reading ----

PurchaseCounts PurchaseCounters::sum(std::size_t slot) const {
  PurchaseCounts counts;
  for (std::size_t stripe = 0; stripe < kStripes; ++stripe) {
    const auto& totals = stripes_[stripe].totals[slot];
    for (std::size_t kind = 0; kind < kRepeated; ++kind) {
      counts.outcomes[kind] += totals[kind].load(std::memory_order_relaxed);
    }
    counts.repeated += totals[kRepeated].load(std::memory_order_relaxed);
  }
  // A repetition that is counted while this reads may be among the accepted ones or not.
  std::uint64_t& accepted = counts.outcomes[static_cast<std::size_t>(Outcome::kAccepted)];
  accepted -= std::min(accepted, counts.repeated);
  return counts;
}

PurchaseStatistics PurchaseCounters::read() {
  PurchaseStatistics statistics{.others = sum(kOthers)};
  for (const Place& place : places_) {
    const VoucherId voucher = place.voucher.load(std::memory_order_acquire);
    if (voucher != 0) statistics.vouchers.emplace(voucher, sum(place.slot));
  }
  statistics.latency = latency_.read(LatencyRecorder::now_ns());
  return statistics;
}

}  // namespace rushgate
