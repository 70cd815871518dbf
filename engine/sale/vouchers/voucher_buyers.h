// The buyers of a voucher, as the keyspace has them.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/client/client.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Visits each buyer with the number of orders admitted, in no order and in bounded portions. One
/// that is a buyer from the beginning to the end is visited at least once. kAborted if the buyers
/// change from a set to a hash of counts meanwhile, or back.
absl::Status for_each_buyer(Client& client, const SaleKeys& keys, VoucherId voucher,
                            absl::FunctionRef<void(UserId user, std::int64_t count)> visit);

}  // namespace rushgate
