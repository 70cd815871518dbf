#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>

namespace rushgate {
namespace {

/// Returns true if `again` is the stored order, whose status may have changed since.
bool is_redelivery(const Order& stored, const Order& again) {
  return again.id == stored.id && again.user == stored.user && again.voucher == stored.voucher &&
         again.limit == stored.limit && again.entry == stored.entry &&
         again.quantity == stored.quantity && again.price_cents == stored.price_cents;
}

/// Returns the result for an order that lacks pieces, of which some are being refunded.
OrderResult lacks_pieces(std::string why, std::int64_t lacking, std::int64_t refunding) {
  if (refunding < lacking) {
    return {.kind = OrderResult::Kind::kRefused, .reason = std::move(why), .lacks_pieces = true};
  }
  why += concat(", and ", refunding, " of them are being refunded");
  return {OrderResult::Kind::kTooEarly, std::move(why)};
}

}  // namespace

std::string_view order_result_name(OrderResult::Kind kind) {
  switch (kind) {
    case OrderResult::Kind::kStored:
      return "stored";
    case OrderResult::Kind::kAlreadyStored:
      return "already stored";
    case OrderResult::Kind::kRefused:
      return "refused";
    case OrderResult::Kind::kTooEarly:
      return "too early";
  }
  return "?";
}

absl::Status for_each_order(OrderStore& store, OrderFilter filter,
                            absl::FunctionRef<void(const Order&)> visit,
                            BetweenPortions between_portions) {
  while (true) {
    const auto portion = store.list(filter);
    if (!portion.ok()) return portion.status();
    for (const Order& order : *portion) visit(order);
    if (portion->empty() || portion->size() < filter.count_max) return absl::OkStatus();
    filter.after = portion->back().id;
    if (const absl::Status done = between_portions(); !done.ok()) return done;
  }
}

// ---- Defaults ----

absl::StatusOr<std::optional<Order>> OrderStore::find(OrderId id) {
  if (id <= 0) return std::nullopt;
  OrderFilter filter;
  filter.after = id - 1;
  filter.count_max = 1;
  const auto found = list(filter);
  if (!found.ok()) return found.status();
  if (found->empty() || found->front().id != id) return std::nullopt;
  return found->front();
}

absl::StatusOr<OrderId> OrderStore::greatest_id(OrderId below) {
  OrderId greatest = 0;
  OrderFilter filter;
  filter.count_max = 1;
  // Each id from `end` on is too high, or has none above it that is low enough.
  for (OrderId end = below; greatest + 1 < end;) {
    filter.after = greatest + (end - 1 - greatest) / 2;
    const auto next = list(filter);
    if (!next.ok()) return next.status();
    if (!next->empty() && next->front().id < below) {
      greatest = next->front().id;
    } else if (filter.after == greatest) {
      break;
    } else {
      end = filter.after + 1;
    }
  }
  return greatest;
}

absl::StatusOr<std::int64_t> OrderStore::count_live(VoucherId voucher) {
  OrderFilter filter;
  filter.voucher = voucher;
  std::int64_t taken = 0;
  const absl::Status read =
      for_each_order(*this, filter, [&](const Order& order) { taken += pieces_taken(order); });
  if (!read.ok()) return read;
  return taken;
}

absl::StatusOr<std::vector<VoucherId>> OrderStore::vouchers_with_orders() {
  std::set<VoucherId> vouchers;
  const absl::Status read =
      for_each_order(*this, {}, [&](const Order& order) { vouchers.insert(order.voucher); });
  if (!read.ok()) return read;
  return std::vector<VoucherId>(vouchers.begin(), vouchers.end());
}

// An order moves to the archive, so the archive is read last.
absl::Status OrderStore::visit_keys(std::int64_t time_ms, VisitPortion visit) {
  const auto visit_all = [&](auto list_portion) -> absl::Status {
    for (OrderFilter filter;;) {
      const absl::StatusOr<std::vector<Order>> portion = list_portion(filter);
      if (!portion.ok()) return portion.status();
      std::vector<Order> with_key;
      std::ranges::copy_if(*portion, std::back_inserter(with_key),
                           [&](const Order& order) { return has_key_at(order, time_ms); });
      if (absl::Status visited = visit(with_key); !visited.ok()) return visited;
      if (portion->size() < filter.count_max) return absl::OkStatus();
      filter.after = portion->back().id;
    }
  };
  absl::Status visited = visit_all([this](const OrderFilter& filter) { return list(filter); });
  if (!visited.ok() || archive() == nullptr) return visited;
  return visit_all([this](const OrderFilter& filter) { return archive()->list_archived(filter); });
}

/// A fence() may come between, but not often: each is a rebuild or a new connection.
absl::Status OrderStore::record_checkpoint(std::int64_t checkpoint) {
  constexpr int kTries = 10;
  absl::Status recorded;
  for (int i = 0; i < kTries; ++i) {
    const auto before = state();
    if (!before.ok()) return before.status();
    recorded = write({}, {.epoch = before->epoch, .checkpoint = checkpoint}).status();
    if (!absl::IsAborted(recorded)) break;
  }
  return recorded;
}

// ---- For implementations ----

std::optional<std::int64_t> BatchFence::stock_of(VoucherId voucher) const {
  if (!stock) return std::nullopt;
  const auto found = stock->find(voucher);
  if (found == stock->end()) return std::nullopt;
  return found->second;
}

std::string new_database_identity() { return random_name(); }

absl::Status stale_batch(const BatchFence& fence, std::int64_t epoch) {
  return absl::AbortedError(
      concat("the batch was read in epoch ", fence.epoch, ", the database is in ", epoch));
}

bool counts_against(const Order& other, const Order& order) {
  const bool is_rival =
      is_live(other) && other.user == order.user && other.voucher == order.voucher;
  if (!is_rival || other.entry <= order.entry || order.limit == 0) return is_rival;
  return other.limit != 0 && other.limit <= order.limit;
}

// The keyspace forgets a key after its last millisecond.
bool shares_key(const Order& a, const Order& b) {
  return !a.idempotency_key.empty() && a.idempotency_key == b.idempotency_key && a.id != b.id &&
         a.admitted_at_ms <= b.key_expires_at_ms && b.admitted_at_ms <= a.key_expires_at_ms;
}

void OrderRivals::add_of_user(const Order& other, const Order& order) {
  if (!counts_against(other, order)) return;
  live_of_user += other.quantity;
  if (other.status == OrderStatus::kRefunding) refunding_of_user += other.quantity;
}

OrderResult check_order(const Order& order, const OrderRivals& rivals) {
  const auto refused = [](std::string reason) {
    return OrderResult{OrderResult::Kind::kRefused, std::move(reason)};
  };
  if (order.id <= 0) return refused(concat("its id is not positive: ", order.id));
  if (order.limit < 0) return refused(concat("its limit is negative: ", order.limit));
  if (order.quantity <= 0 || order.quantity > Order::kQuantityMax) {
    return refused(
        concat("its quantity is not from 1 to ", Order::kQuantityMax, ": ", order.quantity));
  }
  if (const auto& other = rivals.same_id) {
    if (is_redelivery(*other, order)) return {OrderResult::Kind::kAlreadyStored, {}};
    return refused(concat("id ", order.id, " belongs to another order, of user ",
                          other->user.text(), " and voucher ", other->voucher));
  }
  if (rivals.same_key) {
    return refused(concat("its idempotency key belongs to order ", rivals.same_key->id));
  }
  if (!is_live(order)) return {};
  if (!rivals.stock) {
    return refused(concat("voucher ", order.voucher, " was never published here"));
  }
  // The quantity is subtracted: a sum might overflow.
  const std::int64_t room = *rivals.stock - order.quantity;
  if (rivals.taken_of_voucher > room) {
    return lacks_pieces(concat("voucher ", order.voucher, " has ", rivals.taken_of_voucher,
                               " pieces taken of a stock of ", *rivals.stock),
                        rivals.taken_of_voucher - room, rivals.refunding_of_voucher);
  }
  const std::int64_t allowed = order.limit - order.quantity;
  if (order.limit != 0 && rivals.live_of_user > allowed) {
    return lacks_pieces(
        concat("user ", order.user.text(), " has ", rivals.live_of_user, " pieces of voucher ",
               order.voucher, " already, of a limit of ", order.limit),
        rivals.live_of_user - allowed, rivals.refunding_of_user);
  }
  return {};
}

}  // namespace rushgate
