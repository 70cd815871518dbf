// An order: one piece of a voucher, bought by a user.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/sale/vouchers/voucher.h"
#include <rushgate/stream_id.h>

namespace rushgate {

enum class OrderStatus : std::uint8_t {
  kCreated = 1,  // (durable numbers)
};
/// Returns "created".
std::string_view order_status_name(OrderStatus status);

/// An order as the database keeps it. All orders with a status above are live: they count against
/// limits and stock.
struct Order {
  OrderId id = 0;
  UserId user = 0;
  VoucherId voucher = 0;
  OrderStatus status = OrderStatus::kCreated;
  std::int64_t limit =
      1;  // orders per user that the sale allowed when it was admitted; 0: any number
  std::int64_t admitted_at_ms = 0;  // ms since 1970 UTC
  StreamId entry = {};              // its first entry in the order stream
  /// When a worker wrote it to the database: ms since 1970 UTC. 0 if it is not there, or was
  /// written before this was kept.
  std::int64_t created_at_ms = 0;

  friend bool operator==(const Order&, const Order&) = default;
};

}  // namespace rushgate
