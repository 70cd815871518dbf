// Dead letters that need stock before they are orders again.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "engine/sale/vouchers/voucher_book.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>

namespace rushgate {

/// As Sale::retry_dead_letter().
absl::StatusOr<bool> retry_or_restore_letter(Client& client, const SaleKeys& keys,
                                             VoucherBook& vouchers, const std::string& id);

}  // namespace rushgate
