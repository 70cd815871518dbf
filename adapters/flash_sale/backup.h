// Backups of a running sale.
#pragma once

#include <cstddef>
#include <filesystem>

#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/flash_sale.h>
#include <rushgate/order_store.h>

namespace rushgate {

/// As FlashSale::backup().
absl::StatusOr<BackupReport> back_up(Backend& backend, OrderStore& orders,
                                     const std::filesystem::path& dir, std::size_t keep);

}  // namespace rushgate
