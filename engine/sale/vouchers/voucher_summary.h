// A voucher for a page that shows it: its terms, and how many are left.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// Both counts are of one moment of the keyspace. They are missing while the keyspace lacks the
/// voucher. The next purchase rebuilds it.
struct VoucherSummary {
  Voucher voucher;           // the terms in force
  std::int64_t version = 0;  // of these terms
  std::optional<std::int64_t> free = {};
  std::optional<std::int64_t> admitted = {};  // orders accepted since the first version
};

}  // namespace rushgate
