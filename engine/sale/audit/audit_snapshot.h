// The keyspace's view of a voucher: counters of one moment, and the buyers.
#pragma once

#include <cstdint>
#include <optional>
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
  /// Refunded orders that were given back and are not stored as such. Each with keeps_of().
  absl::flat_hash_map<OrderId, std::int64_t> refunds = {};
  KeyspaceMoment taken_at;  // the same for all of them

  /// Returns true if both have the same version on sale, and both or neither have a stock.
  [[nodiscard]] bool is_same_sale(const VoucherCounters& other) const {
    return version == other.version && published == other.published &&
           stock.has_value() == other.stock.has_value();
  }
};

/// A voucher in the keyspace. The buyers are read in portions. An order admitted after
/// `counters.taken_at` and not after `buyers_read_at` may be counted among them or not.
struct VoucherSnapshot {
  VoucherCounters counters;
  /// The values of term_fields(), in their order, read with the counters.
  std::vector<std::optional<std::int64_t>> terms;
  absl::flat_hash_map<UserId, std::int64_t> buyers;  // with the number of orders admitted
  KeyspaceMoment buyers_read_at;
};

/// Reads the counters in one request, without the refunds.
absl::StatusOr<VoucherCounters> read_voucher_counters(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher);

/// Reads a voucher in bounded portions. Starts over if another version comes into force meanwhile.
absl::StatusOr<VoucherSnapshot> take_voucher_snapshot(Client& client, const SaleKeys& keys,
                                                      VoucherId voucher);

}  // namespace rushgate
