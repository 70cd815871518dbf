// Order ids: how the sale uses the recipe for ids (engine/recipes/ids).
#pragma once

#include <cstdint>

#include <rushgate/ids.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Seconds since 2022 above, 32 bits of a daily (UTC) counter below.
inline constexpr IdLayout kOrderIdLayout = {};

/// Returns the options for the generator of a sale's order ids.
inline IdOptions order_id_options(const SaleKeys& keys, std::int64_t block_size,
                                  const ClientOptions& client) {
  return {.key_prefix = keys.id_prefix,
          .layout = kOrderIdLayout,
          .block_size = block_size,
          .client = client};
}

/// Reserves counters in the order database. Thread-safe. Does not own it.
class OrderIdReservations final : public IdReservations {
 public:
  /// `has_lanes`: the store is that of one of several lanes, which has fewer counters.
  explicit OrderIdReservations(OrderStore& orders, bool has_lanes = false)
      : orders_(orders), has_lanes_(has_lanes) {}

  absl::StatusOr<std::int64_t> greatest_id(std::int64_t below) override {
    return orders_.greatest_id(below);
  }
  absl::StatusOr<std::int64_t> reserve(std::int64_t day, std::int64_t above,
                                       std::int64_t count) override {
    return orders_.reserve_ids(day, above, count);
  }
  [[nodiscard]] std::int64_t reserved_at_once() const override {
    constexpr std::int64_t kOfLane = std::int64_t{1} << 17;
    return has_lanes_ ? kOfLane : kReservedAtOnce;
  }

 private:
  OrderStore& orders_;
  const bool has_lanes_;
};

}  // namespace rushgate
