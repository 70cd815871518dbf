// Ends sales for good: takes their keys out of the keyspace, and moves their orders to the archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include <rushgate/archive_store.h>
#include <rushgate/client.h>
#include <rushgate/order_store.h>
#include <rushgate/sale_keys.h>
#include <rushgate/voucher.h>

namespace rushgate {

/// The database comes first: once it has archived the voucher, no process can rebuild or publish it,
/// and no call can use or refund its orders. Then its keys go, also those of a rebuild that is going
/// on, and its orders move. Each step may be repeated. The voucher's id in SaleKeys::vouchers() is the
/// last key to go: while it is there, the archiving is not finished, or the keyspace lost its end.
///
/// Thread-safe. Does not own its arguments, which must outlive it.
class Archiving {
 public:
  Archiving(Client& client, const SaleStores& stores, const SaleKeys& keys, KeyspaceOwner& owner)
      : client_(client), stores_(stores), keys_(keys), owner_(owner) {}

  // Sale::archive() are these steps, each on all lanes of the voucher before the next one:
  /// Checks that nothing of the voucher is left to be done on this lane, unless it is archived already. Discards the
  /// dead letters for the reason `discard_dead_letters`, if it is not empty.
  absl::Status prepare(VoucherId voucher, const std::string& discard_dead_letters);
  /// Archives it in the database, on one of its lanes.
  absl::Status record(VoucherId voucher);
  /// Removes its keys from this lane. Then moves its orders, of all lanes.
  absl::Status move(VoucherId voucher);

  /// As Sale::delete_archived().
  absl::StatusOr<std::size_t> delete_orders(VoucherId voucher);
  /// Finishes the archiving of an interrupted process, also where the keyspace lost the last steps.
  /// Returns the vouchers.
  absl::StatusOr<std::vector<VoucherId>> finish();
  /// Removes the keys of archived vouchers that came back with an older keyspace. Uses `client`
  /// alone, for a new connection, and moves no orders.
  absl::Status remove_returned_keys(Client& client);

 private:
  absl::Status check(VoucherId voucher);
  absl::Status check_letters(VoucherId voucher);
  absl::Status check_ended(VoucherId voucher);
  absl::Status check_settled(VoucherId voucher);
  absl::Status check_queue(VoucherId voucher);
  absl::Status check_payments(VoucherId voucher);
  absl::Status remove_holds(Client& client, VoucherId voucher);
  absl::Status remove_keys(Client& client, VoucherId voucher);
  absl::Status seal(Client& client);
  absl::StatusOr<std::vector<VoucherId>> find_unfinished(Client& client, bool only_in_keyspace);

  Client& client_;
  const SaleStores stores_;
  const SaleKeys keys_;
  KeyspaceOwner& owner_;
};

}  // namespace rushgate
