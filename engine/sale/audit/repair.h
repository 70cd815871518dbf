// Repairs contradictions about holds, payments and idempotency keys that the database decides.
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
/// - removes an end that is stored or whose order was discarded, and a payment that differs from the
///   database;
/// - makes an order unpaid again whose hold was ended by a payment that was discarded;
/// - removes the hold of an order that is not unpaid;
/// - makes the hold of an unpaid order say the same as the order, and sets its deadline;
/// - rebuilds the voucher of an unpaid order without a hold, and of an order whose idempotency key is
///   lost;
/// - opens the holds of a voucher that no rebuild has closed.
///
/// A repair that writes compares first, in the same script. A removal concerns only what cannot become
/// right again. A rebuild may be repeated. So an interruption does no harm: the next repair() does the
/// rest.
absl::StatusOr<std::vector<std::string>> repair(Client& client, const SaleStores& stores,
                                                const SaleKeys& keys, VoucherBook& vouchers);

}  // namespace rushgate
