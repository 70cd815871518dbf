// What an order worker reads, writes and decides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/model/order_entry.h"
#include "engine/sale/stream/dead_letters.h"
#include <rushgate/dead_letter.h>
#include <rushgate/order_store.h>
#include <rushgate/payment_store.h>

namespace rushgate {

/// Entries of the order stream, pending for the worker's consumer.
struct EntryBatch {
  std::vector<OrderEntry> entries;
  bool is_redelivery = false;  // another delivery came before, to this consumer or another
};

/// The decision about an entry.
struct DecidedEntry {
  enum class Fate : std::uint8_t {
    kStored,
    kRefused,
    kFault,     // it could not be written, and others could
    kTooEarly,  // as OrderResult says
  };
  const OrderEntry* entry = nullptr;
  Fate fate = Fate::kStored;
  std::string reason = {};
  bool lacks_pieces = false;          // as OrderResult says
  bool lacks_stock = false;           // as OrderResult says
  bool may_need_earlier = false;      // an entry that another worker has not applied yet
  std::optional<SeenEnds> seen = {};  // if it was written again, and lacks pieces

  [[nodiscard]] bool is_refused() const {
    return fate == Fate::kRefused || fate == Fate::kTooEarly;
  }
};

/// A part of EntryWrites.
struct WriteSpan {
  std::span<const Order> orders;
  std::span<const OrderEvent> events;
  std::span<const OrderEntry* const> entries;

  [[nodiscard]] std::size_t size() const { return entries.size(); }
  [[nodiscard]] WriteSpan subspan(std::size_t begin, std::size_t count) const {
    return {.orders = events.empty() ? orders.subspan(begin, count) : orders,
            .events = events.empty() ? events : events.subspan(begin, count),
            .entries = entries.subspan(begin, count)};
  }
  [[nodiscard]] WriteSpan first(std::size_t count) const { return subspan(0, count); }
  [[nodiscard]] WriteSpan without_first(std::size_t count) const {
    return subspan(count, size() - count);
  }
};

/// Orders or events, each with its entry. Without events of stored orders, which are rare, it is
/// kept as orders: they take less space and time. An order that was cancelled while it was queued
/// stays an event, which has its cancellation.
class EntryWrites {
 public:
  void reserve(std::size_t count) {
    orders_.reserve(count);
    entries_.reserve(count);
  }
  void add(OrderEvent event, const OrderEntry& entry) {
    entries_.push_back(&entry);
    const bool is_order = event.kind == OrderEvent::Kind::kAdmitted && !change_before(event);
    if (events_.empty() && is_order) {
      orders_.push_back(std::move(event.order));
      return;
    }
    for (Order& order : orders_) {
      events_.push_back({.order = std::move(order)});
      events_.back().at_ms = events_.back().order.admitted_at_ms;
    }
    orders_.clear();
    events_.push_back(std::move(event));
  }
  [[nodiscard]] WriteSpan all() const { return {orders_, events_, entries_}; }

 private:
  std::vector<Order> orders_;
  std::vector<OrderEvent> events_;  // if one is more than an order: all; else empty
  std::vector<const OrderEntry*> entries_;
};

/// As read_event(). An event that the order store cannot keep is an error.
absl::StatusOr<OrderEvent> read_storable(const OrderEntry& entry, OrderStore& orders);

}  // namespace rushgate
