// A voucher's part of the keyspace at one moment.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "engine/base/stream_id.h"
#include "engine/client/client.h"
#include "engine/sale/sale_keys.h"
#include "engine/sale/vouchers/voucher.h"

namespace rushgate {

/// What audit_snapshot_script() answers. Nothing for what the keyspace does not have.
struct AuditSnapshot {
  std::optional<std::int64_t> version;
  std::optional<std::int64_t> published;
  std::optional<std::int64_t> stock;
  std::int64_t given_back = 0;
  absl::flat_hash_map<UserId, std::int64_t> buyers;  // how often each was admitted
  StreamId last;             // the order stream's last id; 0-0 where there is no stream
  std::int64_t time_ms = 0;  // the keyspace's own time: since 1970 UTC

  /// Was an order with this entry admitted after the moment? A keyspace that lost its stream
  /// numbers the entries anew, perhaps below those of older orders: hence the time.
  [[nodiscard]] bool is_before(StreamId entry) const {
    return entry > last && static_cast<std::int64_t>(entry.ms) >= time_ms;
  }
};

absl::StatusOr<AuditSnapshot> take_audit_snapshot(Client& client, const SaleKeys& keys,
                                                  VoucherId voucher);

}  // namespace rushgate
