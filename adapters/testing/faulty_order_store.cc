#include <stdexcept>
#include <utility>

#include "engine/core/base/status_macros.h"
#include <rushgate/testing_stores.h>

namespace rushgate::faults {
namespace {

const Order& order_of(const Order& order) { return order; }
const Order& order_of(const OrderEvent& event) { return event.order; }

}  // namespace

FaultyOrderStore::FaultyOrderStore(std::unique_ptr<OrderStore> store)
    : owned_(std::move(store)), inner_(*owned_) {}

FaultyOrderStore::FaultyOrderStore(OrderStore& store) : inner_(store) {}

void FaultyOrderStore::fail_write(int nth, Kept kept, absl::Status error) {
  const std::lock_guard lock(mutex_);
  plan_.fault = Fault{writes_ + nth, kept, std::move(error)};
}

void FaultyOrderStore::fail_writes(absl::Status error) {
  const std::lock_guard lock(mutex_);
  write_error_ = std::move(error);
}

void FaultyOrderStore::fail_reads(absl::Status error) {
  const std::lock_guard lock(mutex_);
  read_error_ = std::move(error);
}

void FaultyOrderStore::fail_voucher_writes(absl::Status error) {
  const std::lock_guard lock(mutex_);
  voucher_write_error_ = std::move(error);
}

void FaultyOrderStore::poison(std::function<bool(const Order&)> is_poison, Poison kind) {
  const std::lock_guard lock(mutex_);
  plan_.is_poison = std::move(is_poison);
  plan_.kind = kind;
}

void FaultyOrderStore::at_every_point(std::function<void(Point)> hook) { hook_ = std::move(hook); }

void FaultyOrderStore::before_every_read(std::function<void()> hook) {
  read_hook_ = std::move(hook);
}

int FaultyOrderStore::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

// ---- Writing ----------------------------------------------------------------------------------

FaultyOrderStore::Plan FaultyOrderStore::next_write() {
  const std::lock_guard lock(mutex_);
  ++writes_;
  Plan plan = plan_;
  if (plan.fault && plan.fault->at == writes_) {
    plan_.fault.reset();
  } else {
    plan.fault.reset();
  }
  if (!plan.fault && !write_error_.ok()) plan.fault = Fault{writes_, Kept::kNo, write_error_};
  return plan;
}

// Without the mutex during the call: others may read while a batch is written.
template <class Write>
auto FaultyOrderStore::write_as_planned(Write write) -> decltype(write(std::declval<Plan>())) {
  const Plan plan = next_write();
  if (hook_) hook_(Point::kBeforeWrite);
  if (plan.fault && plan.fault->kept == Kept::kNo) return plan.fault->error;
  auto written = write(plan);
  if (plan.fault && written.ok()) written = plan.fault->error;
  if (hook_ && written.ok()) hook_(Point::kAfterWrite);
  return written;
}

template <class Item, class Forward>
absl::StatusOr<std::vector<OrderResult>> FaultyOrderStore::write_items(std::span<const Item> items,
                                                                       Forward forward) {
  return write_as_planned([&](const Plan& plan) { return write_poisoned(items, plan, forward); });
}

template <class Item, class Forward>
absl::StatusOr<std::vector<OrderResult>> FaultyOrderStore::write_poisoned(
    std::span<const Item> items, const Plan& plan, Forward forward) {
  if (!plan.is_poison) return forward(items);
  std::vector<bool> poisoned;  // asked once an item: a predicate may count
  std::vector<Item> others;
  for (const Item& item : items) {
    poisoned.push_back(plan.is_poison(order_of(item)));
    if (!poisoned.back()) others.push_back(item);
  }
  if (plan.kind != Poison::kIsRefused && others.size() < items.size()) {
    constexpr char kReason[] = "injected: an order of this batch is poison";
    if (plan.kind == Poison::kThrows) throw std::runtime_error(kReason);
    const bool is_outage = plan.kind == Poison::kFailsAsAnOutage;
    return is_outage ? absl::UnavailableError(kReason) : absl::InvalidArgumentError(kReason);
  }
  absl::StatusOr<Results> stored = forward(std::span<const Item>(others));
  if (!stored.ok()) return stored;
  Results results;
  auto next = stored->begin();
  for (const bool poison : poisoned) {
    results.push_back(poison ? OrderResult{OrderResult::Kind::kRefused, "injected: poison"}
                             : std::move(*next++));
  }
  return results;
}

void FaultyOrderStore::fail_over_to(OrderStore& standby) {
  inner_.emplace(standby);
  ++session_;
}

/// Returns the fence for the other store, which knows nothing of the sessions here.
BatchFence FaultyOrderStore::forwarded(BatchFence fence) const {
  fence.session -= session_;
  return fence;
}

absl::StatusOr<std::vector<OrderResult>> FaultyOrderStore::write(std::span<const Order> orders,
                                                                 const BatchFence& fence) {
  return write_items(orders, [&](std::span<const Order> taken) {
    return inner_->orders.write(taken, forwarded(fence));
  });
}

absl::StatusOr<std::vector<OrderResult>> FaultyOrderStore::apply(std::span<const OrderEvent> events,
                                                                 const BatchFence& fence) {
  return write_items(events, [&](std::span<const OrderEvent> taken) {
    return inner_->orders.payments()->apply(taken, forwarded(fence));
  });
}

absl::StatusOr<DatabaseState> FaultyOrderStore::fence() {
  RETURN_IF_ERROR(voucher_write_error());
  return in_session(inner_->orders.fence());
}

absl::Status FaultyOrderStore::record_checkpoint(const BatchFence& fence) {
  RETURN_IF_ERROR(voucher_write_error());
  return inner_->orders.record_checkpoint(forwarded(fence));
}

absl::StatusOr<std::int64_t> FaultyOrderStore::reserve_ids(std::int64_t day, std::int64_t above,
                                                           std::int64_t count) {
  RETURN_IF_ERROR(voucher_write_error());
  return inner_->orders.reserve_ids(day, above, count);
}

absl::Status FaultyOrderStore::record_pending(const VoucherVersion& version) {
  const absl::Status fault = voucher_write_error();
  return fault.ok() ? inner_->vouchers.record_pending(version) : fault;
}

absl::Status FaultyOrderStore::resolve(VoucherId voucher, std::int64_t version,
                                       VoucherVersion::State state, const std::string& reason) {
  const absl::Status fault = voucher_write_error();
  return fault.ok() ? inner_->vouchers.resolve(voucher, version, state, reason) : fault;
}

absl::StatusOr<DatabaseState> FaultyOrderStore::fence_lane(int lane) {
  RETURN_IF_ERROR(voucher_write_error());
  return in_session(inner_->orders.lanes()->fence_lane(lane));
}

absl::StatusOr<int> FaultyOrderStore::put_on_lane(VoucherId voucher, int lane) {
  RETURN_IF_ERROR(voucher_write_error());
  return inner_->orders.lanes()->put_on_lane(voucher, lane);
}

absl::Status FaultyOrderStore::record_moved(const MovedPieces& moved, const BatchFence& fence) {
  return write_as_planned([&](const Plan& /*plan*/) {
    return inner_->orders.lanes()->record_moved(moved, forwarded(fence));
  });
}

absl::Status FaultyOrderStore::voucher_write_error() const {
  const std::lock_guard lock(mutex_);
  return voucher_write_error_;
}

// ---- Reading ----------------------------------------------------------------------------------

absl::Status FaultyOrderStore::read_error() const {
  if (read_hook_) read_hook_();
  const std::lock_guard lock(mutex_);
  return read_error_;
}

absl::StatusOr<std::optional<Order>> FaultyOrderStore::find(OrderId id) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.find(id);
}

