// Checks that a sale oversold, doubled or lost nothing. The audit can fail, and then names each
// problem.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/sale_stores.h"
#include <rushgate/client.h>

namespace rushgate {

/// The sale of one voucher at one moment.
struct VoucherAudit {
  VoucherId voucher = 0;
  std::int64_t published = 0;
  std::int64_t free = 0;
  std::int64_t admitted = 0;    // summed from the buyers' records, independently of the stock
  std::int64_t given_back = 0;  // to the stock, with the buyer's record kept
  std::int64_t created = 0;     // orders in the database …
  std::int64_t queued = 0;      // … in the stream, not acknowledged and not yet there …
  std::int64_t dead = 0;  // … and among the dead letters: their sum is the number admitted, …
  std::int64_t discarded = 0;  // … except for these, of which some may never have been admitted
};

struct AuditReport {
  std::vector<VoucherAudit> vouchers;
  std::vector<std::string> problems;  // each names the voucher, and the user or order
  /// Consumers of other systems, which may cause problems, and dead letters without stock.
  std::vector<std::string> warnings;

  [[nodiscard]] bool passed() const { return problems.empty(); }
};

/// Audits each voucher that the database, the keyspace or an order names. Asks the database whether
/// its file is whole. Every rule of the admission is checked, from the buyers' records and the
/// orders alone:
/// - The database knows each voucher that is on sale, and the same version is in force.
/// - published = free + admitted - given back, and no more orders than published.
/// - Every admitted order is in exactly one place, and each buyer has as many as the record says. A
///   discarded dead letter explains why a buyer has one less.
/// - No order was acknowledged without being stored, and each entry of the streams can be read.
/// - The limits of the sale, per user and per day hold, and each order was admitted while the sale
///   was open. An order does not name its version, so the loosest terms of all versions count. A
///   limit per day is checked if every version has one, at the same UTC offset.
///
/// May run during the sale, and ignores orders admitted after it began. Reads the streams once,
/// everything in bounded portions. Memory: some tens of bytes for each buyer of all vouchers, some
/// hundred bytes for each buyer of one and for each unstored order.
absl::StatusOr<AuditReport> audit(Client& client, const SaleStores& stores, const SaleKeys& keys);

}  // namespace rushgate
