// The buyers of a voucher, as the orders in both stores say.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include <rushgate/order_store.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// The orders of one buyer.
struct Bought {
  std::int64_t count = 0;
  std::int64_t day = std::numeric_limits<std::int64_t>::min();  // the latest with an order
  std::int64_t on_day = 0;
};

/// What a rebuild gives back to a voucher. Orders are added one by one.
struct RebuiltBuyers {
  std::map<UserId, Bought> bought;
  std::map<OrderId, Order> unpaid;
  std::map<OrderId, std::string> ended;        // as describe_end() says; not stored yet
  absl::btree_map<std::string, Order> of_key;  // by idempotency keys that have not expired
  std::int64_t taken = 0;                      // pieces, from the stock
  std::int64_t given_back = 0;                 // as admission_rules.lua counts them
  std::int64_t withheld = 0;
  bool counted = false;                          // a set cannot hold the counts
  bool with_days = false;                        // there is a limit per day
  std::int64_t epoch = 0;                        // that began before they were read
  std::string caught_up = {};                    // the owner's field when the streams were read
  std::int64_t now_ms = 0;                       // by the keyspace, before they were read
  absl::flat_hash_map<OrderId, UserId> waiting;  // users, by the orders that they will get
  std::vector<UserId> served;                    // of those: their orders exist

  void add(const Order& order, const Limits& limits);
  /// Notes that an order has this id. No other one may get it.
  void note_used(OrderId id);
  /// Of several orders of a key, which only a damaged keyspace admits, the first keeps it.
  void add_key(const Order& order);
  /// Returns why one more order is too many; empty if it is not.
  [[nodiscard]] std::string find_excess(const Order& order, const Limits& limits,
                                        std::int64_t stock) const;
};

}  // namespace rushgate
