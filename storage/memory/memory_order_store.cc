#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

#include "engine/core/base/status_macros.h"
#include <rushgate/memory_order_store.h>

namespace rushgate {
namespace {

using VersionState = VoucherVersion::State;

bool matches(const Order& order, const OrderFilter& filter) {
  return (!filter.user || order.user == *filter.user) &&
         order.voucher == filter.voucher.value_or(order.voucher) &&
         order.status == filter.status.value_or(order.status) && order.id > filter.after;
}

bool matches(const Payment& payment, const PaymentFilter& filter) {
  return payment.state == filter.state.value_or(payment.state);
}

/// Returns true if an archived voucher's orders no longer allow such an event.
bool is_begun_in_database(OrderEvent::Kind kind) {
  return kind == OrderEvent::Kind::kUsed || kind == OrderEvent::Kind::kRefundBegun;
}

template <class Map, class Key>
const typename Map::mapped_type& value_or_default(const Map& map, const Key& key) {
  static const typename Map::mapped_type kNone{};
  const auto found = map.find(key);
  return found == map.end() ? kNone : found->second;
}

/// Removes an order from an index that has it.
template <class Index, class Key>
void erase_from(Index& index, const Key& key, OrderId order) {
  const auto ids = index.find(key);
  ids->second.erase(order);
  if (ids->second.empty()) index.erase(ids);
}

}  // namespace

// ---- Orders -----------------------------------------------------------------------------------

MemoryOrderStore::MemoryOrderStore() : MemoryOrderStore(new_database_identity()) {}

MemoryOrderStore::MemoryOrderStore(std::string identity) {
  lanes_.push_back({.state = {.identity = std::move(identity), .epoch = 1}, .reserved_ids = {}});
}

absl::StatusOr<std::vector<OrderResult>> MemoryOrderStore::write(std::span<const Order> orders,
                                                                 const BatchFence& fence) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(begin_batch(fence));
  std::vector<OrderResult> results;
  results.reserve(orders.size());
  for (const Order& order : orders) results.push_back(store(order, fence));
  return results;
}

absl::Status MemoryOrderStore::begin_batch(const BatchFence& fence) {
  Lane* const lane = find_lane(fence.lane);
  if (lane == nullptr) return no_lane_error(fence.lane);
  RETURN_IF_ERROR(check_fence(fence, lane->state));
  lane->state.record(fence);
  return absl::OkStatus();
}

OrderResult MemoryOrderStore::store(const Order& order, const BatchFence& fence) {
  OrderResult result = check_order(order, rivals_of(order, fence));
  if (result.kind != OrderResult::Kind::kStored) return result;
  count(order, 1);
  orders_.emplace(order.id, order);
  of_user_[order.user].insert(order.id);
  of_voucher_[order.voucher].insert(order.id);
  if (!order.idempotency_key.empty()) of_key_[order.idempotency_key].insert(order.id);
  return result;
}

void MemoryOrderStore::count(const Order& order, std::int64_t sign) {
  if (is_live(order)) live_of_user_[std::pair(order.user, order.voucher)] += sign * order.quantity;
  taken_of_voucher_[order.voucher] += sign * pieces_taken(order);
  assert(taken_of_voucher_[order.voucher] >= 0);
  if (order.status == OrderStatus::kRefunding) {
    refunding_of_voucher_[order.voucher] += sign * order.quantity;
  }
}

OrderRivals MemoryOrderStore::rivals_of(const Order& order, const BatchFence& fence) const {
  if (const Order* const same = find_anywhere(order.id)) return {.same_id = *same};
  OrderRivals rivals{.same_key = find_same_key(order)};
  rivals.live_of_user = value_or_default(live_of_user_, std::pair(order.user, order.voucher));
  if (may_exceed_limit(order, rivals.live_of_user)) {
    rivals.live_of_user = 0;
    for (const OrderId id : value_or_default(of_user_, order.user)) {
      rivals.add_of_user(orders_.at(id), order);
    }
  }
  rivals.taken_of_voucher = value_or_default(taken_of_voucher_, order.voucher);
  rivals.refunding_of_voucher = value_or_default(refunding_of_voucher_, order.voucher);
  if (fence.stock) {
    rivals.stock = fence.stock_of(order.voucher);
  } else if (const auto own = vouchers_.find(order.voucher); own != vouchers_.end()) {
    rivals.stock = stock_of(own->second);
  }
  return rivals;
}

