#include "engine/sale/vouchers/adoption.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stream/group_progress.h"
#include "engine/sale/stream/unstored_orders.h"
#include "engine/sale/vouchers/voucher_buyers.h"

namespace rushgate {
namespace {

using Users = absl::flat_hash_set<UserId>;

/// Returns the users whose order is stored, or will be.
absl::StatusOr<Users> find_served(Client& client, OrderStore& orders, const SaleKeys& keys,
                                  VoucherId voucher) {
  Users served;
  // The stream first: an order that moves to the database meanwhile is found there.
  ASSIGN_OR_RETURN(const auto unstored, read_unstored_orders(client, keys, voucher));
  ASSIGN_OR_RETURN(const auto acknowledged, AcknowledgedEntries::read(client, keys));
  for (std::size_t i = 0; i < unstored.queued.size(); ++i) {
    if (!acknowledged.contains(unstored.queued_as[i])) served.insert(unstored.queued[i].user);
  }
  for (const Order& order : unstored.dead) served.insert(order.user);
  const absl::Status read = for_each_order(orders, {.voucher = voucher},
                                           [&](const Order& order) { served.insert(order.user); });
  if (!read.ok()) return read;
  return served;
}

absl::Status write_rows(const SaleStores& stores, std::span<const Order> rows) {
  ASSIGN_OR_RETURN(const auto state, stores.orders.state());
  const auto results = stores.write(
      rows, {.epoch = state.epoch, .checkpoint = state.checkpoint, .session = state.session});
  if (!results.ok()) return results.status();
  for (const OrderResult& result : *results) {
    if (result.kind == OrderResult::Kind::kRefused) {
      return absl::FailedPreconditionError("adopting a buyer: " + result.reason);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status import_buyers(Client& client, const SaleStores& stores, const SaleKeys& keys,
                           const Voucher& voucher,
                           const std::function<absl::Status(std::span<OrderId>)>& draw_ids) {
  // The buyers first, since the sale goes on. The order of a later buyer is found in the stream, or
  // the buyer is not in this list.
  std::vector<UserId> missing;
  const auto visit = [&](const UserId& user, std::int64_t /*count*/) { missing.push_back(user); };
  RETURN_IF_ERROR(for_each_buyer(client, keys, voucher.id, visit));
  ASSIGN_OR_RETURN(const auto served, find_served(client, stores.orders, keys, voucher.id));
  std::erase_if(missing, [&](const UserId& user) { return served.contains(user); });
  std::ranges::sort(missing);
  if (!missing.empty() && !missing.back().is_number() && !stores.orders.takes_user_names()) {
    return absl::FailedPreconditionError(
        "the order store takes numbers as user ids, and a buyer is named \"" +
        missing.back().text() + "\"");
  }
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());

  constexpr std::size_t kRowsMax = 1'000;
  std::vector<OrderId> ids;
  std::vector<Order> rows;
  for (std::size_t begin = 0; begin < missing.size(); begin += kRowsMax) {
    ids.resize(std::min(kRowsMax, missing.size() - begin));
    RETURN_IF_ERROR(draw_ids(ids));
    rows.clear();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      rows.push_back({.id = ids[i],
                      .user = missing[begin + i],
                      .voucher = voucher.id,
                      .limit = voucher.limits.per_user});
    }
    RETURN_IF_ERROR(write_rows(stores, rows));
  }
  return absl::OkStatus();
}

}  // namespace rushgate
