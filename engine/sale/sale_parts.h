// The parts of a sale, their order, and their opening.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/core/client/connection_check.h"
#include "engine/sale/keyspace/keyspace_owner.h"
#include "engine/sale/keyspace/keyspace_run.h"
#include "engine/sale/keyspace/lease_timer.h"
#include "engine/sale/orders/order_changes.h"
#include "engine/sale/orders/order_lookup.h"
#include "engine/sale/orders/purchases.h"
#include "engine/sale/stores/order_ids.h"
#include "engine/sale/stream/queued_orders.h"
#include "engine/sale/vouchers/archiving.h"
#include "engine/sale/vouchers/voucher_book.h"
#include "engine/sale/vouchers/voucher_cache.h"
#include <rushgate/backend.h>
#include <rushgate/client.h>
#include <rushgate/ids.h>
#include <rushgate/order_store.h>
#include <rushgate/sale.h>

namespace rushgate {

/// Thread-safe after open(). Does not own its arguments, which must outlive it.
struct Sale::Parts {
  /// The options must be valid.
  Parts(Backend& backend, const SaleStores& its_stores, SaleOptions its_options,
        KeyspaceRole role = KeyspaceRole::kSale, std::optional<OtherLanes> other_lanes = {});

  /// Finishes Sale::open(); to succeed once before any part is used. May be repeated after an error. Calls
  /// `once_claimed` before it rebuilds a voucher.
  absl::Status open(Backend& backend, absl::FunctionRef<absl::Status()> once_claimed = do_nothing);

  void remove_returned_keys(Client& connection);

  const SaleStores stores;
  const SaleOptions options;
  const std::unique_ptr<Client> client;
  const std::unique_ptr<Client> buyers;  // of confirmed purchases; null: purchases use `client`
  OrderIdReservations reservations;
  IdGenerator ids;
  QueuedOrders queued;
  KeyspaceOwner owner;
  ServerRun server_run;
  std::unique_ptr<VoucherCache> voucher_cache;  // null: none
  VoucherBook vouchers;
  OrderChanges changes;
  OrderLookup lookup;
  Purchases purchases;
  std::unique_ptr<LeaseTimer> lease_timer;  // null without a lease
  Archiving archiving;
  std::atomic<bool> may_have_archived_keys = false;  // an older keyspace has them again
  std::atomic<bool> may_have_old_counter = false;    // of order ids
  const OwnedConnectionCheck connection_check;
};

}  // namespace rushgate
