// The buyers of a voucher in the keyspace.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Visits each buyer with the number of orders admitted, in no order and in bounded portions.
/// Visits each user that is a buyer during the whole call at least once. kAborted: meanwhile the
/// buyers were converted from a set to a hash of counts, or back.
absl::Status for_each_buyer(Client& client, const SaleKeys& keys, VoucherId voucher,
                            absl::FunctionRef<void(const UserId& user, std::int64_t count)> visit);

}  // namespace rushgate
