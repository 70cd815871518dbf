// An embedded sale in a child process that is killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <rushgate/order_store.h>
#include <rushgate/store.h>

namespace rushgate::losses {

/// The program starts itself in this role.
struct Victim {
  std::filesystem::path dir;
  Durability durability = Durability::kOs;
  std::int64_t stock = 0;
  std::int64_t orders_until_killed = 0;  // 0: it sells and stores everything, then audits
  std::filesystem::path notes = {};      // file for notes about its syncs; empty: none

  /// Runs the process to its end. Returns the orders that it accepted. Throws std::runtime_error on
  /// any unexpected end.
  [[nodiscard]] std::vector<OrderId> run() const;

  /// Runs the child's part and ends the process if run() started it. main() calls this first.
  static void be_one_if_told(int argc, char** argv);
};

}  // namespace rushgate::losses
