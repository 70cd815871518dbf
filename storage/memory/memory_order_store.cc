#include "storage/memory/memory_order_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/random_name.h"

namespace rushgate {
namespace {

using std::to_string;
using State = VoucherVersion::State;

bool is_live(OrderStatus status) { return status == OrderStatus::kCreated; }

// A redelivered order is equal, even if its state has changed since.
bool is_same_order(const Order& a, const Order& b) {
  return a.id == b.id && a.user == b.user && a.voucher == b.voucher && a.limit == b.limit &&
         a.entry == b.entry;
}

bool matches(const Order& order, const OrderFilter& filter) {
  return order.user == filter.user.value_or(order.user) &&
         order.voucher == filter.voucher.value_or(order.voucher) &&
         order.status == filter.status.value_or(order.status) && order.id > filter.after;
}

OrderResult refused(std::string reason) { return {OrderResult::Kind::kRefused, std::move(reason)}; }

template <class Map, class Key>
auto value_or_default(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

const VoucherVersion* find_applied(const std::vector<VoucherVersion>& versions) {
  const auto found =
      std::find_if(versions.rbegin(), versions.rend(),
                   [](const VoucherVersion& version) { return version.state == State::kApplied; });
  return found == versions.rend() ? nullptr : &*found;
}

/// Returns the bound on live orders in write(); empty if no version counts.
std::optional<std::int64_t> stock_bound(const std::vector<VoucherVersion>& versions) {
  std::optional<std::int64_t> bound;
  const auto raise_to = [&](std::int64_t stock) { bound = std::max(bound.value_or(stock), stock); };
  if (const VoucherVersion* const applied = find_applied(versions)) {
    raise_to(applied->voucher.stock);
  }
  for (const VoucherVersion& version : versions) {
    if (version.state == State::kPending) raise_to(version.voucher.stock);
  }
  return bound;
}

}  // namespace

// ---- Orders -----------------------------------------------------------------------------------

MemoryOrderStore::MemoryOrderStore() : MemoryOrderStore(random_name()) {}

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
  for (const Order& order : orders) results.push_back(store(order));
  return results;
}

OrderResult MemoryOrderStore::store(const Order& order) {
  if (order.id <= 0) return refused("its id is not positive: " + to_string(order.id));
  if (order.limit < 0) return refused("its limit is negative: " + to_string(order.limit));
  if (const auto stored = orders_.find(order.id); stored != orders_.end()) {
    const Order& other = stored->second;
    if (is_same_order(other, order)) return {OrderResult::Kind::kAlreadyStored, {}};
    return refused("id " + to_string(order.id) + " belongs to another order, of user " +
                   to_string(other.user) + " and voucher " + to_string(other.voucher));
  }
  if (auto excess = find_excess(order)) return refused(*std::move(excess));
  if (is_live(order.status)) {
    const std::pair key(order.user, order.voucher);
    if (order.limit != 0 && value_or_default(live_of_user_, key) >= order.limit) {
      return refused("user " + to_string(order.user) + " has " + to_string(order.limit) +
                     " live orders of voucher " + to_string(order.voucher) + " already, the limit");
    }
    ++live_of_user_[key];
    ++live_of_voucher_[order.voucher];
  }
  orders_.emplace(order.id, order);
  of_user_[order.user].insert(order.id);
  of_voucher_[order.voucher].insert(order.id);
  return {};
}

/// Returns why the order exceeds the voucher's stock; empty if it does not.
std::optional<std::string> MemoryOrderStore::find_excess(const Order& order) const {
  if (!is_live(order.status)) return std::nullopt;
  const auto versions = vouchers_.find(order.voucher);
  const auto stock = versions == vouchers_.end() ? std::nullopt : stock_bound(versions->second);
  return voucher_excess(order.voucher, value_or_default(live_of_voucher_, order.voucher), stock);
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

absl::Status MemoryOrderStore::record_checkpoint(std::int64_t checkpoint) {
  const std::lock_guard lock(mutex_);
  state_.checkpoint = std::max(state_.checkpoint, checkpoint);
  return absl::OkStatus();
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
  const auto highest =
      found == vouchers_.end() ? 0 : static_cast<std::int64_t>(found->second.size());
  if (version.version != highest + 1) {
    return absl::FailedPreconditionError(
        "version " + to_string(version.version) + " of voucher " + to_string(version.voucher.id) +
        " cannot be recorded: its highest version is " + to_string(highest));
  }
  vouchers_[version.voucher.id].push_back({version.voucher, version.version, State::kPending, {}});
  return absl::OkStatus();
}

absl::Status MemoryOrderStore::settle(VoucherId voucher, std::int64_t version, State state,
                                      const std::string& reason) {
  const std::lock_guard lock(mutex_);
  const std::string name = "version " + to_string(version) + " of voucher " + to_string(voucher);
  if (state == State::kPending) {
    return absl::InvalidArgumentError(name + " cannot be settled as pending");
  }
  const auto found = vouchers_.find(voucher);
  if (found == vouchers_.end() || version < 1 ||
      version > static_cast<std::int64_t>(found->second.size())) {
    return absl::NotFoundError(name + " does not exist");
  }
  VoucherVersion& settled = found->second[static_cast<std::size_t>(version - 1)];
  if (settled.state == state) return absl::OkStatus();
  if (settled.state != State::kPending) {
    return absl::FailedPreconditionError(
        name + " has been " + (settled.state == State::kApplied ? "applied" : "refused") +
        " already");
  }
  settled.state = state;
  settled.reason = reason;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<VoucherVersion>> MemoryOrderStore::versions(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  return value_or_default(vouchers_, voucher);
}

absl::StatusOr<std::vector<VoucherVersion>> MemoryOrderStore::pending() {
  const std::lock_guard lock(mutex_);
  std::vector<VoucherVersion> result;
  for (const auto& [voucher, versions] : vouchers_) {
    std::copy_if(versions.begin(), versions.end(), std::back_inserter(result),
                 [](const VoucherVersion& version) { return version.state == State::kPending; });
  }
  return result;
}

absl::StatusOr<std::optional<VoucherVersion>> MemoryOrderStore::latest(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  const auto found = vouchers_.find(voucher);
  if (found == vouchers_.end()) return std::nullopt;
  return found->second.back();
}

absl::StatusOr<std::optional<VoucherVersion>> MemoryOrderStore::applied(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  const auto found = vouchers_.find(voucher);
  if (found == vouchers_.end()) return std::nullopt;
  const VoucherVersion* const version = find_applied(found->second);
  if (version == nullptr) return std::nullopt;
  return *version;
}

absl::StatusOr<std::vector<VoucherVersion>> MemoryOrderStore::all_applied() {
  const std::lock_guard lock(mutex_);
  std::vector<VoucherVersion> result;
  for (const auto& [voucher, versions] : vouchers_) {
    if (const VoucherVersion* const version = find_applied(versions)) result.push_back(*version);
  }
  return result;
}

}  // namespace rushgate
