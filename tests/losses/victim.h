// An embedded sale in a process of its own, which is killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/sale/orders/order.h"
#include "engine/store/store.h"

namespace rushgate::losses {

/// The program starts itself as it.
struct Victim {
  std::filesystem::path dir;
  Durability durability = Durability::kOs;
  std::int64_t stock = 0;
  std::int64_t orders_until_killed = 0;  // 0: it sells all, stores it and audits
  std::filesystem::path notes = {};      // of what it syncs, if not empty

  /// Runs it to its end. Returns the orders that it accepted. Throws std::runtime_error if it ended
  /// otherwise than it should.
  [[nodiscard]] std::vector<OrderId> run() const;

  /// What main() does first: ends the process if it was started by run().
  static void be_one_if_told(int argc, char** argv);
};

}  // namespace rushgate::losses
