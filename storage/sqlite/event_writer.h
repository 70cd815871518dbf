// Applies the events of orders to the tables of orders, payments and changes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <SQLiteCpp/Database.h>

#include "storage/sqlite/archive_table.h"
#include "storage/sqlite/change_table.h"
#include "storage/sqlite/order_table.h"
#include "storage/sqlite/payment_table.h"
#include <rushgate/payment_store.h>

namespace rushgate {

/// Keeps prepared statements of one connection. Both arguments must outlive it. Not thread-safe.
/// Throws SQLite::Exception.
class EventWriter {
 public:
  EventWriter(const SQLite::Database& database, OrderWriter& orders);

  /// Must run in a transaction. Returns one result per event.
  std::vector<OrderResult> apply_all(std::span<const OrderEvent> events, const BatchFence& fence);

 private:
  OrderResult store(const OrderEvent& event, const BatchFence& fence);
  OrderResult apply(const OrderEvent& event, const BatchFence& fence);
  EventContext context_of(const OrderEvent& event);
  void put(const Payment& payment, const EventContext& context);
  void carry_out(const EventDecision& decision, const OrderEvent& event,
                 const EventContext& context, const BatchFence& fence);

  OrderWriter& orders_;
  ArchiveReader archive_;
  PaymentWriter payments_;
  ChangeWriter changes_;
};

}  // namespace rushgate
