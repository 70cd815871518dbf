// The holds of unpaid orders, as the rebuild, the timeout and a cancellation use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// How holds end.
struct HoldEnd {
  std::string_view reason;
  std::string_view actor;
  bool only_due = false;  // only orders with a payment due by now
};

/// Ends the holds of orders of one voucher. Returns payment_scripts::cancel()'s reply, an array
/// with a reply for each order, or an error.
Reply cancel_holds(Client& client, const SaleKeys& keys, VoucherId voucher,
                   std::span<const OrderId> orders, const HoldEnd& end);

/// A portion of the holds that are due, in the order of their deadlines.
struct DueHolds {
  struct Hold {
    OrderId order;
    VoucherId voucher;  // 0: the hold has no description
  };
  std::vector<Hold> holds = {};
  std::int64_t now_ms = 0;                   // the keyspace's time
  std::optional<std::int64_t> next_ms = {};  // the deadline of the first hold after them
};
/// Finds up to `count_max` holds that are due, after the first `skip`.
absl::StatusOr<DueHolds> find_due_holds(Client& client, const SaleKeys& keys, std::size_t skip,
                                        std::size_t count_max);

/// Returns the description of an unpaid order in SaleKeys::held().
std::string describe_hold(const Order& order);

/// How the hold of an order ended (SaleKeys::ended()).
struct EndedHold {
  Order order;      // its id, voucher, user and status
  std::string how;  // "paid <payment>" or "cancelled <actor>"

  /// Reads a value of SaleKeys::ended(). Empty if it is not one.
  static std::optional<EndedHold> read(OrderId order, std::string_view value);
};

/// Visits each value of SaleKeys::ended() with its order, as for_each_hold().
absl::Status for_each_ended_hold(
    Client& client, const SaleKeys& keys,
    absl::FunctionRef<void(OrderId order, std::string_view value)> visit);

/// Visits each hold with its order and voucher, in no order and in bounded portions; a hold that is
/// there during the whole call at least once.
absl::Status for_each_hold(Client& client, const SaleKeys& keys,
                           absl::FunctionRef<void(OrderId order, VoucherId voucher)> visit);

}  // namespace rushgate
