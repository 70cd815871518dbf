// What the buyers of a simulated sale were told: the orders they have, also by idempotency keys and purchase tokens.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/random.h"
#include <rushgate/order_store.h>
#include <rushgate/sale.h>
#include <rushgate/simulated_cluster.h>

namespace rushgate::testing {

/// Remembers promises, and what the lanes have lost since. Blames the sale for what it does not keep. Not thread-safe.
class Promises {
 public:
  using Blame = std::function<void(const std::string& fault)>;
  /// Of each lane: how often its master came back with less.
  using Losses = std::vector<int>;
  struct AcceptedOrder {
    BuyRequest request;
    bool is_replicated = false;  // its master's replica has it
    bool may_be_lost = false;    // its master lost it before it was stored
  };

  /// `orders` is the database, without faults. It must outlive this.
  Promises(int lanes, OrderStore& orders, Blame blame);

  // ---- Lanes ----

  /// Notes that the master of a lane starts now.
  void note_start(int lane, Comeback comeback);
  /// Notes that the replica of a lane's master has everything.
  void note_replicated(int lane);
  /// Notes that a lane is on another master, whose replica has nothing of it.
  void note_moved(int lane);
  [[nodiscard]] const Losses& losses() const { return losses_; }

  // ---- Buyers ----

  /// Notes a result. `before` is what losses() were when the purchase began.
  void note_result(const BuyRequest& request, const BuyResult& result, const Losses& before);
  /// Notes that somebody has an order; nothing if that is known.
  void note_accepted(const BuyRequest& request, OrderId order, const Losses& before);
  /// Returns a purchase with an idempotency key that somebody began before, if there is one: most often one of unknown
  /// outcome.
  [[nodiscard]] std::optional<BuyRequest> choose_repeatable(Random& random) const;
  /// Returns one of the accepted orders; requires one.
  [[nodiscard]] OrderId choose_order(Random& random) const;
  [[nodiscard]] const std::map<OrderId, AcceptedOrder>& accepted() const { return accepted_; }
  /// Returns true if a master may have lost an order that was accepted.
  [[nodiscard]] bool may_be_lost(OrderId order) const;

  // ---- The end ----

  /// Repeats each purchase with an idempotency key.
  void repeat_all(Sale& sale);
  /// Checks that each accepted order is stored.
  void check_stored(Sale& sale) const;
  /// The same of the orders of a voucher, in the database itself.
  void check_recorded(VoucherId voucher) const;

 private:
  struct Keyed {
    BuyRequest request;
    OrderId order = 0;  // 0: no reply has named it
  };

  struct SpentToken {
    int lane = 0;
    bool may_come_back = true;  // the replica may have it as it was before
    bool is_back = false;
  };

  void note_replica(int lane, bool has_all);
  void note_key(const BuyRequest& request, OrderId order);
  void note_token(const BuyRequest& request, OrderId order, const Losses& before);
  [[nodiscard]] static std::size_t lane_of(OrderId order);
  [[nodiscard]] bool has_lost_since(OrderId order, const Losses& before) const;

  OrderStore& orders_;
  const Blame blame_;
  Losses losses_;
  std::map<OrderId, AcceptedOrder> accepted_;
  std::map<std::string, Keyed> keyed_;  // by idempotency key
  std::map<std::string, SpentToken> spent_tokens_;
};

}  // namespace rushgate::testing
