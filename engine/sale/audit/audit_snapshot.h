// The keyspace's view of a voucher: counters of one moment, and the buyers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include <rushgate/client.h>
#include <rushgate/sale_keys.h>
#include <rushgate/stream_id.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// A moment of the keyspace, between two commands.
struct KeyspaceMoment {
  StreamId last;             // the order stream's last id; 0-0 where there is no stream
  std::int64_t time_ms = 0;  // the keyspace's own time: since 1970 UTC

  /// Returns true if an order with this entry was admitted after the moment. A keyspace that lost
  /// its stream numbers entries from scratch, perhaps below older orders: hence the time.
  [[nodiscard]] bool precedes(StreamId entry) const {
    return entry > last && static_cast<std::int64_t>(entry.ms) >= time_ms;
  }
};

/// The counters of a voucher. Empty where the keyspace has none.
struct VoucherCounters {
  std::optional<std::int64_t> version;
  std::optional<std::int64_t> published;
  std::optional<std::int64_t> stock;
  std::optional<std::int64_t> admitted;  // kept where the whole sale has a limit
  std::int64_t given_back = 0;
  std::int64_t withheld = 0;
  std::int64_t moved = 0;  // pieces that came from other lanes, less those that went there
  std::int64_t epoch = 0;  // of the database when the voucher was last rebuilt
  /// The time when a rebuild last renewed its claim; empty: the voucher is not closed.
  std::optional<std::int64_t> closed_at_ms = {};
  bool is_unlisted = false;          // it has a version, and SaleKeys::vouchers() lacks it
  bool is_counted = false;           // the terms say that the buyers are a hash
  std::string buyers_type = "none";  // as TYPE says
  /// The orders that were given back, of the requested ones. Each with keeps_of().
  absl::flat_hash_map<OrderId, std::int64_t> refunds = {};
  KeyspaceMoment taken_at;  // the same for all of them

  /// Returns true if both have the same version on sale, and neither a rebuild nor a loss came in
  /// between.
  [[nodiscard]] bool is_same_sale(const VoucherCounters& other) const {
    return version == other.version && published == other.published &&
           stock.has_value() == other.stock.has_value() && epoch == other.epoch &&
           closed_at_ms.has_value() == other.closed_at_ms.has_value();
  }
  /// Returns true if a rebuild works on the voucher. One that did not renew its claim for a while was
  /// abandoned.
  [[nodiscard]] bool is_being_rebuilt() const;
};

/// A user's record of the limit per day.
struct DayRecord {
  std::int64_t day = 0;
  std::int64_t count = 0;  // pieces
};

/// A voucher in the keyspace. The buyers are read in portions. An order admitted after
/// `counters.taken_at` and not after `buyers_read_at` may be counted among them or not.
struct VoucherSnapshot {
  VoucherCounters counters;
  /// The values of term_fields(), in their order, read with the counters.
  std::vector<std::optional<std::int64_t>> terms;
  absl::flat_hash_map<UserId, std::int64_t> buyers;  // with the number of orders admitted
  KeyspaceMoment buyers_read_at;
  absl::flat_hash_map<UserId, DayRecord> days;  // read after the buyers; with a limit per day
  std::vector<OrderId> refunds;                 // SaleKeys::refunds(), read after the counters
  std::vector<std::string> faults;              // records that cannot be read
};

/// Reads the counters in one request, without the refunds.
absl::StatusOr<VoucherCounters> read_voucher_counters(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher);

/// Reads a voucher in bounded portions, and with the counters the refunds of `refunding`, of which there
/// are few. Starts over if another version comes into force meanwhile, or a rebuild begins or ends.
absl::StatusOr<VoucherSnapshot> take_voucher_snapshot(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher,
                                                      std::span<const OrderId> refunding);

}  // namespace rushgate
