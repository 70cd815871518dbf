// The result of an audit.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <rushgate/voucher.h>

namespace rushgate {

/// The sale of one voucher at one moment, in pieces.
struct VoucherAudit {
  VoucherId voucher = 0;
  std::int64_t published = 0;
  std::int64_t free = 0;
  std::int64_t admitted = 0;    // summed from the buyers' records, independently of the stock
  std::int64_t given_back = 0;  // to the stock, with the buyer's record kept
  // admitted = created + queued + dead + discarded, except that some discarded ones may never have
  // been admitted.
  std::int64_t created = 0;    // of orders in the database
  std::int64_t queued = 0;     // of orders in the stream that are not stored yet
  std::int64_t dead = 0;       // of dead letters
  std::int64_t discarded = 0;  // of discarded dead letters
  std::int64_t withheld = 0;   // of ended orders, neither in the stock nor a buyer's
  std::int64_t unpaid = 0;     // of those admitted
  std::int64_t ended = 0;      // orders, not pieces: they were cancelled or refunded
};

/// The money of a sale, in cents: received = kept + due + refunded.
struct MoneyAudit {
  std::int64_t received = 0;
  std::int64_t kept = 0;
  std::int64_t due = 0;  // to be refunded
  std::int64_t refunded = 0;

  friend bool operator==(const MoneyAudit&, const MoneyAudit&) = default;
};

/// The result of an audit. A value type.
struct AuditReport {
  std::vector<VoucherAudit> vouchers;
  MoneyAudit money = {};                  // of the payments in the database
  std::vector<std::string> repairs = {};  // by repair()
  std::vector<std::string> problems;      // each names the voucher, and the user or order
  /// Consumers of other systems, dead letters without stock, and vouchers that are being rebuilt or
  /// archived.
  std::vector<std::string> warnings;

  [[nodiscard]] bool passed() const { return problems.empty(); }
};
/// How far an audit is. It begins anew if orders changed during a pass.
struct AuditProgress {
  int pass = 1;
  std::int64_t vouchers = 0;
  std::int64_t vouchers_checked = 0;
  std::int64_t orders = 0;  // about as many as there are: pieces admitted, as the keyspace counts
  std::int64_t orders_checked = 0;  // in the database
};
/// Called by audit() on its thread, before the first voucher, and after each portion of orders and
/// each voucher.
using OnAuditProgress = std::function<void(const AuditProgress& progress)>;
/// Writes "audit passed" or "audit failed", then each problem and each warning on a line.
std::ostream& operator<<(std::ostream& out, const AuditReport& report);

}  // namespace rushgate
