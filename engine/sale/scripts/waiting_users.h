// The pages of a waiting list (SaleKeys::waiting()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/purchase.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// Returns the users that arrived after the arrival `after`, in the order of their arrival, at most
/// `count_max`.
absl::StatusOr<std::vector<WaitingUser>> read_waiting_users(Client& client, const SaleKeys& keys,
                                                            VoucherId voucher, std::int64_t after,
                                                            std::size_t count_max);

}  // namespace rushgate
