// Checks that every accepted row has an order of its own.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/replay/replay.h"
#include "engine/sale/stream/dead_letters.h"
#include <rushgate/order_store.h>

namespace rushgate {

struct OrderCheck {
  std::size_t created = 0;
  std::size_t dead = 0;
  std::vector<std::string> problems;  // each names its line
};

/// Compares the rows with both stores. Requires an empty queue: an accepted row without an order is
/// lost.
absl::StatusOr<OrderCheck> check_orders(std::span<const AcceptedRow> accepted, OrderStore& orders,
                                        std::span<const DeadLetter> dead_letters);

}  // namespace rushgate
