#include <algorithm>
#include <iterator>
#include <utility>

#include <rushgate/memory_order_store.h>

namespace rushgate {
namespace {

using State = VoucherVersion::State;

bool matches(const Order& order, const OrderFilter& filter) {
  return order.user == filter.user.value_or(order.user) &&
         order.voucher == filter.voucher.value_or(order.voucher) &&
         order.status == filter.status.value_or(order.status) && order.id > filter.after;
}

template <class Map, class Key>
auto value_or_default(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

}  // namespace

// ---- Orders -----------------------------------------------------------------------------------

MemoryOrderStore::MemoryOrderStore() : MemoryOrderStore(new_database_identity()) {}

MemoryOrderStore::MemoryOrderStore(std::string identity) {
  state_.identity = std::move(identity);
  state_.epoch = 1;
}

absl::StatusOr<std::vector<OrderResult>> MemoryOrderStore::write(std::span<const Order> orders,
                                                                 const BatchFence& fence) {
  const std::lock_guard lock(mutex_);
  if (fence.epoch != state_.epoch) return stale_batch(fence, state_.epoch);
  state_.checkpoint = std::max(state_.checkpoint, fence.checkpoint);
  std::vector<OrderResult> results;
  results.reserve(orders.size());
  for (const Order& order : orders) results.push_back(store(order, fence));
  return results;
}

OrderResult MemoryOrderStore::store(const Order& order, const BatchFence& fence) {
  OrderResult result = check_order(order, rivals_of(order, fence));
  if (result.kind != OrderResult::Kind::kStored) return result;
  if (is_live(order)) {
    ++live_of_user_[std::pair(order.user, order.voucher)];
    ++live_of_voucher_[order.voucher];
  }
  orders_.emplace(order.id, order);
  of_user_[order.user].insert(order.id);
  of_voucher_[order.voucher].insert(order.id);
  return result;
}

OrderRivals MemoryOrderStore::rivals_of(const Order& order, const BatchFence& fence) const {
  OrderRivals rivals;
  if (const auto same = orders_.find(order.id); same != orders_.end())
    rivals.same_id = same->second;
  rivals.live_of_user = value_or_default(live_of_user_, std::pair(order.user, order.voucher));
  rivals.live_of_voucher = value_or_default(live_of_voucher_, order.voucher);
  if (fence.stock) {
    rivals.stock = fence.stock_of(order.voucher);
  } else if (const auto own = vouchers_.find(order.voucher); own != vouchers_.end()) {
    rivals.stock = stock_of(own->second);
  }
  return rivals;
}

absl::StatusOr<std::optional<Order>> MemoryOrderStore::find(OrderId id) {
  const std::lock_guard lock(mutex_);
  const auto found = orders_.find(id);
  if (found == orders_.end()) return std::nullopt;
  return found->second;
}

absl::StatusOr<std::vector<Order>> MemoryOrderStore::list(const OrderFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<Order> orders;
  const auto add = [&](const Order& order) {
    if (matches(order, filter)) orders.push_back(order);
    return orders.size() < filter.count_max;
  };
  const auto add_ids = [&](const Ids& ids) {
    for (auto id = ids.upper_bound(filter.after); id != ids.end(); ++id) {
      if (!add(orders_.at(*id))) break;
    }
  };
  if (filter.count_max == 0) return orders;
  if (filter.user) {
    if (const auto ids = of_user_.find(*filter.user); ids != of_user_.end()) add_ids(ids->second);
  } else if (filter.voucher) {
    if (const auto ids = of_voucher_.find(*filter.voucher); ids != of_voucher_.end()) {
      add_ids(ids->second);
    }
  } else {
    for (auto order = orders_.upper_bound(filter.after); order != orders_.end(); ++order) {
      if (!add(order->second)) break;
    }
  }
  return orders;
}

absl::StatusOr<OrderId> MemoryOrderStore::greatest_id(OrderId below) {
  const std::lock_guard lock(mutex_);
  const auto next = orders_.lower_bound(below);
  return next == orders_.begin() ? 0 : std::prev(next)->first;
}

absl::StatusOr<std::int64_t> MemoryOrderStore::count_live(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  return value_or_default(live_of_voucher_, voucher);
}

absl::StatusOr<std::vector<VoucherId>> MemoryOrderStore::vouchers_with_orders() {
  const std::lock_guard lock(mutex_);
  std::vector<VoucherId> vouchers;
  for (const auto& [voucher, orders] : of_voucher_) vouchers.push_back(voucher);
  std::sort(vouchers.begin(), vouchers.end());
  return vouchers;
}

// ---- The keyspace -----------------------------------------------------------------------------

absl::StatusOr<DatabaseState> MemoryOrderStore::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

absl::StatusOr<DatabaseState> MemoryOrderStore::fence() {
  const std::lock_guard lock(mutex_);
  ++state_.epoch;
  return state_;
}

absl::StatusOr<std::int64_t> MemoryOrderStore::reserve_ids(std::int64_t day, std::int64_t above,
                                                           std::int64_t count) {
  const std::lock_guard lock(mutex_);
  const auto known = reserved_ids_.find(day);
  const std::int64_t reserved =
      std::max(above, known == reserved_ids_.end() ? 0 : known->second) + count;
  if (count == 0) return reserved;
  reserved_ids_.erase(reserved_ids_.begin(), reserved_ids_.lower_bound(day - 1));
  return reserved_ids_[day] = reserved;
}

// ---- Vouchers ---------------------------------------------------------------------------------

absl::Status MemoryOrderStore::record_pending(const VoucherVersion& version) {
  const std::lock_guard lock(mutex_);
  const auto found = vouchers_.find(version.voucher.id);
  const std::size_t highest = found == vouchers_.end() ? 0 : found->second.size();
  const absl::Status is_next = check_next_version(version, static_cast<std::int64_t>(highest));
  if (!is_next.ok()) return is_next;
  vouchers_[version.voucher.id].push_back({version.voucher, version.version, State::kPending, {}});
  return absl::OkStatus();
}

absl::Status MemoryOrderStore::resolve(VoucherId voucher, std::int64_t version, State state,
                                       const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const auto found = vouchers_.find(voucher);
  const bool exists = found != vouchers_.end() && version >= 1 &&
                      version <= static_cast<std::int64_t>(found->second.size());
  VoucherVersion* const recorded =
      exists ? &found->second[static_cast<std::size_t>(version - 1)] : nullptr;
  const absl::Status checked = check_resolution(
      voucher, version, exists ? std::optional(recorded->state) : std::nullopt, state);
  if (!checked.ok() || recorded->state == state) return checked;
  recorded->state = state;
  recorded->reason = reason;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<VoucherVersion>> MemoryOrderStore::versions(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  return value_or_default(vouchers_, voucher);
}

absl::StatusOr<std::vector<VoucherVersion>> MemoryOrderStore::all_versions() {
  const std::lock_guard lock(mutex_);
  std::vector<VoucherVersion> all;
  for (const auto& [voucher, versions] : vouchers_) {
    all.insert(all.end(), versions.begin(), versions.end());
  }
  return all;
}

}  // namespace rushgate
