// Backups of a running sale.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "absl/status/statusor.h"
#include <rushgate/backend.h>
#include <rushgate/flash_sale.h>
#include <rushgate/order_store.h>

namespace rushgate {

/// As FlashSale::backup(). `count_sales` is that of CopyPacer.
absl::StatusOr<BackupReport> back_up(Backend& backend, OrderStore& orders,
                                     const std::filesystem::path& dir, const BackupOptions& options,
                                     std::function<std::uint64_t()> count_sales);

}  // namespace rushgate
