// The sale of a server in the benchmark.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/shop.h"
#include <rushgate/flash_sale.h>
#include <rushgate/open_backend.h>

namespace rushgate::bench {

/// Opens a sale with these vouchers in a new directory, durability everysec. Its workers do not run: as
/// with the peers, the orders stay in the stream. Calls fail() if it cannot.
inline std::unique_ptr<FlashSale> open_served_sale(const std::string& dir,
                                                   const std::vector<Voucher>& vouchers,
                                                   FlashSaleOptions options = {}) {
  options.start_workers = false;
  BackendUrl place;
  place.kind = BackendUrl::Kind::kDirectory;
  place.dir = dir;
  place.durability = Durability::kEverySec;
  auto sale = FlashSale::open(place, options);
  if (!sale.ok()) fail(sale.status().ToString());
  for (const Voucher& voucher : vouchers) {
    const absl::Status published = (*sale)->publish(voucher);
    if (!published.ok()) fail(published.ToString());
  }
  return *std::move(sale);
}

}  // namespace rushgate::bench