absl::StatusOr<std::vector<Order>> FaultyOrderStore::list(const OrderFilter& filter) {
  if (hook_) hook_(Point::kBeforeList);
  RETURN_IF_ERROR(read_error());
  return inner_->orders.list(filter);
}

absl::StatusOr<OrderId> FaultyOrderStore::greatest_id(OrderId below) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.greatest_id(below);
}

absl::StatusOr<std::int64_t> FaultyOrderStore::count_live(VoucherId voucher) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.count_live(voucher);
}
absl::StatusOr<OrderCounts> FaultyOrderStore::count_by_status(std::optional<VoucherId> voucher) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.count_by_status(voucher);
}

absl::StatusOr<std::vector<VoucherId>> FaultyOrderStore::vouchers_with_orders() {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.vouchers_with_orders();
}

absl::Status FaultyOrderStore::visit_keys(std::int64_t time_ms, VisitPortion visit) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.visit_keys(time_ms, visit);
}

absl::Status FaultyOrderStore::check_integrity() {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.check_integrity();
}

absl::StatusOr<std::optional<Payment>> FaultyOrderStore::find_payment(std::string_view id) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.payments()->find_payment(id);
}

absl::StatusOr<std::vector<Payment>> FaultyOrderStore::list_payments(const PaymentFilter& filter) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.payments()->list_payments(filter);
}

