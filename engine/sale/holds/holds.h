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
#include <rushgate/payment_store.h>
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

/// A portion of the holds that were due.
struct ExpiredHolds {
  std::size_t ended = 0;
  std::size_t left = 0;                      // deadlines of which a hold has not ended
  std::vector<VoucherId> closed = {};        // the vouchers of these holds: closed or lost
  std::int64_t now_ms = 0;                   // the keyspace's time
  std::optional<std::int64_t> next_ms = {};  // the first deadline after them
};
/// Ends a few hundred holds that are due, in the order of their deadlines, after the first `skip`
/// deadlines.
absl::StatusOr<ExpiredHolds> expire_holds(Client& client, const SaleKeys& keys, std::size_t skip);

/// Removes the deadlines whose holds have all ended, in bounded portions. Otherwise they stay until they
/// are due.
absl::Status remove_ended_deadlines(Client& client, const SaleKeys& keys);

/// Returns the description of an unpaid order in SaleKeys::held().
std::string describe_hold(const Order& order);

/// Returns the end of an order's hold in SaleKeys::held(). The event paid or cancelled the order.
std::string describe_end(const Order& order, const OrderEvent& event);

/// Returns true if an event in the order stream ends the hold of its order. A payment that pays nothing
/// ends none.
inline bool ends_hold(const OrderEvent& event) {
  return event.kind == OrderEvent::Kind::kPaid || event.kind == OrderEvent::Kind::kCancelled;
}

/// How the hold of an order ended, until that is stored (SaleKeys::held()).
struct EndedHold {
  Order order;      // its id, voucher, user and status
  std::string how;  // "paid <payment>" or "cancelled <actor>"

  /// Reads a value of SaleKeys::held(). Empty if it is not an end.
  static std::optional<EndedHold> read(OrderId order, std::string_view value);
  /// Returns the value that read() reads.
  [[nodiscard]] std::string value() const;
  /// Returns the id of the payment that ended it, a part of `how`; empty if it was cancelled.
  [[nodiscard]] std::optional<std::string_view> payment() const;
};

/// An order in SaleKeys::held().
struct KnownHold {
  VoucherId voucher;
  std::optional<EndedHold> ended;  // empty: the order is unpaid
  std::string text;                // the value that it was read from

  friend bool operator==(const KnownHold& left, const KnownHold& right) {
    return left.text == right.text;
  }
};
/// Finds an order; empty if it is not there.
absl::StatusOr<std::optional<KnownHold>> find_hold(Client& client, const SaleKeys& keys,
                                                   OrderId order);

/// Removes orders from SaleKeys::held(). Returns how many there were.
absl::StatusOr<std::size_t> remove_held(Client& client, const SaleKeys& keys,
                                        std::span<const OrderId> orders);

/// Returns true if SaleKeys::held() says that a rebuild checks the holds of a voucher, and none does: the
/// voucher is there and is not closed. Then removes the field, if `removes` is true.
absl::StatusOr<bool> find_forged_closing(Client& client, const SaleKeys& keys, VoucherId voucher,
                                         bool removes);

/// Visits each order in SaleKeys::held(), in no order and in bounded portions; one that is there during
/// the whole call at least once. Also the vouchers whose holds a rebuild checks.
absl::Status for_each_hold(
    Client& client, const SaleKeys& keys,
    absl::FunctionRef<void(OrderId order, const KnownHold& hold)> visit,
    absl::FunctionRef<void(std::string_view voucher)> visit_closed = [](std::string_view) {});

/// Visits each order of SaleKeys::deadlines() with its deadline (ms), in ascending order of deadlines
/// and in bounded portions. May miss some if others are removed meanwhile.
absl::Status for_each_deadline(Client& client, const SaleKeys& keys,
                               absl::FunctionRef<void(OrderId order, std::int64_t due_ms)> visit);
/// Returns true if an order has a deadline at `due_ms`.
absl::StatusOr<bool> has_deadline_at(Client& client, const SaleKeys& keys, OrderId order,
                                     std::int64_t due_ms);

}  // namespace rushgate
