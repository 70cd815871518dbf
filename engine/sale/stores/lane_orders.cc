#include "engine/sale/stores/lane_orders.h"

#include <algorithm>
#include <utility>

#include "engine/core/base/concat.h"
#include "engine/core/base/status_macros.h"
#include "engine/sale/stores/order_ids.h"
#include <rushgate/order_rules.h>

namespace rushgate {
namespace {

/// Records of other lanes are between those that are wanted, so a portion of them is read at once.
constexpr std::size_t kLanePortion = 1'000;

VoucherId voucher_of_version(const VoucherVersion& version) { return version.voucher.id; }

/// Reads portions by read(count_max) until enough records of a lane are among them. `go_behind` makes the
/// next portion begin behind a record. `are_of_one`: all belong to one lane.
template <class Record, class Read, class GoBehind, class IsOurs>
absl::StatusOr<std::vector<Record>> read_ours(std::size_t count_max, bool are_of_one, Read read,
                                              GoBehind go_behind, IsOurs is_ours) {
  std::vector<Record> found;
  if (count_max == 0) return found;
  const std::size_t portion_max = are_of_one ? count_max : std::max(count_max, kLanePortion);
  while (true) {
    ASSIGN_OR_RETURN(std::vector<Record> portion, read(portion_max));
    const bool is_last = portion.size() < portion_max;
    if (!is_last) go_behind(portion.back());
    for (Record& record : portion) {
      if (is_ours(record)) found.push_back(std::move(record));
      if (found.size() == count_max) return found;
    }
    if (is_last) return found;
  }
}

}  // namespace

bool LaneOrders::is_ours(OrderId order) const { return lane_of_order(order) == lane_; }

absl::StatusOr<bool> LaneOrders::is_our_voucher(VoucherId voucher) {
  ASSIGN_OR_RETURN(const auto place, lanes_.find(voucher));
  return place.value_or(VoucherPlace{}).is_on(lane_);
}

BatchFence LaneOrders::of_lane(const BatchFence& fence) const {
  BatchFence of_lane = fence;
  of_lane.lane = lane_;
  return of_lane;
}

/// Reads portions by `read` until enough orders of this lane are among them.
template <class Read>
absl::StatusOr<std::vector<Order>> LaneOrders::list_ours(const OrderFilter& filter, Read read) {
  OrderFilter part = filter;
  const auto place = filter.voucher ? lanes_.remembered(*filter.voucher) : std::nullopt;
  const bool are_of_one = place && place->lanes == 1;
  return read_ours<Order>(
      filter.count_max, are_of_one,
      [&](std::size_t count_max) {
        part.count_max = count_max;
        return read(part);
      },
      [&](const Order& last) { part.after = last.id; },
      [this](const Order& order) { return is_ours(order.id); });
}

/// Returns those values whose voucher is on this lane.
template <class Value, class VoucherOf>
absl::StatusOr<std::vector<Value>> LaneOrders::ours(absl::StatusOr<std::vector<Value>> values,
                                                    VoucherOf voucher_of) {
  if (!values.ok()) return values;
  std::vector<Value> found;
  for (Value& value : *values) {
    ASSIGN_OR_RETURN(const bool is_its, is_our_voucher(voucher_of(value)));
    if (is_its) found.push_back(std::move(value));
  }
  return found;
}

// ---- Orders -----------------------------------------------------------------------------------

absl::StatusOr<std::vector<OrderResult>> LaneOrders::write(std::span<const Order> orders,
                                                           const BatchFence& fence) {
  return shared_.write(orders, of_lane(fence));
}

absl::StatusOr<std::optional<Order>> LaneOrders::find(OrderId id) {
  if (!is_ours(id)) return std::nullopt;
  return shared_.find(id);
}

absl::StatusOr<std::vector<Order>> LaneOrders::list(const OrderFilter& filter) {
  return list_ours(filter, [this](const OrderFilter& part) { return shared_.list(part); });
}

absl::StatusOr<FoundOrders> LaneOrders::search(const OrderSearch& search) {
  auto found = shared_.search(search);
  if (found.ok()) {
    std::erase_if(found->orders, [this](const Order& order) { return !is_ours(order.id); });
  }
  return found;
}

absl::StatusOr<OrderId> LaneOrders::greatest_id(OrderId below) {
  ASSIGN_OR_RETURN(const OrderId greatest, shared_.greatest_id(below));
  if (greatest == 0 || is_ours(greatest)) return greatest;
  return kOrderIdLayout.make(kOrderIdLayout.seconds_of(greatest), counters_of_lane(lane_).first);
}

absl::StatusOr<std::int64_t> LaneOrders::count_live(VoucherId voucher) {
  return shared_.count_live(voucher);
}

absl::StatusOr<OrderCounts> LaneOrders::count_by_status(std::optional<VoucherId> voucher) {
  return shared_.count_by_status(voucher);
}

absl::StatusOr<std::vector<VoucherId>> LaneOrders::vouchers_with_orders() {
  return ours(shared_.vouchers_with_orders(), [](VoucherId voucher) { return voucher; });
}

absl::Status LaneOrders::visit_keys(std::int64_t time_ms, VisitPortion visit) {
  return shared_.visit_keys(time_ms, [&](std::span<const Order> portion) {
    std::vector<Order> of_lane;
    for (const Order& order : portion) {
      if (is_ours(order.id)) of_lane.push_back(order);
    }
    return visit(of_lane);
  });
}

absl::Status LaneOrders::record_checkpoint(const BatchFence& fence) {
  return shared_.record_checkpoint(of_lane(fence));
}

absl::Status LaneOrders::copy_to(const std::filesystem::path& file,
                                 absl::FunctionRef<absl::Status()> at_that_moment,
                                 AfterPortion after) {
  return shared_.copy_to(file, at_that_moment, after);
}

absl::Status LaneOrders::check_integrity() {
  return lane_ == 0 ? shared_.check_integrity() : absl::OkStatus();
}

// ---- The keyspace -----------------------------------------------------------------------------

absl::StatusOr<DatabaseState> LaneOrders::state() {
  return lane_ == 0 ? shared_.state() : shared_.lanes()->state_of(lane_);
}

absl::StatusOr<DatabaseState> LaneOrders::fence() {
  return lane_ == 0 ? shared_.fence() : shared_.lanes()->fence_lane(lane_);
}

absl::StatusOr<std::int64_t> LaneOrders::reserve_ids(std::int64_t day, std::int64_t above,
                                                     std::int64_t count) {
  const LaneCounters counters = counters_of_lane(lane_);
  ASSIGN_OR_RETURN(
      const std::int64_t reserved,
      shared_.lanes()->reserve_ids_of(lane_, day, std::max(above, counters.first), count));
  if (reserved <= counters.last) return reserved;
  return absl::ResourceExhaustedError(
      concat("the lane ", lane_, " has used all of its order ids of this day (UTC)"));
}

// ---- Payments ---------------------------------------------------------------------------------

absl::StatusOr<std::vector<OrderResult>> LaneOrders::apply(std::span<const OrderEvent> events,
                                                           const BatchFence& fence) {
  return shared_.payments()->apply(events, of_lane(fence));
}

absl::StatusOr<std::optional<Payment>> LaneOrders::find_payment(std::string_view id) {
  return shared_.payments()->find_payment(id);
}

absl::StatusOr<std::vector<Payment>> LaneOrders::list_payments(const PaymentFilter& filter) {
  if (filter.order && !is_ours(*filter.order)) return std::vector<Payment>();
  PaymentFilter part = filter;
  return read_ours<Payment>(
      filter.count_max, filter.order.has_value(),
      [&](std::size_t count_max) {
        part.count_max = count_max;
        return shared_.payments()->list_payments(part);
      },
      [&](const Payment& last) { part.after = last.id; },
      [this](const Payment& payment) { return is_ours(payment.order); });
}

absl::StatusOr<std::vector<OrderChange>> LaneOrders::changes(std::int64_t after,
                                                             std::size_t count_max,
                                                             std::optional<OrderId> order) {
  if (order && !is_ours(*order)) return std::vector<OrderChange>();
  return read_ours<OrderChange>(
      count_max, order.has_value(),
      [&](std::size_t portion_max) {
        return shared_.payments()->changes(after, portion_max, order);
      },
      [&](const OrderChange& last) { after = last.position; },
      [this](const OrderChange& change) { return is_ours(change.order); });
}

absl::StatusOr<std::int64_t> LaneOrders::last_position() {
  return shared_.payments()->last_position();
}

// ---- Vouchers ---------------------------------------------------------------------------------

absl::Status LaneOrders::record_pending(const VoucherVersion& version) {
  const VoucherId voucher = version.voucher.id;
  const bool is_on_several = version.voucher.lanes > 1;
  ASSIGN_OR_RETURN(const int lane, lanes_.put(voucher, is_on_several ? 0 : lane_));
  if (is_on_several) {
    if (lane == 0) return shared_.vouchers()->record_pending(version);
    return absl::InvalidArgumentError(concat("voucher ", voucher, " is on the lane ", lane,
                                             " alone, not on ", version.voucher.lanes, " lanes"));
  }
  if (lane != lane_) {
    return absl::AbortedError(concat("voucher ", voucher, " was published on the lane ", lane,
                                     " meanwhile: publish it again"));
  }
  return shared_.vouchers()->record_pending(version);
}

absl::Status LaneOrders::resolve(VoucherId voucher, std::int64_t version,
                                 VoucherVersion::State state, const std::string& reason) {
  return shared_.vouchers()->resolve(voucher, version, state, reason);
}

absl::StatusOr<std::vector<VoucherVersion>> LaneOrders::versions(VoucherId voucher) {
  return ours(shared_.vouchers()->versions(voucher), voucher_of_version);
}

absl::StatusOr<std::vector<VoucherVersion>> LaneOrders::all_versions() {
  return ours(shared_.vouchers()->all_versions(), voucher_of_version);
}

absl::StatusOr<std::vector<VoucherVersion>> LaneOrders::pending() {
  return ours(shared_.vouchers()->pending(), voucher_of_version);
}

absl::StatusOr<std::optional<VoucherVersion>> LaneOrders::latest(VoucherId voucher) {
  ASSIGN_OR_RETURN(const bool is_its, is_our_voucher(voucher));
  if (!is_its) return std::nullopt;
  return shared_.vouchers()->latest(voucher);
}

absl::StatusOr<std::optional<VoucherVersion>> LaneOrders::applied(VoucherId voucher) {
  ASSIGN_OR_RETURN(const bool is_its, is_our_voucher(voucher));
  if (!is_its) return std::nullopt;
  return shared_.vouchers()->applied(voucher);
}

absl::StatusOr<std::vector<VoucherVersion>> LaneOrders::all_applied() {
  return ours(shared_.vouchers()->all_applied(), voucher_of_version);
}

// ---- The archive ------------------------------------------------------------------------------

absl::Status LaneOrders::archive_voucher(VoucherId voucher, std::int64_t at_ms) {
  return shared_.archive()->archive_voucher(voucher, at_ms);
}

absl::StatusOr<std::size_t> LaneOrders::archive_orders(VoucherId voucher, std::size_t count_max) {
  return shared_.archive()->archive_orders(voucher, count_max);
}

absl::StatusOr<std::size_t> LaneOrders::delete_orders(VoucherId voucher, std::size_t count_max) {
  return shared_.archive()->delete_orders(voucher, count_max);
}

absl::StatusOr<std::vector<ArchivedVoucher>> LaneOrders::archived_vouchers() {
  return ours(shared_.archive()->archived_vouchers(),
              [](const ArchivedVoucher& archived) { return archived.last.voucher.id; });
}

absl::StatusOr<std::vector<Order>> LaneOrders::list_archived(const OrderFilter& filter) {
  return list_ours(
      filter, [this](const OrderFilter& part) { return shared_.archive()->list_archived(part); });
}

}  // namespace rushgate