absl::StatusOr<std::vector<OrderChange>> FaultyOrderStore::changes(std::int64_t after,
                                                                   std::size_t count_max,
                                                                   std::optional<OrderId> order) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.payments()->changes(after, count_max, order);
}

absl::StatusOr<std::int64_t> FaultyOrderStore::last_position() {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.payments()->last_position();
}

absl::StatusOr<std::optional<int>> FaultyOrderStore::lane_of(VoucherId voucher) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.lanes()->lane_of(voucher);
}

absl::StatusOr<std::vector<MovedPieces>> FaultyOrderStore::moved_pieces(VoucherId voucher) {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.lanes()->moved_pieces(voucher);
}

absl::StatusOr<std::map<VoucherId, int>> FaultyOrderStore::voucher_lanes() {
  RETURN_IF_ERROR(read_error());
  return inner_->orders.lanes()->voucher_lanes();
}

absl::StatusOr<std::vector<VoucherVersion>> FaultyOrderStore::versions(VoucherId voucher) {
  RETURN_IF_ERROR(read_error());
  return inner_->vouchers.versions(voucher);
}

absl::StatusOr<std::vector<VoucherVersion>> FaultyOrderStore::all_versions() {
  RETURN_IF_ERROR(read_error());
  return inner_->vouchers.all_versions();
}

absl::StatusOr<std::vector<VoucherVersion>> FaultyOrderStore::pending() {
  RETURN_IF_ERROR(read_error());
  return inner_->vouchers.pending();
}

absl::StatusOr<std::optional<VoucherVersion>> FaultyOrderStore::latest(VoucherId voucher) {
  RETURN_IF_ERROR(read_error());
  return inner_->vouchers.latest(voucher);
}

absl::StatusOr<std::optional<VoucherVersion>> FaultyOrderStore::applied(VoucherId voucher) {
  RETURN_IF_ERROR(read_error());
  return inner_->vouchers.applied(voucher);
}

absl::StatusOr<std::vector<VoucherVersion>> FaultyOrderStore::all_applied() {
  RETURN_IF_ERROR(read_error());
  return inner_->vouchers.all_applied();
}

std::string_view point_name(FaultyOrderStore::Point point) {
  switch (point) {
    case FaultyOrderStore::Point::kBeforeWrite:
      return "before write";
    case FaultyOrderStore::Point::kAfterWrite:
      return "after write";
    case FaultyOrderStore::Point::kBeforeList:
      return "before list";
  }
  return "?";
}

std::string_view kept_name(FaultyOrderStore::Kept kept) {
  switch (kept) {
    case FaultyOrderStore::Kept::kNo:
      return "not kept";
    case FaultyOrderStore::Kept::kYes:
      return "kept";
  }
  return "?";
}

std::string_view poison_name(FaultyOrderStore::Poison poison) {
  switch (poison) {
    case FaultyOrderStore::Poison::kFailsTheBatch:
      return "fails the batch";
    case FaultyOrderStore::Poison::kFailsAsAnOutage:
      return "fails as an outage";
    case FaultyOrderStore::Poison::kThrows:
      return "throws";
    case FaultyOrderStore::Poison::kIsRefused:
      return "is refused";
  }
  return "?";
}

}  // namespace rushgate::faults
