// Repairs contradictions about holds that the database decides.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// Repairs, and returns a line for each thing that it did:
/// - appends the event of a hold that ended, if neither the stream nor the database has it;
/// - removes an end that is stored;
/// - removes the hold of an order that is not unpaid;
/// - rebuilds the voucher of an unpaid order without a hold.
absl::StatusOr<std::vector<std::string>> repair(Client& client, const SaleStores& stores,
                                                const SaleKeys& keys, VoucherBook& vouchers);

}  // namespace rushgate
