#include "engine/sale/sale_parts.h"

#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/log.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stream/dead_letters.h"

namespace rushgate {
namespace {

/// Returns a client whose results replicas confirm; null on a keyspace without such clients.
std::unique_ptr<Client> open_confirming(Backend& backend, ClientOptions options) {
  if (!backend.capabilities().confirms) return nullptr;
  options.confirms = true;
  return backend.open_client(options);
}

}  // namespace

Sale::Parts::Parts(Backend& backend, const SaleStores& its_stores, SaleOptions its_options,
                   KeyspaceRole role, std::optional<OtherLanes> other_lanes)
    : stores(its_stores),
      options(std::move(its_options)),
      client(backend.open_client(options.client)),
      buyers(open_confirming(backend, options.client)),
      reservations(stores.orders, options.lanes > 1),
      ids(backend, order_id_options(options.keys, options.id_block_size, options.client),
          &reservations),
      queued(*client, options.keys, backend.capabilities().runs_native_scripts),
      owner(stores, options.keys,
            {.adopt = options.adopt,
             .is_shared = !backend.capabilities().runs_native_scripts,
             .accept_lost_orders = options.accept_lost_orders,
             .role = role,
             .logger = options.logger}),
      vouchers(*client, stores, owner, options.keys,
               {.buyers_converted_max = options.buyers_converted_max,
                .adopt = options.adopt,
                .draw_ids =
                    [this](std::span<OrderId> drawn) {
                      std::size_t count = 0;
                      return ids.next_ids(drawn, count);
                    },
                .forget_copies =
                    [this](VoucherId voucher) {
                      return voucher_cache ? voucher_cache->forget(voucher) : absl::OkStatus();
                    },
                .other_lanes = std::move(other_lanes),
                .logger = options.logger,
                .wait = options.client.wait}),
      changes(*client, backend.clock(), stores, options.keys, queued, owner, vouchers),
      lookup(*client, stores, options.keys, queued),
      purchases({.client = buyers != nullptr ? *buyers : *client,
                 .stores = stores,
                 .keys = options.keys,
                 .ids = ids,
                 .queued = queued,
                 .owner = owner,
                 .vouchers = vouchers,
                 .changes = changes},
                {.request_ttl_ms = options.request_ttl_ms,
                 .names_order_at_limit = options.names_order_at_limit,
                 .admission = options.admission,
                 .is_remote = !backend.capabilities().runs_native_scripts,
                 .client = options.client}),
      archiving(*client, stores, options.keys, owner),
      connection_check(
          [this, has_slots = backend.capabilities().has_slots](Client& connection) -> absl::Status {
            if (is_on_other_node(connection, options.keys, has_slots)) return absl::OkStatus();
            const bool is_same_run = server_run.remember(connection);
            if (!is_same_run) {  // it may have lost writes
              ids.forget_draws();
              queued.clear();
              purchases.forget_recent();
              may_have_archived_keys = true;
              may_have_old_counter = true;
            }
            RETURN_IF_ERROR(owner.verify(connection));
            // A purchase that has an id already is decided on over this connection.
            if (may_have_old_counter) RETURN_IF_ERROR(ids.raise_counter(connection));
            may_have_old_counter = false;
            remove_returned_keys(connection);
            return absl::OkStatus();
          }) {
  backend.add_connection_check(connection_check.get());
}

absl::Status Sale::Parts::open(Backend& backend, absl::FunctionRef<absl::Status()> once_claimed) {
  RETURN_IF_ERROR(owner.verify(*client));
  RETURN_IF_ERROR(once_claimed());
  ASSIGN_OR_RETURN(const auto needs_lease, owner.needs_lease());
  if (needs_lease) lease_timer = std::make_unique<LeaseTimer>(backend, owner, options.logger);
  RETURN_IF_ERROR(purchases.load());
  if (options.voucher_copies_max > 0) {
    ASSIGN_OR_RETURN(voucher_cache,
                     VoucherCache::open(backend, stores.vouchers, options.keys,
                                        options.voucher_copies_max, options.client.wait));
  }
  server_run.remember(*client);
  RETURN_IF_ERROR(vouchers.recover());
  const absl::Status prepared = ids.prepare();
  if (absl::IsResourceExhausted(prepared)) {  // until tomorrow; what is sold is still to be stored
    if (options.logger) log_error(*options.logger, std::string(prepared.message()));
  } else {
    RETURN_IF_ERROR(prepared);
  }
  RETURN_IF_ERROR(archiving.finish().status());
  const auto refunds = changes.finish_refunds();
  if (!refunds.ok() && options.logger) {
    log_error(*options.logger,
              concat("refunds that were begun are not finished: ", refunds.status().message()));
  }
  // If memory is short, the first search for a dead letter tries once more.
  absl::Status indexed = index_dead_letters(*client, options.keys);
  return absl::IsUnavailable(indexed) ? absl::OkStatus() : indexed;
}

/// Removes the keys of archived vouchers after a connection to another run of the server. Not after a
/// loss alone: another process may have noticed that first. These keys sell nothing, so a failure
/// refuses no connection. The next one tries again.
void Sale::Parts::remove_returned_keys(Client& connection) {
  if (!may_have_archived_keys) return;
  const absl::Status removed = archiving.remove_returned_keys(connection);
  if (removed.ok()) {
    may_have_archived_keys = false;
  } else if (options.logger) {
    log_error(*options.logger,
              concat("keys of archived vouchers are not removed yet: ", removed.message()));
  }
}

}  // namespace rushgate
