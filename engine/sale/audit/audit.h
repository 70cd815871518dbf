// Proof that a sale kept its promises: nothing oversold, doubled or lost. It can fail, and then it
// names what is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/client/client.h"
#include "engine/client/native_script.h"
#include "engine/sale/orders/order_store.h"
#include "engine/sale/sale_keys.h"

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
  std::int64_t dead = 0;  // … and among the dead letters: together they are what was admitted
};

struct AuditReport {
  std::vector<VoucherAudit> vouchers;
  std::vector<std::string> problems;  // each names the voucher, and the user or order

  [[nodiscard]] bool passed() const { return problems.empty(); }
};

/// For each voucher that the database, the keyspace or an order in any place speaks of: the
/// database knows it if it is on sale. And at one moment: published = free + admitted − given back;
/// every admitted order is in exactly one place; every buyer has as many orders as his record says;
/// nobody has more than the limit under which his orders were admitted; no order was acknowledged
/// without being stored. May run while the sale goes on: what is admitted after the moment is
/// ignored. Memory: some hundred bytes a buyer and an unstored order.
absl::StatusOr<AuditReport> audit(Client& client, OrderStore& orders, const SaleKeys& keys);

/// The script that takes a voucher's state at one moment (in audit_snapshot.cc), as its native
/// twin.
const Script& audit_snapshot_script();
NativeScript native_audit_snapshot();
inline constexpr std::string_view kNativeAuditSnapshot = "rushgate.audit_snapshot";

}  // namespace rushgate
