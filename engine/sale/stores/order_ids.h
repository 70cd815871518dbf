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
  explicit OrderIdReservations(OrderStore& orders) : orders_(orders) {}

  absl::StatusOr<std::int64_t> greatest_id(std::int64_t below) override {
    return orders_.greatest_id(below);
  }
  absl::StatusOr<std::int64_t> reserve(std::int64_t day, std::int64_t above,
                                       std::int64_t count) override {
    return orders_.reserve_ids(day, above, count);
  }

 private:
  OrderStore& orders_;
};

}  // namespace rushgate
