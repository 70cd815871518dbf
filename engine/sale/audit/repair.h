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
/// - appends the event of a hold that ended, or of a payment that was acknowledged, if neither the
///   stream nor the database has it;
/// - removes an end that is stored, and a payment that the database has otherwise;
/// - removes the hold of an order that is not unpaid;
/// - makes the hold of an unpaid order say the same as the order, and sets its deadline;
/// - rebuilds the voucher of an unpaid order without a hold;
/// - opens the holds of a voucher that no rebuild has closed.
///
/// Each step is one script, which changes nothing if the keyspace changed since it was read. So a
/// repetition after an interruption does the rest.
absl::StatusOr<std::vector<std::string>> repair(Client& client, const SaleStores& stores,
                                                const SaleKeys& keys, VoucherBook& vouchers);

}  // namespace rushgate