std::optional<Order> MemoryOrderStore::find_same_key(const Order& order) const {
  if (order.idempotency_key.empty()) return std::nullopt;
  for (const OrderId id : value_or_default(of_key_, order.idempotency_key)) {
    if (const Order& other = *find_anywhere(id); shares_key(other, order)) return other;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<Order>> MemoryOrderStore::find(OrderId id) {
  const std::lock_guard lock(mutex_);
  const Order* const found = find_anywhere(id);
  if (found == nullptr) return std::nullopt;
  return *found;
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
  OrderId greatest = 0;
  for (const auto* orders : {&orders_, &archived_orders_}) {
    const auto next = orders->lower_bound(below);
    if (next != orders->begin()) greatest = std::max(greatest, std::prev(next)->first);
  }
  return greatest;
}

absl::StatusOr<std::int64_t> MemoryOrderStore::count_live(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  return value_or_default(taken_of_voucher_, voucher);
}

absl::StatusOr<std::vector<VoucherId>> MemoryOrderStore::vouchers_with_orders() {
  const std::lock_guard lock(mutex_);
  std::vector<VoucherId> vouchers;
  for (const auto& [voucher, orders] : of_voucher_) vouchers.push_back(voucher);
  std::sort(vouchers.begin(), vouchers.end());
  return vouchers;
}

absl::Status MemoryOrderStore::visit_keys(std::int64_t time_ms, VisitPortion visit) {
  std::vector<Order> with_key;
  {
    const std::lock_guard lock(mutex_);
    for (const auto* orders : {&orders_, &archived_orders_}) {
      for (const auto& [id, order] : *orders) {
        if (has_key_at(order, time_ms)) with_key.push_back(order);
      }
    }
  }
  return visit(with_key);
}

// ---- Payments ---------------------------------------------------------------------------------

absl::StatusOr<std::vector<OrderResult>> MemoryOrderStore::apply(std::span<const OrderEvent> events,
                                                                 const BatchFence& fence) {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(begin_batch(fence));
  std::vector<OrderResult> results;
  results.reserve(events.size());
  for (const OrderEvent& event : events) {
    const bool is_new = event.kind == OrderEvent::Kind::kAdmitted;
    results.push_back(is_new ? store(event.order, fence) : apply_one(event));
    const auto change = is_new ? change_before(event) : std::nullopt;
    if (change && results.back().kind == OrderResult::Kind::kStored) record(*change);
  }
  return results;
}

void MemoryOrderStore::record(OrderChange change) {
  change.position = ++last_position_;
  assert(changes_.empty() || changes_.rbegin()->first < change.position);
  changes_of_order_[change.order].push_back(change.position);
  changes_.emplace(change.position, std::move(change));
}

OrderResult MemoryOrderStore::apply_one(const OrderEvent& event) {
  EventDecision decision = check_event(event, context_of(event));
  if (decision.result.kind != OrderResult::Kind::kStored) return decision.result;
  if (decision.payment) put(*decision.payment);
  if (decision.are_payments_due) make_payments_due(event.order.id, event.reason);
  if (decision.status) change(orders_.at(event.order.id), *decision.status, event);
  return std::move(decision.result);
}

EventContext MemoryOrderStore::context_of(const OrderEvent& event) const {
  EventContext context;
  for (const auto* payments : {&payments_, &archived_payments_}) {
    const auto payment = payments->find(event.payment.id);
    if (payment != payments->end()) context.payment = payment->second;
  }
  const bool is_of_payment = event.kind == OrderEvent::Kind::kPaymentRefunded && context.payment;
  const OrderId id = is_of_payment ? context.payment->order : event.order.id;
  // Of an archived order, only a late payment is recorded. A keyspace that was rolled back repeats
  // older events.
  const bool may_be_archived = is_of_keyspace(event.kind);
  const auto order = orders_.find(id);
  if (order != orders_.end()) {
    const bool is_archived = archived_vouchers_.contains(order->second.voucher);
    if (!is_archived || !is_begun_in_database(event.kind)) context.order = order->second;
  } else if (const Order* const archived = find_anywhere(id); archived && may_be_archived) {
    context.order = *archived;
  }
  return context;
}

/// A payment of an archived order was left to be refunded. Then it follows its order.
void MemoryOrderStore::put(const Payment& payment) {
  if (payment.state == Payment::State::kRefunded && archived_orders_.contains(payment.order)) {
    archived_payments_.insert_or_assign(payment.id, payment);
    payments_.erase(payment.id);
    return;
  }
  payments_.insert_or_assign(payment.id, payment);
  payments_of_order_[payment.order].insert(payment.id);
}

void MemoryOrderStore::make_payments_due(OrderId order, const std::string& reason) {
  for (const std::string& id : payments_of_order_[order]) {
    Payment& payment = payments_.at(id);
    if (payment.state != Payment::State::kKept) continue;
    payment.state = Payment::State::kDue;
    payment.reason = reason;
  }
}

void MemoryOrderStore::change(Order& order, OrderStatus status, const OrderEvent& event) {
  count(order, -1);
  record(change_status(order, status, event));
  count(order, 1);
}

absl::StatusOr<std::optional<Payment>> MemoryOrderStore::find_payment(std::string_view id) {
  const std::lock_guard lock(mutex_);
  for (const auto* payments : {&payments_, &archived_payments_}) {
    const auto found = payments->find(std::string(id));
    if (found != payments->end()) return found->second;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<Payment>> MemoryOrderStore::list_payments(const PaymentFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<Payment> payments;
  const auto add = [&](const Payment& payment) {
    if (matches(payment, filter)) payments.push_back(payment);
    return payments.size() < filter.count_max;
  };
  if (filter.count_max == 0) return payments;
  if (filter.order) {
    const auto ids = payments_of_order_.find(*filter.order);
    if (ids == payments_of_order_.end()) return payments;
    for (auto id = ids->second.upper_bound(filter.after); id != ids->second.end(); ++id) {
      const auto payment = payments_.find(*id);
      if (!add(payment != payments_.end() ? payment->second : archived_payments_.at(*id))) break;
    }
    return payments;
  }
  for (auto next = payments_.upper_bound(filter.after); next != payments_.end(); ++next) {
    if (!add(next->second)) break;
  }
  return payments;
}

absl::StatusOr<std::vector<OrderChange>> MemoryOrderStore::changes(std::int64_t after,
                                                                   std::size_t count_max,
                                                                   std::optional<OrderId> order) {
  const std::lock_guard lock(mutex_);
  std::vector<OrderChange> found;
  if (order) {
    for (const std::int64_t position : value_or_default(changes_of_order_, *order)) {
      if (position <= after || found.size() == count_max) continue;
      const auto change = changes_.find(position);
      found.push_back(change != changes_.end() ? change->second : archived_changes_.at(position));
    }
    return found;
  }
  auto next = changes_.upper_bound(after);
  auto archived = archived_changes_.upper_bound(after);
  while (found.size() < count_max) {
    const bool has_archived = archived != archived_changes_.end();
    if (next == changes_.end() && !has_archived) break;
    const bool is_archived_next =
        has_archived && (next == changes_.end() || archived->first < next->first);
    found.push_back(is_archived_next ? (archived++)->second : (next++)->second);
  }
  return found;
}

absl::StatusOr<std::int64_t> MemoryOrderStore::last_position() {
  const std::lock_guard lock(mutex_);
  return last_position_;
}

// ---- The archive ------------------------------------------------------------------------------

absl::Status MemoryOrderStore::archive_voucher(VoucherId voucher, std::int64_t at_ms) {
  const std::lock_guard lock(mutex_);
  if (archived_vouchers_.contains(voucher)) return absl::OkStatus();
  ArchivedVoucher archived{.archived_at_ms = at_ms};
  ArchiveContext context;
  for (const VoucherVersion& version : value_or_default(vouchers_, voucher)) {
    context.has_pending_version =
        context.has_pending_version || version.state == VersionState::kPending;
    if (version.state != VersionState::kApplied) continue;
    archived.last = version;
    context.end_ms = version.voucher.end_ms;
  }
  for (const OrderId id : value_or_default(of_voucher_, voucher)) {
    const Order& order = orders_.at(id);
    const bool is_open =
        order.status == OrderStatus::kUnpaid || order.status == OrderStatus::kRefunding;
    if (is_open && !context.open_order) context.open_order = order;
  }
  RETURN_IF_ERROR(check_archivable(voucher, at_ms, context));
  archived_vouchers_.emplace(voucher, archived);
  vouchers_.erase(voucher);
  taken_of_voucher_.erase(voucher);
  refunding_of_voucher_.erase(voucher);
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> MemoryOrderStore::archive_orders(VoucherId voucher,
                                                             std::size_t count_max) {
  const std::lock_guard lock(mutex_);
  if (!archived_vouchers_.contains(voucher)) return not_archived_error(voucher);
  const Ids ids = value_or_default(of_voucher_, voucher);  // a copy: the loop changes it
  std::size_t moved = 0;
  for (auto id = ids.begin(); id != ids.end() && moved < count_max; ++id, ++moved) {
    move_to_archive(Order(orders_.at(*id)));
  }
  return moved;
}

void MemoryOrderStore::move_to_archive(const Order& order) {
  archived_orders_.emplace(order.id, order);
  for (const std::string& id : value_or_default(payments_of_order_, order.id)) {
    if (payments_.at(id).state == Payment::State::kDue) continue;
    archived_payments_.emplace(id, payments_.at(id));
    payments_.erase(id);
  }
  for (const std::int64_t position : value_or_default(changes_of_order_, order.id)) {
    archived_changes_.emplace(position, changes_.at(position));
    changes_.erase(position);
  }
  erase_from(of_user_, order.user, order.id);
  erase_from(of_voucher_, order.voucher, order.id);
  live_of_user_.erase(std::pair(order.user, order.voucher));
  orders_.erase(order.id);
}

absl::StatusOr<std::size_t> MemoryOrderStore::delete_orders(VoucherId voucher,
                                                            std::size_t count_max) {
  const std::lock_guard lock(mutex_);
  const auto archived = archived_vouchers_.find(voucher);
  if (archived == archived_vouchers_.end()) return not_archived_error(voucher);
  if (of_voucher_.contains(voucher)) return unmoved_orders_error(voucher);
  std::size_t deleted = 0;
  for (auto order = archived_orders_.begin();
       order != archived_orders_.end() && deleted < count_max;) {
    if (order->second.voucher != voucher) {
      ++order;
      continue;
    }
    auto& payments = payments_of_order_[order->first];
    absl::erase_if(payments, [this](const std::string& id) {
      return archived_payments_.erase(id) == 1;  // the others are due
    });
    if (payments.empty()) payments_of_order_.erase(order->first);
    for (const std::int64_t position : value_or_default(changes_of_order_, order->first)) {
      archived_changes_.erase(position);
    }
    changes_of_order_.erase(order->first);
    const std::string& key = order->second.idempotency_key;
    if (!key.empty()) erase_from(of_key_, key, order->first);
    order = archived_orders_.erase(order);
    ++deleted;
  }
  archived->second.is_deleted = true;
  return deleted;
}

absl::StatusOr<std::vector<ArchivedVoucher>> MemoryOrderStore::archived_vouchers() {
  const std::lock_guard lock(mutex_);
  std::vector<ArchivedVoucher> vouchers;
  for (const auto& [voucher, archived] : archived_vouchers_) {
    vouchers.push_back(archived);
    vouchers.back().has_unmoved_orders = of_voucher_.contains(voucher);
  }
  return vouchers;
}

absl::StatusOr<std::vector<Order>> MemoryOrderStore::list_archived(const OrderFilter& filter) {
  const std::lock_guard lock(mutex_);
  std::vector<Order> orders;
  for (auto order = archived_orders_.upper_bound(filter.after);
       order != archived_orders_.end() && orders.size() < filter.count_max; ++order) {
    if (matches(order->second, filter)) orders.push_back(order->second);
  }
  return orders;
}

const Order* MemoryOrderStore::find_anywhere(OrderId id) const {
  for (const auto* orders : {&orders_, &archived_orders_}) {
    const auto found = orders->find(id);
    if (found != orders->end()) return &found->second;
  }
  return nullptr;
}

// ---- The keyspace -----------------------------------------------------------------------------

absl::StatusOr<DatabaseState> MemoryOrderStore::state() { return state_of(0); }

absl::StatusOr<DatabaseState> MemoryOrderStore::fence() { return fence_lane(0); }

absl::StatusOr<std::int64_t> MemoryOrderStore::reserve_ids(std::int64_t day, std::int64_t above,
                                                           std::int64_t count) {
  return reserve_ids_of(0, day, above, count);
}

MemoryOrderStore::Lane* MemoryOrderStore::find_lane(int lane) {
  const bool exists = lane >= 0 && static_cast<std::size_t>(lane) < lanes_.size();
  return exists ? &lanes_[static_cast<std::size_t>(lane)] : nullptr;
}

absl::StatusOr<int> MemoryOrderStore::count_lanes() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(lanes_.size());
}

absl::Status MemoryOrderStore::add_lanes(int count) {
  const std::lock_guard lock(mutex_);
  const Lane added = {.state = {.identity = lanes_[0].state.identity, .epoch = 1},
                      .reserved_ids = {}};
  lanes_.resize(std::max(lanes_.size(), static_cast<std::size_t>(count)), added);
  return absl::OkStatus();
}

absl::StatusOr<DatabaseState> MemoryOrderStore::state_of(int lane) {
  const std::lock_guard lock(mutex_);
  const Lane* const found = find_lane(lane);
  if (found == nullptr) return no_lane_error(lane);
  return found->state;
}

absl::StatusOr<DatabaseState> MemoryOrderStore::fence_lane(int lane) {
  const std::lock_guard lock(mutex_);
  Lane* const found = find_lane(lane);
  if (found == nullptr) return no_lane_error(lane);
  ++found->state.epoch;
  return found->state;
}

absl::StatusOr<std::int64_t> MemoryOrderStore::reserve_ids_of(int lane, std::int64_t day,
                                                              std::int64_t above,
                                                              std::int64_t count) {
  const std::lock_guard lock(mutex_);
  Lane* const found = find_lane(lane);
  if (found == nullptr) return no_lane_error(lane);
  ReservedIds& ids = found->reserved_ids;
  const auto known = ids.find(day);
  const std::int64_t reserved = std::max(above, known == ids.end() ? 0 : known->second) + count;
  if (count == 0) return reserved;
  ids.erase(ids.begin(), ids.lower_bound(day - 1));
  return ids[day] = reserved;
}

std::optional<int> MemoryOrderStore::find_lane_of(VoucherId voucher) const {
  const auto found = voucher_lanes_.find(voucher);
  if (found != voucher_lanes_.end()) return found->second;
  const bool is_recorded = vouchers_.contains(voucher) || archived_vouchers_.contains(voucher);
  return is_recorded ? std::optional(0) : std::nullopt;
}

absl::StatusOr<std::optional<int>> MemoryOrderStore::lane_of(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  return find_lane_of(voucher);
}

absl::StatusOr<std::map<VoucherId, int>> MemoryOrderStore::voucher_lanes() {
  const std::lock_guard lock(mutex_);
  std::map<VoucherId, int> lanes(voucher_lanes_.begin(), voucher_lanes_.end());
  for (const auto& [voucher, versions] : vouchers_) lanes.try_emplace(voucher, 0);
  for (const auto& [voucher, archived] : archived_vouchers_) lanes.try_emplace(voucher, 0);
  return lanes;
}

absl::StatusOr<int> MemoryOrderStore::put_on_lane(VoucherId voucher, int lane) {
  const std::lock_guard lock(mutex_);
  if (const auto present = find_lane_of(voucher)) return *present;
  if (find_lane(lane) == nullptr) return no_lane_error(lane);
  voucher_lanes_.emplace(voucher, lane);
  return lane;
}

absl::StatusOr<std::vector<MovedPieces>> MemoryOrderStore::moved_pieces(VoucherId voucher) {
  const std::lock_guard lock(mutex_);
  std::vector<MovedPieces> moved;
  for (const auto& [lanes, pieces] : value_or_default(moved_pieces_, voucher)) {
    moved.push_back(
        {.voucher = voucher, .from = lanes.first, .to = lanes.second, .pieces = pieces});
  }
  return moved;
}

absl::Status MemoryOrderStore::record_moved(const MovedPieces& moved, const BatchFence& fence) {
  RETURN_IF_ERROR(check_moved(moved, fence));
  const std::lock_guard lock(mutex_);
  if (find_lane(moved.to) == nullptr) return no_lane_error(moved.to);
  RETURN_IF_ERROR(begin_batch(fence));
  std::int64_t& known = moved_pieces_[moved.voucher][{moved.from, moved.to}];
  known = std::max(known, moved.pieces);
  return absl::OkStatus();
}

// ---- Vouchers ---------------------------------------------------------------------------------

absl::Status MemoryOrderStore::record_pending(const VoucherVersion& version) {
  const std::lock_guard lock(mutex_);
  if (archived_vouchers_.contains(version.voucher.id)) return archived_error(version.voucher.id);
  const auto found = vouchers_.find(version.voucher.id);
  const std::size_t highest = found == vouchers_.end() ? 0 : found->second.size();
  RETURN_IF_ERROR(check_next_version(version, static_cast<std::int64_t>(highest)));
  vouchers_[version.voucher.id].push_back(
      {version.voucher, version.version, VersionState::kPending, {}});
  return absl::OkStatus();
}

absl::Status MemoryOrderStore::resolve(VoucherId voucher, std::int64_t version, VersionState state,
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
