#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/random_name.h"
#include "engine/core/base/status_macros.h"
#include <rushgate/archive_store.h>
#include <rushgate/order_store.h>

namespace rushgate {

absl::Status for_each_order(OrderStore& store, OrderFilter filter,
                            absl::FunctionRef<void(const Order&)> visit,
                            BetweenPortions between_portions) {
  while (true) {
    ASSIGN_OR_RETURN(const auto portion, store.list(filter));
    for (const Order& order : portion) visit(order);
    if (portion.empty() || portion.size() < filter.count_max) return absl::OkStatus();
    filter.after = portion.back().id;
    RETURN_IF_ERROR(between_portions());
  }
}

// ---- Defaults ----

absl::StatusOr<std::optional<Order>> OrderStore::find(OrderId id) {
  if (id <= 0) return std::nullopt;
  OrderFilter filter;
  filter.after = id - 1;
  filter.count_max = 1;
  ASSIGN_OR_RETURN(const auto found, list(filter));
  if (found.empty() || found.front().id != id) return std::nullopt;
  return found.front();
}

absl::StatusOr<OrderId> OrderStore::greatest_id(OrderId below) {
  OrderId greatest = 0;
  OrderFilter filter;
  filter.count_max = 1;
  // Each id from `end` on is too high, or has none above it that is low enough.
  for (OrderId end = below; greatest + 1 < end;) {
    filter.after = greatest + (end - 1 - greatest) / 2;
    ASSIGN_OR_RETURN(const auto next, list(filter));
    if (!next.empty() && next.front().id < below) {
      greatest = next.front().id;
    } else if (filter.after == greatest) {
      break;
    } else {
      end = filter.after + 1;
    }
  }
  return greatest;
}

namespace {

/// The newest orders below an id, in ascending order.
struct NewestOrders {
  std::vector<Order> orders;
  OrderId first = 0;  // all orders from here on are among them
};

/// Reads back from the greatest id, at first one id and twice as many each time, until there are
/// enough or too many orders.
absl::StatusOr<NewestOrders> read_newest(OrderStore& store, const OrderSearch& search) {
  NewestOrders newest;
  OrderFilter filter{.user = search.user,
                     .voucher = search.voucher,
                     .count_max = std::max<std::size_t>(search.looked_at_max, 2)};
  ASSIGN_OR_RETURN(const OrderId last, store.greatest_id(search.before));
  if (last == 0) return newest;
  for (OrderId width = 1;; width = width > last / 2 ? last : 2 * width) {
    filter.after = last - width;
    ASSIGN_OR_RETURN(auto orders, store.list(filter));
    const bool is_cut = orders.size() == filter.count_max && orders.back().id < search.before;
    if (is_cut) return newest;
    std::erase_if(orders, [&](const Order& order) { return order.id >= search.before; });
    newest = {.orders = std::move(orders), .first = filter.after + 1};
    if (newest.orders.size() >= search.count_max || filter.after == 0) return newest;
  }
}

}  // namespace

absl::StatusOr<FoundOrders> OrderStore::search(const OrderSearch& search) {
  ASSIGN_OR_RETURN(auto newest, read_newest(*this, search));
  FoundOrders found;
  if (newest.first > 1) found.next = newest.first;
  std::reverse(newest.orders.begin(), newest.orders.end());
  for (Order& order : newest.orders) {
    if (search.status && order.status != *search.status) continue;
    if (search.reference && order.reference != *search.reference) continue;
    found.orders.push_back(std::move(order));
    if (found.orders.size() < search.count_max) continue;
    found.next = found.orders.back().id;
    break;
  }
  return found;
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

absl::StatusOr<OrderCounts> OrderStore::count_by_status(std::optional<VoucherId> voucher) {
  OrderCounts counts{};
  const absl::Status read = for_each_order(*this, {.voucher = voucher}, [&](const Order& order) {
    if (is_order_status(order.status)) ++counts[static_cast<std::size_t>(order.status) - 1];
  });
  if (!read.ok()) return read;
  return counts;
}

absl::Status OrderStore::copy_to(const std::filesystem::path& /*file*/,
                                 absl::FunctionRef<absl::Status()> /*at_that_moment*/,
                                 AfterPortion /*after*/) {
  return absl::UnimplementedError("this order store copies nothing: back it up by its own means");
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
      ASSIGN_OR_RETURN(const std::vector<Order> portion, list_portion(filter));
      std::vector<Order> with_key;
      std::ranges::copy_if(portion, std::back_inserter(with_key),
                           [&](const Order& order) { return has_key_at(order, time_ms); });
      RETURN_IF_ERROR(visit(with_key));
      if (portion.size() < filter.count_max) return absl::OkStatus();
      filter.after = portion.back().id;
    }
  };
  absl::Status visited = visit_all([this](const OrderFilter& filter) { return list(filter); });
  if (!visited.ok() || archive() == nullptr) return visited;
  return visit_all([this](const OrderFilter& filter) { return archive()->list_archived(filter); });
}

absl::Status OrderStore::record_checkpoint(const BatchFence& fence) {
  return write({}, fence).status();
}

// ---- For implementations ----

std::optional<std::int64_t> BatchFence::stock_of(VoucherId voucher) const {
  if (!stock) return std::nullopt;
  const auto found = stock->find(voucher);
  if (found == stock->end()) return std::nullopt;
  return found->second;
}

std::string new_database_identity() { return random_name(); }

void DatabaseState::record(const BatchFence& fence) {
  revision = std::max(revision + 1, fence.checkpoint);
  checkpoint = std::max(checkpoint, fence.checkpoint);
}

absl::Status no_lane_error(int lane) {
  return absl::NotFoundError(concat("the order database has no lane ", lane));
}

absl::Status check_moved(const MovedPieces& moved, const BatchFence& fence) {
  if (moved.pieces > 0 && moved.from != moved.to && moved.from == fence.lane) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(concat(
      "voucher ", moved.voucher, ": ", moved.pieces, " pieces cannot be moved from the lane ",
      moved.from, " to the lane ", moved.to, ", in a batch of the lane ", fence.lane));
}

absl::Status check_fence(const BatchFence& fence, const DatabaseState& state) {
  RETURN_IF_ERROR(check_open(state));
  if (fence.epoch != state.epoch) {
    return absl::AbortedError(
        concat("the batch was read in epoch ", fence.epoch, ", the database is in ", state.epoch));
  }
  if (fence.session != state.session) {
    return absl::AbortedError("the connection to the order database was made anew");
  }
  return absl::OkStatus();
}

}  // namespace rushgate
