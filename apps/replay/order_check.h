// Is every accepted row an order, and a different one?
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/replay/replay.h"
#include "engine/sale/orders/dead_letters.h"
#include "engine/sale/orders/order_store.h"

namespace rushgate {

struct OrderCheck {
  std::size_t created = 0;
  std::size_t dead = 0;
  std::vector<std::string> problems;  // each names the line
};

/// To be asked when nothing is queued: an accepted row that is nowhere is lost.
absl::StatusOr<OrderCheck> check_orders(std::span<const AcceptedRow> accepted, OrderStore& orders,
                                        std::span<const DeadLetter> dead_letters);

}  // namespace rushgate
