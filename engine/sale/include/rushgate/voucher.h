// A voucher: its terms, their versions, and a summary for pages that show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rushgate/user_id.h>

namespace rushgate {

using VoucherId = std::int64_t;
using OrderId = std::int64_t;  // positive; ascending per generator

/// Number of pieces that may be bought, at most 10^12; 0: no such limit.
struct Limits {
  std::int64_t total = 0;               // over the whole sale, below the stock
  std::int64_t per_user = 1;            // over the whole sale
  std::int64_t per_user_day = 0;        // on one day, as utc_offset_minutes divides days
  std::int32_t utc_offset_minutes = 0;  // -720 to 840

  friend bool operator==(const Limits&, const Limits&) = default;
};

/// The end of a voucher without an end: the last millisecond of the year 9999.
inline constexpr std::int64_t kNeverEndsMs = 253'402'300'799'999;

struct Voucher {
  VoucherId id = 0;
  std::string title = {};
  /// Pieces published in all, sold ones included: adding to it is a change of the voucher. At most
  /// 10^12.
  std::int64_t stock = 0;
  std::int64_t begin_ms = 0;           // ms since 1970 UTC; on sale from here …
  std::int64_t end_ms = kNeverEndsMs;  // … to before here
  std::int64_t price_cents = 0;        // of one piece
  Limits limits = {};                  // by default one piece per user
  /// How long an order may stay unpaid before it is cancelled. 0: orders demand no payment.
  std::int64_t payment_ms = 0;
  /// Whether a cancelled or refunded order gives its pieces back to the stock.
  bool restock = true;
  /// Whether it frees its user's limits, so that the user may buy again.
  bool restore_allowance = true;
  /// The most users that may wait for a returned piece (Sale::wait_for()); 0: none may.
  std::int64_t waiting_max = 0;
  /// Whether a purchase needs a purchase token of its user (BuyRequest::purchase_token).
  bool needs_token = false;
  /// On how many lanes of the sale it is sold, from the lane 0 on (docs/cluster.md). Never changes. With
  /// several, its limits per user and day never change, its total limit cannot fall below what is sold, and a
  /// waiting list has a place for each lane at least.
  std::int32_t lanes = 1;

  friend bool operator==(const Voucher&, const Voucher&) = default;
};

/// Returns what is wrong with `voucher`, with the field's name; empty if nothing is.
std::string find_fault(const Voucher& voucher);

/// One state of a voucher. Versions of a voucher are numbered from 1, in the order of publication.
struct VoucherVersion {
  enum class State : std::uint8_t {
    kPending = 0,  // recorded, not yet known to the keyspace     (durable numbers)
    kApplied = 1,
    kRefused = 2,  // it would have withdrawn sold stock
  };

  Voucher voucher = {};
  std::int64_t version = 0;
  State state = State::kPending;
  std::string reason = {};  // set if it was refused

  friend bool operator==(const VoucherVersion&, const VoucherVersion&) = default;
};

/// Returns "pending", "applied" or "refused".
std::string_view version_state_name(VoucherVersion::State state);

/// A voucher for a page that shows it. Both counts are of one moment. They are missing while the
/// keyspace has lost the voucher (the next purchase rebuilds it), and in a list while its lane is away.
struct VoucherSummary {
  Voucher voucher;           // the terms in force
  std::int64_t version = 0;  // of these terms
  std::optional<std::int64_t> free = {};
  std::optional<std::int64_t> admitted = {};  // orders accepted since the first version
};

}  // namespace rushgate
